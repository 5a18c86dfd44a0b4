#!/usr/bin/env python3
"""How long a job takes to come back: from the kill of some of its processes until the application runs again.

    recovery.py BIN [--modes restart,spares] [--losses L1,L4] [--ranks 4,16] [--repetitions 3] [--json FILE]

BIN has heat and ckpt-run. Modes that this MPI has not are left out, and named. A job has four simulated nodes; their
stores and the global one are in memory, and its state is small: these are latencies. For each loss and way to go on:

    noticed     from the kill until the first process knows; with restart, until mpirun has ended
    mpi         until there is a world again, with all its processes
    open        until the session is open: identity, roll call (a restart's is part of mpi)
    plan        until it is known where every rank's state comes from: inventory, plan
    retrieval   until every rank has its state
    running     the sum: until heat goes on
    rebuilt     beside the application: from retrieval on, until what was lost of the restored version's redundancy is
                there again; "-": nothing was

A loss is named by the level that the restore needs: L1, a rank is killed; L2, a node's processes, and its store wiped;
L3 and L4, the same for two and for three nodes of a group of four with two parities. "L1 x3": a rank of each of three
nodes, at once. "L2 then L2": the second, which strikes when the first one's redundancy is there again. "L1 amid L1":
both, from the first kill on; the second comes while the first is repaired. Told "no": without the failure topology
([restart] use_failure_topology = off). Medians of the repetitions, in ms. Nothing is asserted but the level.
"""

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))
from processes import descendants, environment_of, send  # noqa: E402

