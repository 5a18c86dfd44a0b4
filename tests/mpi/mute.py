#!/usr/bin/env python3
"""A random rank goes mute amid an all-to-all program: how often, and how fast, the heads name the right one.

    mute.py PROGRAM CKPT_TOOL MPIEXEC [--ranks N] [--times N] [--seed N]

PROGRAM is that of hang.py. The ranks are those of four nodes, each with a head. Ranks must be waited for by all others
before they are named: [localize] stuck_after is 4 seconds here. Prints one line for each time, and the worst and the
median. Not a test of ctest: the times are those of this machine.
"""

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path

import health

NODES = 4


class Mute(health.Job):
    def __init__(self, programs, ranks, rank):
        self.node_size = ranks // NODES + 1
        super().__init__(programs, "mute", variables=lambda _: {"MUTE_RANK": str(rank)})
        self.config.write_text(self.config.read_text().replace("node_size = 3", f"node_size = {self.node_size}"))
        self.command[self.command.index("-n") + 1] = str(self.node_size * NODES)

    def wait_until_mute(self, ranks):
        """Until the session is open: the rank goes mute 100 rounds later."""
        calls = [Path(self.directory.name, f"local/node{rank // (self.node_size - 1):04}/sick/calls/rank{rank:06}.calls")
                 for rank in range(ranks)]  # fmt: skip
        self.until(lambda: all(path.exists() for path in calls), "the session is not open")


def play(programs, ranks, rank):
    with Mute(programs, ranks, rank) as job:
        job.wait_until_mute(ranks)
        begun = time.monotonic()
        said = job.until(job.verdicts, "nothing is found")
        return time.monotonic() - begun, [(one["fault"], one.get("rank")) for one in said]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    dice = random.Random(options.seed)
    times = []
    for number in range(options.times):
        rank = dice.randrange(options.ranks)
        took, said = play(options.programs, options.ranks, rank)
        right = said == [("rank_stuck", rank)]
        print(f"{number + 1}: rank {rank}: {'right' if right else said}, {took:.1f} s", flush=True)
        if right:
            times.append(took)
    print(f"{options.ranks} ranks: {len(times)} of {options.times} right, median {statistics.median(times):.1f} s, "
          f"worst {max(times):.1f} s")  # fmt: skip
    sys.exit(len(times) < options.times)


if __name__ == "__main__":
    main()
