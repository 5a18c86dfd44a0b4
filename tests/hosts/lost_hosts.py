#!/usr/bin/env python3
"""Jobs on four hosts and a spare one that lose a host, each in another way. Another job has no spare host, and
continues on fewer ranks.

    lost_hosts.py HEAT CKPT_RUN

ckpt-run must bring heat to its end each time, with the plate of a run that nothing happened to, byte for byte.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from facts import has_thing  # noqa: E402
from hosts import SUBNET, Hosts

RANKS = 4
HOSTS = ["n1", "n2", "n3", "n4"]
SPARE = "n5"
STEPS = 300
PAUSE_MS = 30  # after each step
HELD_AT = 200  # the step that no job takes before its host is lost, however slow this machine is
LIMIT_S = 120  # of one job; much more than it takes on a machine that is not busy

CONFIG = """[storage]
local = /local
global = {directory}/global
[levels]
l1 = every 2
l2 = every 4
l3 = off
l4 = off
[restart]
at_end = continue
"""


def fail(what, output=""):
    sys.exit(f"lost_hosts: {what}\n{output}")


class Job:
    def __init__(self, root, name, hosts, programs):
        self.name = name
        self.hosts = hosts
        self.heat, self.ckpt_run = programs
        self.directory = root / name.replace(" ", "-")
        self.directory.mkdir()
        self.plate = self.directory / "plate.bin"
        self.log = self.directory / "log"
        (self.directory / "heat.ini").write_text(CONFIG.format(directory=self.directory))
        self.hold = self.directory / "hold"

    def start(self, pause_ms, *options, ranks=str(RANKS), held=True):
        if held:
            self.hold.write_text(str(HELD_AT))
        mpi = f"--mca oob_tcp_if_include {SUBNET} --mca btl_tcp_if_include {SUBNET} --mca plm_rsh_no_tree_spawn 1"
        command = [self.ckpt_run, "-n", ranks, "--hosts", ",".join(HOSTS), "--agent", self.hosts.agent,
                   "--agent-limit", "5s", "--mpi-options", mpi, *options, "--", self.heat, "--size", "61", "--width",
                   "47", "--steps", str(STEPS), "--pause-ms", str(pause_ms), "--config",
                   str(self.directory / "heat.ini"), "--output", str(self.plate), "--hold", str(self.hold)]  # fmt: skip
        with open(self.log, "w", encoding="utf-8") as log:
            self.run = subprocess.Popen(self.hosts.front(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.deadline = time.monotonic() + LIMIT_S
        return self

    def wait_for_copies(self):
        """Until every host holds a partner's shards."""
        waiting = set(HOSTS)
        while waiting:
            self.check_going_on("every host has copies")
            found = "for m in /local/*/v*/manifest.json; do ls ${m%/*}/*.copy && exit 0; done; exit 1"
            waiting = {host for host in waiting if self.hosts.run(host, ["sh", "-c", found], capture_output=True).returncode}
            time.sleep(0.05)

    def lose(self, lose):
        """A host, by `lose`. The job was held until then."""
        self.wait_for_copies()
        lose(self.hosts)
        self.hold.unlink()

    def check_going_on(self, what):
        if self.run.poll() is not None:
            fail(f"{self.name}: ended with {self.run.returncode} before {what}", self.log.read_text())
        if time.monotonic() > self.deadline:
            self.kill()
            fail(f"{self.name}: {what}: not after {LIMIT_S} s", self.log.read_text())

    def kill(self):
        self.run.terminate()
        try:
            self.run.wait(20)
        except subprocess.TimeoutExpired:
            self.run.kill()

    def end(self, *named):
        """The job must end well and have named all these things. Returns the plate."""
        while self.run.poll() is None:
            self.check_going_on("its end")
            time.sleep(0.05)
        output = self.log.read_text()
        missing = [thing for thing in named if not has_thing(output, thing)]
        if self.run.returncode != 0 or missing:
            fail(f"{self.name}: ended with {self.run.returncode}; not named: {missing}", output)
        return self.plate.read_bytes()


def sick_hosts(job):
    """Those that `ckpt-tool health` would show as down."""
    files = job.directory.glob("global/*/health.json")
    verdicts = [verdict for file in files for verdict in json.loads(file.read_text())["verdicts"]]
    return {verdict["host"] for verdict in verdicts if verdict["fault"] == "node_down"}


def kill_ranks_and_wipe(hosts):
    hosts.run("n2", ["sh", "-c", "pkill -KILL -x heat; rm -rf /local/*"])


LOSSES = {
    "ranks of a host are killed and its store is wiped": (kill_ranks_and_wipe, ["node 1", "1 rank from L2"]),
    "a host goes down with its daemon": (lambda hosts: hosts.kill("n3"), ["n3", "node 2", "1 rank from L2"]),
    "a link is cut": (lambda hosts: hosts.cut("n4"), ["n4", "node 3", "1 rank from L2"]),
}


def shrink(root, programs, reference):
    """A host goes down, and the ranks of the others continue."""
    started = time.monotonic()
    with Hosts([*HOSTS, SPARE]) as hosts:
        job = Job(root, "fewer ranks", hosts, programs).start(PAUSE_MS, ranks=f"2:{RANKS}")
        job.lose(lambda hosts: hosts.kill("n3"))
        plate = job.end("n3", f"{RANKS - 1} application ranks", f"of {RANKS} ranks restored on {RANKS - 1}")
    if plate != reference:
        fail("fewer ranks: the plate is another one", job.log.read_text())
    print(f"fewer ranks: continued, {time.monotonic() - started:.1f} s", flush=True)


def main(heat, ckpt_run):
    if trouble := Hosts.trouble():
        print(f"lost_hosts: NOT TESTED: {trouble}", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") else 77)
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    programs = [str(Path(heat).resolve()), str(Path(ckpt_run).resolve())]
    root = Path(tempfile.mkdtemp(prefix="cairn-lost-hosts-"))
    try:
        with Hosts([*HOSTS, SPARE]) as hosts:
            reference = Job(root, "undisturbed", hosts, programs).start(0, held=False).end()
        for name, (lose, named) in LOSSES.items():
            started = time.monotonic()
            with Hosts([*HOSTS, SPARE]) as hosts:
                job = Job(root, name, hosts, programs).start(PAUSE_MS, "--spare-hosts", SPARE)
                job.lose(lose)
                if job.end(*named) != reference:
                    fail(f"{name}: the plate is another one", job.log.read_text())
                if sick_hosts(job) != {host for host in HOSTS if host in named}:
                    fail(f"{name}: hosts that are shown as down: {sick_hosts(job)}", job.log.read_text())
            print(f"{name}: came back, {time.monotonic() - started:.1f} s", flush=True)
        shrink(root, programs, reference)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