NODES = 4
PHASES = ["noticed", "mpi", "open", "plan", "retrieval", "running", "rebuilt"]
CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 10
l2 = {l2}
l3 = {l3}
l4 = {l4}
[erasure]
group = 4
parity = 2
[topology]
node_size = {node_size}
[restart]
use_failure_topology = {told}
[recovery]
mode = {mode}
[log]
level = debug
"""

NOTICED = re.compile(r"joins the repair|ckpt-run: .* restart \d+")
RESTART = re.compile(r"ckpt-run: .* restart \d+")
REPAIR = re.compile(r"cairn: repair \d+: (\d+) process")
OPEN = re.compile(r"cairn: job \S+: ")
# In the order in which they come.
MARKS = [
    ("open", OPEN),
    ("plan", re.compile(r"cairn: the heads restore version \d+")),
    ("retrieval", re.compile(r"cairn: .*version \d+ restored: ")),
    ("running", re.compile(r"heat: continues at step")),
]


@dataclass(frozen=True)
class Loss:
    name: str
    blows: tuple  # the nodes that each strikes
    levels: tuple  # that snapshots go to, besides L1; the strike waits for the last
    whole: bool = True  # all processes of a node, and its store; else one rank of it
    amid: bool = False  # the second blow comes while the first is repaired, not afterwards


LOSSES = [
    Loss("L1", ((1,),), (2,), whole=False),
    Loss("L2", ((1,),), (2,)),
    Loss("L3", ((1, 2),), (3,)),
    Loss("L4", ((1, 2, 3),), (3, 4)),
    Loss("L1 x3", ((1, 2, 3),), (2,), whole=False),
    Loss("L2 then L2", ((1,), (2,)), (2,)),
    Loss("L1 amid L1", ((1,), (2,)), (2,), whole=False, amid=True),
]
UNTOLD = ["L1", "L2", "L3", "L4"]  # those that are measured without the failure topology, too


class Job:
    def __init__(self, bin_directory, directory, mode, loss, told, ranks):
        self.directory = directory
        self.mode = mode
        self.limit_s = 20 + ranks
        self.per_node = ranks // NODES + 1  # and a head
        self.first_world = {}
        levels = {f"l{level}": "every 10" if level in loss.levels else "off" for level in (2, 3, 4)}
        config = directory / "heat.ini"
        config.write_text(CONFIG.format(directory=directory, mode=mode, node_size=self.per_node,
                                        told="on" if told else "off", **levels))  # fmt: skip
        # Whole nodes, as many as are struck. With respawn one process, which keeps mpirun.
        spares = {"spares": self.per_node * sum(map(len, loss.blows)), "respawn": 1}.get(mode, 0)
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

    def matches(self, pattern, since):
        return [(at, match) for at, line in self.lines if at >= since and (match := re.search(pattern, line))]

    def wait_for(self, pattern, since=0.0, enough=bool):
        """The lines since then that match, with their times, once there are enough of them."""
        deadline = time.monotonic() + self.limit_s
        with self.changed:
            while not enough(found := self.matches(pattern, since)):
                given_up = self.mode != "restart" and self.matches(RESTART, 0)
                if given_up or time.monotonic() > deadline or self.process.poll() is not None:
                    why = "started again instead" if given_up else f"no /{getattr(pattern, 'pattern', pattern)}/"
                    raise RuntimeError(f"{why}:\n" + "".join(line for _, line in self.lines[-40:]))
                self.changed.wait(0.1)
        return found

    def world(self):
        """Process ids by number in the first world; after a restart, in the new one."""
        if self.mode != "restart" and self.first_world:
            return self.first_world  # those who came later count from 0 again
        found = {}
        for pid in descendants(self.process.pid):
            number = environment_of(pid).get("OMPI_COMM_WORLD_RANK")
            if number is not None:
                found[int(number)] = pid
        self.first_world = found
        # Who has just read all of /proc is the first to lose the processor, and would be amid its victims.
        time.sleep(0.05)
        return found

    def strike(self, nodes, whole):
        """Kills what the loss takes; when, and how many."""
        world = self.world()
        victims = [world[node * self.per_node + i] for node in nodes for i in range(self.per_node if whole else 1)]
        at = time.monotonic()
        for pid in victims:
            send(pid, signal.SIGKILL)  # mpirun may have been faster: it ends the others when one has died
        for node in nodes if whole else []:
            shutil.rmtree(self.directory / "local" / f"node{node:04}", ignore_errors=True)
        return at, len(victims)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(self.limit_s)
        except subprocess.TimeoutExpired:
            for pid in [self.process.pid, *descendants(self.process.pid)]:
                send(pid, signal.SIGKILL)
            self.process.wait()


def recovery_of(job, level, struck, dead, blows=1):
    """ms of each phase since the first blow, of as many; the level is what the restore should need."""
    noticed = job.wait_for(NOTICED, struck)[0][0]
    if job.mode == "restart":
        repairs = job.wait_for(RESTART, struck, lambda found: len(found) == blows)
    else:
        repairs = job.wait_for(REPAIR, struck, lambda found: sum(int(match[1]) for _, match in found) >= dead)
    # Lines of two streams may come in another order than they were written in. A repair in vain has lines of its own.
    since = repairs[-1][0] if len(repairs) > 1 else struck
    world = job.wait_for(OPEN, since)[0][0] if job.mode == "restart" else repairs[-1][0]
    times = {"noticed": 1000 * (noticed - struck), "mpi": 1000 * (world - noticed)}
    last = world
    times_at = {}
    for phase, pattern in MARKS:
        at = max(last, job.wait_for(pattern, since)[0][0])
        times[phase] = 1000 * (at - last)
        times_at[phase] = last = at
    times["running"] = 1000 * (last - struck)
    version, sources = job.wait_for(r"version (\d+) restored: (.*)", since)[0][1].groups()
    if max(re.findall(r"from (L\d)", sources)) != level:
        raise RuntimeError(f"not at {level}: {sources}")
    for lost in re.findall(r"L\d", job.wait_for(rf"version {version} will be rebuilt at (.*)", since)[0][1][1]):
        again = job.wait_for(rf"version {version} is safe at {lost} again", since)[0][0]
        times["rebuilt"] = max(times.get("rebuilt", 0), 1000 * (again - times_at["retrieval"]))
    return times


def come_back(bin_directory, mode, loss, told, ranks):
    """One loss: ms of each phase; of one after another, those of the last."""
    with tempfile.TemporaryDirectory(prefix="cairn-recovery-", dir="/dev/shm") as name:
        job = Job(bin_directory, Path(name), mode, loss, told, ranks)
        try:
            # The second of its kind: by then everything is warm.
            job.wait_for(rf"is safe at L{loss.levels[-1]}", enough=lambda found: len(found) >= 2)
            if not loss.amid:
                for nodes in loss.blows:
                    times = recovery_of(job, loss.name[:2], *job.strike(nodes, loss.whole))
                return times
            struck, dead = job.strike(loss.blows[0], loss.whole)
            for nodes in loss.blows[1:]:
                # A restart has no processes to strike before.
                job.wait_for(OPEN if mode == "restart" else NOTICED, struck)
                dead += job.strike(nodes, loss.whole)[1]
            return recovery_of(job, loss.name[:2], struck, dead, len(loss.blows))
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


def row(mode, loss, told, ranks, cells):
    print(f"{mode:8} {loss:10} {told:4} {ranks:>5}  " + " ".join(f"{cell:>9}" for cell in cells), flush=True)


def measure(bin_directory, mode, loss, told, ranks, repetitions):
    """Prints a row; its record, and how many repetitions could not be measured."""
    runs = []
    for _ in range(repetitions):
        try:
            runs.append(come_back(bin_directory, mode, loss, told, ranks))
        except (RuntimeError, KeyError) as error:
            what = f"{mode}, {loss.name}, {'told' if told else 'not told'}, {ranks} ranks"
            print(f"recovery: {what}: not measured: {error}", file=sys.stderr, flush=True)
    values = {phase: [run[phase] for run in runs if phase in run] for phase in PHASES}
    medians = {phase: statistics.median(found) for phase, found in values.items() if found}
    row(mode, loss.name, "yes" if told else "no", ranks,
        [f"{medians[phase]:.1f}" if phase in medians else "-" if runs else "?" for phase in PHASES])  # fmt: skip
    record = {"mode": mode, "loss": loss.name, "told": told, "ranks": ranks, "ms": medians, "runs": runs}
    return record, repetitions - len(runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--modes", default="restart,spares,respawn")
    parser.add_argument("--losses", default=",".join(loss.name for loss in LOSSES))
    parser.add_argument("--ranks", default="4,16")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    wanted = arguments.losses.split(",")
    losses = [(loss, told) for loss in LOSSES if loss.name in wanted
              for told in ([True, False] if loss.name in UNTOLD else [True])]  # fmt: skip
    modes = available(arguments.modes.split(","))
    records = []
    missing = 0
    row("mode", "loss", "told", "ranks", [*PHASES, "ms"])
    for ranks in [int(text) for text in arguments.ranks.split(",")]:
        for mode in modes:
            for loss, told in losses:
                record, failed = measure(arguments.bin, mode, loss, told, ranks, arguments.repetitions)
                records.append(record)
                missing += failed
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(records, indent=1), encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
