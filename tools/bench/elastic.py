#!/usr/bin/env python3
"""What a restore on another number of ranks costs, beside the restore of the same snapshot on the same number.

    elastic.py BIN [--mib 256] [--pairs 5] [--sources L1,L2,L3,L4] [--json FILE]

BIN has bench-elastic. A job has two simulated nodes with a head each, and so many MiB in all. Its stores are in memory.
For each change of the number of ranks, and each level that the shards come from, a pair of runs restores the same files,
one on as many ranks as before, one on others. From L1, all stores are there; for L2 and L3, one node's is lost; for L4,
all are.

    same, others   restore(), from the call to the return on the last rank: the median, in ms
    ratio          the median of the pairs' ratios; the goal is 2 at most
    moved          MiB that went from node to node, on the same number of ranks and on others
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

NODES = 2
LIMIT_S = 300
LOST = {"L1": [], "L2": [1], "L3": [1], "L4": range(NODES)}
# World ranks of each node, its head included, before and after.
CHANGES = {
    "4 to 2": ([3, 3], [2, 2]),
    "4 to 3": ([3, 3], [3, 2]),
    "4 to 8": ([3, 3], [5, 5]),
    "8 to 4": ([5, 5], [3, 3]),
}
CONFIG = """[job]
name = elastic
[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 1000
l2 = {l2}
l3 = {l3}
l4 = {l4}
[erasure]
group = 2
parity = 1
[head]
mode = rank
[topology]
node_size = {node_size}
[restart]
elastic = on
at_end = continue
[localize]
mode = off
"""


class Job:
    def __init__(self, program, directory, level, mib):
        self.program, self.directory, self.level, self.mib = program, directory, level, mib

    def run(self, nodes, *options):
        """What rank 0 prints."""
        levels = {f"l{level}": "every 1000" if f"L{level}" == self.level else "off" for level in (2, 3, 4)}
        config = self.directory / "job.ini"
        config.write_text(CONFIG.format(directory=self.directory, node_size=",".join(map(str, nodes)), **levels))
        command = ["timeout", "-s", "KILL", LIMIT_S, "mpirun", "--oversubscribe", "--bind-to", "none", "-n", sum(nodes),
                   self.program, "--config", config, "--bytes", self.mib << 20, *options]  # fmt: skip
        ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            sys.exit(f"bench elastic: bench-elastic ended with {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def leave(self, nodes):
        self.run(nodes, "--leave", self.level[1])
        for node in LOST[self.level]:
            shutil.rmtree(self.directory / "local" / f"node{node:04}")
        for store in ["local", "global"]:
            (self.directory / store).rename(self.directory / f"{store}.left")

    def restore(self, nodes):
        """From the files that leave() has left, whatever restores have changed since."""
        for store in ["local", "global"]:
            shutil.rmtree(self.directory / store, ignore_errors=True)
            shutil.copytree(self.directory / f"{store}.left", self.directory / store)
        report = json.loads(next(line for line in self.run(nodes).splitlines() if line.startswith("{")))
        if not report["from"][int(self.level[1]) - 1]:
            sys.exit(f"bench elastic: no rank came from {self.level}: {report}")
        return report


def measure(program, change, level, mib, pairs):
    before, after = CHANGES[change]
    with tempfile.TemporaryDirectory(prefix="cairn-elastic-", dir="/dev/shm") as name:
        job = Job(program, Path(name), level, mib)
        job.leave(before)
        runs = [(job.restore(before), job.restore(after)) for _ in range(pairs)]
    return {"change": change, "source": level, "mib": mib, "pairs": runs,
            "ratio": statistics.median(others["seconds"] / same["seconds"] for same, others in runs)}  # fmt: skip


def text(record):
    def median_of(which, fact):
        return statistics.median(pair[which][fact] for pair in record["pairs"])

    times = [f"{1000 * median_of(which, 'seconds'):9.1f}" for which in (0, 1)]
    moved = [f"{median_of(which, 'bytes_moved') / 2**20:9.1f}" for which in (0, 1)]
    return f"{record['change']:8}{record['source']:>7}{times[0]}{times[1]}{record['ratio']:9.2f}{moved[0]}{moved[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--sources", default=",".join(LOST))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    records = []
    print(f"{'ranks':8}{'source':>7}{'same':>9}{'others':>9}{'ratio':>9}{'moved':>9}{'others':>9}", flush=True)
    for change in CHANGES:
        for level in arguments.sources.split(","):
            records.append(measure(Path(arguments.bin) / "bench-elastic", change, level, arguments.mib, arguments.pairs))
            print(text(records[-1]), flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
