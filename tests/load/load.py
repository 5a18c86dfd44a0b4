#!/usr/bin/env python3
"""Loads Cairn with many ranks, regions, versions or bytes, and says whether what it holds stays flat:

    load.py BIN MPIEXEC [--minutes M | --snapshots N] [--ranks N]
    load.py BIN MPIEXEC --regions N | --versions N | --shard-gib G

    --minutes M     --ranks N (64) on several nodes take a snapshot a second for M minutes (60), which goes to all
                    levels at different intervals; with --snapshots so many, without pauses
    --regions N     three ranks on three nodes protect so many regions each
    --versions N    three ranks take so many snapshots of a small state
    --shard-gib G   three ranks, of which the first has a shard of that size; node stores are on disk

Each job is then killed and started again: with all of its stores, and without those of a node (the shard: from L1, L2,
L3 and L4 in turn), where every byte is compared. While all ranks stand still, with nothing left to do in the
background, its processes and stores are sampled. What is larger in the last third of the samples than in
the first, by more than a bound, is named, and the exit code is 1. Everything is removed at the end.
"""

import argparse
import math
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from job import Job
from samples import MEASURES, heap_of, judge, judge_peak, sample

LEVELS = {"l1": 1, "l2": 2, "l3": 3, "l4": 6}
PERIOD = math.lcm(*LEVELS.values())  # samples so far apart find the same levels due


@dataclass(frozen=True)
class Restart:
    what: str
    level: str  # that the first rank's shard must come from
    lost: tuple = ()  # nodes
    copies_lost: tuple = ()  # of these nodes
    end: str = "die"


RESTARTS = (
    Restart("restart", "L1"),
    Restart("restart without node 0", "L2", lost=(0,), end="finalize"),
)


@dataclass
class Scenario:
    sizes: list  # ranks of each node, its head included
    steps: int
    arguments: list
    levels: dict = field(default_factory=lambda: LEVELS)
    sample_every: int = PERIOD
    pause_ms: int = 0
    keep: int = 2
    on_disk: bool = False
    restarts: tuple = RESTARTS
    measures: tuple = MEASURES  # that are judged
    peak_mib: int = 0  # of all heaps while they work, beyond what they are before; 0: not looked at


