#!/usr/bin/env python3
"""What fault localization costs: two programs that communicate all the time, with it and without it, in turns.

    localize.py BIN [--ranks 4,8,16,32] [--kernels ft,is] [--pairs 3] [--seconds 10] [--reports 2] [--json FILE]

BIN has bench-kernels. Each node has two ranks and a head. In all runs the first rank of each node reports something
--reports times a second. With [localize] mode = on, each report is a symptom: its node's analyst counts it, and, when
there are enough of them, asks the node by response and state probes, and finds that nothing is wrong (rules of this
script). The columns:

    head        processor time of fault localization in a head, by the clock of its thread, as a share of the time that
                passed: the median of the heads and of the runs
    worst       the same: the largest
    analyses    that heads have made, per minute and head: the mean, since only nodes with others below them analyse
    time        of the program, with fault localization and without it: medians of the slowest rank
    ratio       of the two: the median of the pairs, and the smallest and the largest

The first two do not depend on what else the machine does, apart from caches; the times do. Nothing is asserted.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS_OF_NODE = 2
LIMIT_S = 600  # of a job
CONFIG = """[job]
name = localize
[storage]
local = {directory}/local
global = {directory}/global
[levels]
l2 = off
l3 = off
l4 = off
[topology]
node_size = {node_size}
[head]
mode = rank
[localize]
mode = {mode}
rules = {directory}/benign.rules
[log]
level = error
trace = {directory}/trace.json
"""
RULES = """weight suspected 1
rule reported
if suspected
then suspect node_down, store_failing
why Somebody has reported the node.

rule silent
if response.answers = 0 and witness.reached = 0
then confirm node_down
why Nobody reaches the node.

rule fails
if state.store_errors > 0.5
then confirm store_failing
why The store fails.

rule well
if suspected and response.answers = 1 and state.store_errors < 0.5
then excuse
why The node answers, and its store works.
"""
COUNTER = "fault localization, processor s"


class Run:
    def __init__(self, binaries, kernel, ranks, mode, steps, reports):
        with tempfile.TemporaryDirectory(prefix="cairn-localize-") as directory:
            config = Path(directory, "localize.ini")
            config.write_text(CONFIG.format(directory=directory, mode=mode, node_size=RANKS_OF_NODE + 1))
            Path(directory, "benign.rules").write_text(RULES)
            world = ranks // RANKS_OF_NODE * (RANKS_OF_NODE + 1)
            command = ["timeout", "-s", "KILL", str(LIMIT_S), "mpirun", "--oversubscribe", "--bind-to", "none", "-n",
                       str(world), str(Path(binaries, "bench-kernels")), "--config", str(config), "--kernel", kernel,
                       "--steps", str(steps), "--reports", str(reports), "--ranks-of-node", str(RANKS_OF_NODE)]  # fmt: skip
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            found = re.search(r"^seconds ([0-9.e+-]+)$", done.stdout, re.MULTILINE)
            if done.returncode != 0 or not found:
                raise RuntimeError(f"{' '.join(command)}: ended with {done.returncode}\n{done.stdout}")
            self.seconds = float(found[1])
            self.heads = [head_of(path) for path in sorted(Path(directory).glob("trace.i*.node*.json"))]


def head_of(path):
    """The share of the time that its head spent in fault localization, and how many analyses it has made a minute."""
    events = json.loads(path.read_text())
    counted = [(event["ts"], event["args"]["value"]) for event in events if event["name"] == COUNTER]
    if len(counted) < 2:
        return None
    (begin, before), (end, after) = counted[0], counted[-1]
    passed = (end - begin) / 1e6
    analyses = sum(event["name"] == "analyse node" and event["ph"] == "b" for event in events)
    return {"share": (after - before) / passed, "analyses": 60 * analyses / passed}


def measure(options, kernel, ranks):
    def play(mode, steps):
        return Run(options.binaries, kernel, ranks, mode, steps, options.reports)

    steps = 4
    while (took := play("off", steps).seconds) < options.seconds / 10:
        steps *= 4
    steps = max(1, round(steps * options.seconds / took))
    pairs = []
    for number in range(options.pairs):
        # What the machine does besides grows and falls: none of the two is always the first.
        order = ("off", "on") if number % 2 == 0 else ("on", "off")
        runs = {mode: play(mode, steps) for mode in order}
        pairs.append((runs["on"], runs["off"]))
    heads = [head for on, _ in pairs for head in on.heads if head]
    if not heads:
        raise RuntimeError(f"{kernel}, {ranks} ranks: no head has counted its time; try more --seconds")
    return {"kernel": kernel, "ranks": ranks, "steps": steps, "load": os.getloadavg()[0],
            "heads": len(pairs[0][0].heads), "shares": [head["share"] for head in heads],
            "analyses": [head["analyses"] for head in heads],
            "on": [on.seconds for on, _ in pairs], "off": [off.seconds for _, off in pairs],
            "ratios": [on.seconds / off.seconds for on, off in pairs]}  # fmt: skip


COLUMNS = [("kernel", 6), ("ranks", 5), ("heads", 5), ("head", 7), ("worst", 7), ("analyses", 8), ("time", 19),
           ("ratio", 19), ("load", 5)]  # fmt: skip


def row(cells):
    print("  ".join(f"{cell:<{width}}" for cell, (_, width) in zip(cells, COLUMNS)).rstrip(), flush=True)


def show(record):
    ratios = record["ratios"]
    row([record["kernel"], record["ranks"], record["heads"], f"{100 * statistics.median(record['shares']):.2f} %",
         f"{100 * max(record['shares']):.2f} %", f"{statistics.fmean(record['analyses']):.0f}",
         f"{statistics.median(record['on']):.2f} s, {statistics.median(record['off']):.2f} s",
         f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})", f"{record['load']:.1f}"])  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", metavar="BIN")
    parser.add_argument("--ranks", default="4,8,16,32")
    parser.add_argument("--kernels", default="ft,is")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--reports", type=float, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"{options.pairs} pairs of runs, {options.reports:g} reports a second from each node; started "
          f"{time.strftime('%F %T')}")  # fmt: skip
    row([name for name, _ in COLUMNS])
    records = []
    for kernel in options.kernels.split(","):
        for ranks in map(int, options.ranks.split(",")):
            records.append(measure(options, kernel, ranks))
            show(records[-1])
    if options.json:
        Path(options.json).write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
