#!/usr/bin/env python3
"""The heads of a job on several hosts find out which of them is cut off, and which has a slow or a lossy link.

    sick_hosts.py PROGRAM CKPT_TOOL MPIRUN [PLAY...]

PROGRAM is that of hang.py. The hosts are namespaces of this machine: see hosts.py. Each has one rank and its head. The
tool is asked again and again until it says what it should.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hosts import SUBNET, Hosts

LIMIT_S = 240
SKIPPED = 77
LOST_PERCENT = 10
NAMES = ["n1", "n2", "n3", "n4", "n5"]

CONFIG = """[job]
name = sick
[storage]
local = /local
global = {directory}/global
[levels]
l2 = {l2}
l3 = off
l4 = off
[topology]
node_size = 2
[head]
mode = rank
[localize]
silent_after = 5s
stuck_after = off
"""


class Job:
    """On all hosts, started on the front end."""

    def __init__(self, hosts, programs, kind, l2="off"):
        self.program, self.tool, self.mpirun = programs
        self.directory = tempfile.TemporaryDirectory(prefix="cairn-sick-hosts-")
        self.config = Path(self.directory.name, "sick.ini")
        self.config.write_text(CONFIG.format(directory=self.directory.name, l2=l2))
        self.output = Path(self.directory.name, "output")
        self.command = hosts.front([
            "env", f"PATH={os.environ['PATH']}", "TMPDIR=/tmp", self.mpirun, "--host",
            ",".join(f"{name}:2" for name in NAMES), "--bind-to", "none", "--mca", "plm_rsh_agent", hosts.agent, "--mca",
            "plm_rsh_no_tree_spawn", "1", "--mca", "btl_tcp_if_include", SUBNET, "--mca", "oob_tcp_if_include", SUBNET,
            "-n", str(2 * len(NAMES)), self.program,
            str(self.config), kind])  # fmt: skip

    def __enter__(self):
        with self.output.open("w") as output:
            self.run = subprocess.Popen(self.command, stdout=output, stderr=output, start_new_session=True)
        return self

    def __exit__(self, *_):
        if self.run.poll() is None:
            os.killpg(self.run.pid, signal.SIGKILL)
            self.run.wait()
        self.directory.cleanup()

    def health(self):
        asked = subprocess.run([self.tool, "health", "--config", str(self.config), "--json"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, timeout=LIMIT_S, check=False)  # fmt: skip
        return json.loads(asked.stdout) if asked.returncode in (0, 1) else {}

    def verdicts(self):
        return self.health().get("verdicts", [])

    def until(self, wanted, what):
        deadline = time.monotonic() + LIMIT_S
        while not wanted():
            if self.run.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{what}: {self.verdicts()}\n{self.output.read_text()}")
            time.sleep(0.2)

    def is_watched(self):
        """By all heads: a host that is cut off before could block the opening of the session."""
        watch = self.health().get("watch", {})
        return watch.get("watched") and watch["watching"] == len(NAMES)


def faults(job):
    return [(verdict["fault"], verdict["node"]) for verdict in job.verdicts()]


def cut_off(hosts, programs):
    """A host is cut off, and is joined again."""
    with Job(hosts, programs, "computes_at_the_same_time") as job:
        job.until(job.is_watched, "the job is not watched")
        hosts.cut("n3")
        job.until(lambda: ("node_down", 2) in faults(job), "the host that is cut off is not found")
        hosts.mend("n3")
        job.until(lambda: not job.verdicts(), "the verdict is not withdrawn")


def thin_link(hosts, programs):
    """All that a host sends and receives goes through a thin link."""
    with Job(hosts, programs, "partner_snapshots", l2="every 1") as job:
        job.until(job.is_watched, "the job is not watched")
        hosts.thin("n3", "16mbit")
        job.until(lambda: ("link_degraded", 2) in faults(job), "the thin link is not found")
        if said := [fault for fault in faults(job) if fault != ("link_degraded", 2)]:
            raise AssertionError(said)


def lossy_link(hosts, programs):
    """A host loses packets, which TCP sends again: its transfers are slow."""
    with Job(hosts, programs, "partner_snapshots", l2="every 1") as job:
        job.until(job.is_watched, "the job is not watched")
        hosts.lose("n3", LOST_PERCENT)
        job.until(lambda: ("link_degraded", 2) in faults(job), "the link that loses packets is not found")
        if said := [fault for fault in faults(job) if fault != ("link_degraded", 2)]:
            raise AssertionError(said)


def main():
    if why := Hosts.trouble():
        print(f"sick_hosts: NOT TESTED: {why}", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") else SKIPPED)
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    for play in [cut_off, thin_link, lossy_link]:
        if len(sys.argv) > 4 and play.__name__ not in sys.argv[4:]:
            continue
        if play is lossy_link and (why := Hosts.trouble_of_loss()):
            print(f"{play.__name__}: NOT TESTED: {why}", file=sys.stderr)
            if os.environ.get("CI"):
                sys.exit(1)
            continue
        start = time.monotonic()
        with Hosts(NAMES) as hosts:
            play(hosts, sys.argv[1:4])
        print(f"{play.__name__}: as it should be, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