def many_ranks(ranks, minutes, snapshots):
    nodes = 8 if ranks >= 32 else 4
    sizes = [ranks // nodes + (i < ranks % nodes) + 1 for i in range(nodes)]
    state = ["--bytes", "65536", "--regions", "8"]
    if snapshots:
        return Scenario(sizes, snapshots, state)
    levels = {"l1": 1, "l2": 3, "l3": 5, "l4": 15}
    return Scenario(sizes, minutes * 60, state, levels, sample_every=15 if minutes < 10 else 60, pause_ms=1000)


def many_regions(regions):
    return Scenario([2, 2, 2], 5 * PERIOD, ["--regions", str(regions), "--bytes", str(64 * regions)])


def many_versions(versions):
    every = PERIOD * max(1, versions // PERIOD // 30)
    return Scenario([2, 2, 2], versions, ["--bytes", "4096", "--regions", "3"], sample_every=every)


def large_shard(gib):
    restarts = (
        Restart("restart", "L1"),
        Restart("restart without node 0", "L2", lost=(0,)),
        Restart("restart without node 0 and the copies of it", "L3", lost=(0,), copies_lost=(0,)),
        Restart("restart without any node", "L4", lost=(0, 1, 2), end="finalize"),
    )
    steps = 4  # of which only the last goes beyond L1, so that it fits the disk
    measures = tuple(m for m in MEASURES if m.name in ("descriptors", "mappings", "threads"))
    return Scenario([2, 2, 2], steps, ["--bytes", str(2**20), "--first-bytes", str(int(gib * 2**30))],
                    {"l1": 1, "l2": steps, "l3": steps, "l4": steps}, sample_every=1, keep=1, on_disk=True,
                    restarts=restarts, measures=measures, peak_mib=128)  # fmt: skip


def sample_at_rest(job):
    """Heads may be about to remove what they have said to be of no use: the sample that comes twice."""
    pids = job.ranks()
    last = None
    for _ in range(100):
        values = sample(pids, job)
        counts = [values[name] for name in ("descriptors", "node files", "global files")]
        if counts == last:
            break
        last = counts
        time.sleep(0.02)
    return values


class PeakWatch:
    """The largest sum of all heaps, looked at every half second; in a thread of its own."""

    def __init__(self, job):
        self.job = job
        self.highest = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.over.wait(0.5):
            self.highest = max(self.highest, heap_of(self.job))

    def __enter__(self):
        if self.job.scenario.peak_mib:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        if self.thread.is_alive():
            self.thread.join()


def show_samples(job, begun):
    """Samples at each standstill, which are printed as they come."""
    samples = []
    last_step, last_seconds = 0, 0.0
    while at := job.wait_for_standstill():
        if not samples:
            print(f"{'step':>8} {'seconds':>8} {'snapshot':>9} {'until safe':>10} "
                  + " ".join(f"{m.name:>13}" for m in MEASURES))  # fmt: skip
            print(f"{'':8} {'':8} {'ms':>9} {'ms':>10} " + " ".join(f"{m.unit:>13}" for m in MEASURES))
        step, seconds, waited = int(at[0]), float(at[1]), float(at[2])
        values = sample_at_rest(job)
        samples.append(values)
        mean_ms = 1000 * (seconds - last_seconds) / (step - last_step)
        print(f"{step:>8} {time.monotonic() - begun:8.0f} {mean_ms:9.2f} {1000 * waited:10.1f} "
              + " ".join(f"{values[m.name]:13.0f}" for m in MEASURES), flush=True)  # fmt: skip
        last_step, last_seconds = step, seconds
        job.let_go(step)
    return samples


def live(job, what, expect, end):
    """One life to its end; its samples, and the highest sum of heaps."""
    job.start(expect, end)
    begun = time.monotonic()
    with PeakWatch(job) as peak:
        samples = show_samples(job, begun)
    code = job.launcher.wait()
    job.end()
    said = job.said()
    print("\n".join(f"  {line}" for line in said))
    if (code == 0) != (end == "finalize") or "ends" not in said:
        raise RuntimeError(f"{what}: the job ended with {code}:\n{job.printed()}")
    print(f"{what}: {time.monotonic() - begun:.1f} s", flush=True)
    return samples, peak.highest


def come_back(job, restart):
    job.lose(restart.lost, restart.copies_lost)
    live(job, restart.what, job.scenario.steps, restart.end)
    if not any(line.startswith(f"rank 0 has step {job.scenario.steps} from {restart.level}") for line in job.said()):
        raise RuntimeError(f"{restart.what}: not from {restart.level}:\n{job.printed()}")


def play(job):
    """Prints what is found; whether all is well."""
    scenario = job.scenario
    samples, peak = live(job, "first life", 0, "die")
    for restart in scenario.restarts:
        come_back(job, restart)
    growing = judge(samples, scenario.measures, sum(scenario.sizes))
    if scenario.peak_mib:
        growing += judge_peak(samples, peak, scenario.peak_mib)
    local, globe = job.snapshots_left()
    if local > 0 or globe > scenario.keep:
        growing.append(f"what a finished job leaves: {local} snapshots on nodes, {globe} in the global store")
    print(f"load: {'grows: ' + ', '.join(growing) if growing else 'all is flat'}", flush=True)
    return not growing


def scenario_of(arguments):
    if arguments.regions:
        return many_regions(arguments.regions)
    if arguments.versions:
        return many_versions(-(-arguments.versions // PERIOD) * PERIOD)
    if arguments.shard_gib:
        return large_shard(arguments.shard_gib)
    return many_ranks(arguments.ranks, arguments.minutes, arguments.snapshots)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="has load_program")
    parser.add_argument("mpiexec")
    parser.add_argument("--ranks", type=int, default=64)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--minutes", type=int, default=60)
    which.add_argument("--snapshots", type=int)
    which.add_argument("--regions", type=int)
    which.add_argument("--versions", type=int)
    which.add_argument("--shard-gib", type=float)
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda which, _: sys.exit(128 + which))
    job = Job(arguments.bin / "load_program", arguments.mpiexec, scenario_of(arguments))
    try:
        return 0 if play(job) else 1
    except RuntimeError as error:
        print(f"load: {error}", file=sys.stderr)
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        job.remove()


if __name__ == "__main__":
    sys.exit(main())
