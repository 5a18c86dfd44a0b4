#!/usr/bin/env python3
"""Kills processes of jobs with [recovery] rollback = lost on several hosts, over TCP, each before a call that is given.

    lost_rank_hosts.py BINARIES [--kills 3] [--draw SEED] [--rollback all]

As ../ulfm/lost.py, but ckpt-run starts the jobs on four hosts and a spare one. It must start none of them again. For
the root of tests/ulfm.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ulfm"))
import job as jobs  # noqa: E402
import lost  # noqa: E402
import lost_job  # noqa: E402
from hosts import Hosts  # noqa: E402
from lost_hosts import HOSTS, SPARE  # noqa: E402
from ulfm_hosts import MPI  # noqa: E402

RANKS = 5  # two on n1, one on each other host


class HostsJob(lost_job.LostJob):
    """Its processes are known by their numbers here, not by those that they have on their hosts."""

    def __init__(self, hosts, ckpt_run, *arguments, **settings):
        self.hosts = hosts

        def launcher(options):
            command = [ckpt_run, "-n", str(RANKS), "--spares", str(settings["spares"]), "--hosts", ",".join(HOSTS),
                       "--spare-hosts", SPARE, "--agent", hosts.agent, "--agent-limit", "5s", "--linger", "1s",
                       "--grace", "1s", "--mpi-options", " ".join([MPI, *options]), "--config"]  # fmt: skip
            return hosts.front(command)

        super().__init__(*arguments, ranks=RANKS, launcher=launcher, local="/local", **settings)

    def learn(self, number, role, node):
        if (here := self.hosts.number_here(node, number)) is not None:
            super().learn(here, role, node)

    def end(self, expected=None):
        found = super().end(expected)
        if self.restarts():
            raise jobs.MpirunCrashed("a daemon of mpirun crashed, and ckpt-run started the job again")
        return found


class LostOnHosts(lost.Lost):
    RANKS = RANKS

    def __init__(self, arguments, directory, hosts):
        super().__init__(arguments, directory)
        self.hosts = hosts
        self.ckpt_run = os.path.realpath(Path(arguments.binaries) / "ckpt-run")

    def make(self, program, directory, strikes, settings):
        return HostsJob(self.hosts, self.ckpt_run, program, directory, self.killer, strikes, **settings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--kills", type=int, default=3, help="of each program")
    parser.add_argument("--draw", metavar="SEED", help="draw the calls that ranks are killed before, as lost.py does")
    parser.add_argument("--rollback", choices=["lost", "all"], default="lost", help="all: what the tests make of that")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    arguments.all, arguments.mode = False, "spares"
    if trouble := Hosts.trouble():
        sys.exit(f"lost_rank_hosts: NOT TESTED: {trouble}")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cairn-lost-hosts-") as name, Hosts([*HOSTS, SPARE]) as hosts:
        on_hosts = LostOnHosts(arguments, Path(name), hosts)
        try:
            for program, rank in [("heat", 1), ("steps", 2)]:
                on_hosts.sweep(program, rank)
        except jobs.Failed as error:
            for job in list(jobs.Job.running):
                job.close()
            sys.exit(f"lost_rank_hosts: {error}")
    print(f"lost_rank_hosts: {on_hosts.number} jobs; recoveries: {on_hosts.count}; {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
