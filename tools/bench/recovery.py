#!/usr/bin/env python3
"""How long a job takes to come back: from the kill of some of its processes until the application runs again.

    recovery.py BIN [--modes restart,spares,respawn] [--ranks 4,16] [--repetitions 5] [--json FILE]

BIN has heat and ckpt-run. Modes that this MPI has not are left out, and named. For each loss and way to go on:

    noticed     from the kill until the first process (or ckpt-run) knows
    mpi         until there is a world again, with all its processes
    open        until the session is open: identity, inventory or roll call (a restart's is part of mpi)
    retrieval   until every rank has its state
    running     the sum: until heat goes on
    rebuilt     from there until the redundancy that was lost is there again, where any was

A loss is told by the level that the restore needs: L1, a rank is killed; L2, a node's processes, and its store is wiped;
L3, the same for two nodes of a group. Medians of the repetitions, in ms. Nothing is asserted.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LIMIT_S = 20
PHASES = ["noticed", "mpi", "open", "retrieval", "running", "rebuilt"]
LEVELS = {"L1": [], "L2": [1], "L3": [1, 2]}  # the nodes that are lost
CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 10
l2 = {l2}
l3 = {l3}
l4 = off
[erasure]
group = 4
parity = 2
[topology]
node_size = {node_size}
[recovery]
mode = {mode}
[log]
level = debug
"""

# In the order in which they come.
MARKS = [
    ("noticed", re.compile(r"meets the others|ckpt-run: .* restart \d+")),
    ("mpi", re.compile(r"cairn: repair \d+: |cairn: job \S+: ")),
    ("open", re.compile(r"cairn: job \S+: ")),
    ("retrieval", re.compile(r"cairn: .*version \d+ restored: ")),
    ("running", re.compile(r"heat: goes on at step")),
]


class Job:
    def __init__(self, bin_directory, directory, mode, level, ranks):
        self.directory = directory
        self.nodes = 4
        per_node = ranks // self.nodes + 1  # and a head
        config = directory / "heat.ini"
        config.write_text(CONFIG.format(directory=directory, mode=mode, node_size=per_node,
                                        l2="every 10" if level == "L2" else "off",
                                        l3="every 10" if level == "L3" else "off"))  # fmt: skip
        self.per_node = per_node
        # Whole nodes, where whole nodes are lost. With respawn one, which keeps mpirun.
        spares = {"spares": per_node * max(1, len(LEVELS[level])), "respawn": 1}.get(mode, 0)
        command = [f"{bin_directory}/ckpt-run", "-n", str(ranks), *(["--spares", str(spares)] if spares else []), "--",
                   f"{bin_directory}/heat", "--size", "256", "--width", "256", "--steps", "1000000", "--pause-ms", "5",
                   "--config", str(config), "--output", str(directory / "plate.bin")]  # fmt: skip
        self.lines = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)  # fmt: skip
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), line))
                self.changed.notify_all()

    def wait_for(self, pattern, since=0.0):
        """When a line was said that matches, the first from `since` on."""
        deadline = time.monotonic() + LIMIT_S
        with self.changed:
            while True:
                for at, line in self.lines:
                    if at >= since and re.search(pattern, line):
                        return at
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"no /{getattr(pattern, 'pattern', pattern)}/:\n"
                                       + "".join(line for _, line in self.lines[-40:]))  # fmt: skip
                self.changed.wait(0.1)

    def processes(self):
        """Process ids of the job's ranks, by number in the first world."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().decode().split("\0")
                environment = (path / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if str(self.directory / "heat.ini") not in words or not words[0].endswith("/heat"):
                continue
            for entry in environment:
                if entry.startswith("OMPI_COMM_WORLD_RANK="):
                    found[int(entry.partition("=")[2])] = int(path.name)
        return found

    def strike(self, level):
        """Kills what the loss takes, and returns when."""
        processes = self.processes()
        victims = [processes[self.per_node]] if not LEVELS[level] else []
        for node in LEVELS[level]:
            victims += [processes[node * self.per_node + i] for i in range(self.per_node)]
        at = time.monotonic()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        for node in LEVELS[level]:
            shutil.rmtree(self.directory / "local" / f"node{node:04}", ignore_errors=True)
        return at

    def end(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def come_back(bin_directory, mode, level, ranks):
    """One loss: ms of each phase."""
    with tempfile.TemporaryDirectory(prefix="cairn-recovery-", dir="/dev/shm") as name:
        job = Job(bin_directory, Path(name), mode, level, ranks)
        try:
            # The second of its kind: by then everything is warm.
            job.wait_for(r"heat: starts at")
            if level == "L1":
                time.sleep(0.5)
            else:
                job.wait_for(rf"is safe at {level}", job.wait_for(rf"is safe at {level}") + 0.001)
            struck = job.strike(level)
            times = {}
            last = struck
            for phase, pattern in MARKS:
                # Lines of two streams may come in another order than they were written in.
                at = max(last, job.wait_for(pattern, struck))
                times[phase] = 1000 * (at - last)
                last = at
            times["running"] = 1000 * (last - struck)
            if LEVELS[level]:
                times["rebuilt"] = 1000 * (job.wait_for(rf"is safe at {level}", last) - last)
            return times
        finally:
            job.end()


def available(modes):
    def output_of(*command):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    version = re.search(r"Open MPI\) (\d+)", output_of("mpirun", "--version"))
    # Before version 5 the option was another thing.
    ulfm = version and int(version[1]) >= 5 and 'options:ft_support:' in output_of("ompi_info", "--parsable")
    left_out = [mode for mode in modes if mode != "restart" and not ulfm]
    if left_out:
        print(f"recovery: left out: {', '.join(left_out)}: this MPI has no fault tolerance (ULFM)", flush=True)
    return [mode for mode in modes if mode not in left_out]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--modes", default="restart,spares,respawn")
    parser.add_argument("--ranks", default="4,16")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    modes = available(arguments.modes.split(","))
    records = []
    missing = 0
    print(f"{'mode':8} {'loss':4} {'ranks':>5}  " + " ".join(f"{phase:>9}" for phase in PHASES) + "   ms", flush=True)
    for ranks in [int(text) for text in arguments.ranks.split(",")]:
        for mode in modes:
            for level in LEVELS:
                runs = []
                for _ in range(arguments.repetitions):
                    try:
                        runs.append(come_back(arguments.bin, mode, level, ranks))
                    except (RuntimeError, KeyError) as error:
                        missing += 1
                        print(f"recovery: {mode}, {level}, {ranks} ranks: not measured: {error}", file=sys.stderr)
                if not runs:
                    continue
                medians = {phase: statistics.median(run[phase] for run in runs) for phase in PHASES if phase in runs[0]}
                records.append({"mode": mode, "level": level, "ranks": ranks, "ms": medians, "runs": runs})
                print(f"{mode:8} {level:4} {ranks:5}  "
                      + " ".join(f"{medians[p]:9.1f}" if p in medians else f"{'-':>9}" for p in PHASES), flush=True)  # fmt: skip
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(records, indent=1), encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
