#!/usr/bin/env python3
"""What local rollback saves: the experiment of Bondarenko, Lyakhov, Yakobovskiy 2019 (DOI 10.14529/cmse190205), in small.

    replay.py BIN [--pairs 5] [--runs 10] [--work 30] [--minutes 45] [--json FILE] [--plot FILE.svg]

BIN has bench-replay and ckpt-tool; MPI is Open MPI 5 with ULFM. A job of four ranks and two heads on two simulated
nodes computes for T = 30 s, in steps of 10 ms that sleep. Failures of a process (which need L1) and of a node (which
need L4) strike it at random times, after computing, after the exchange, or after the snapshot. The five pairs of MTBFs
are the paper's, as parts of T. Snapshots at L1 and L4 have the paper's intervals, as parts of T: the best ones for its
costs. New processes replace the dead (mode = respawn). A failure that is due during a recovery strikes after the next
snapshot, since Open MPI 5.0 crashes if processes die while new ones are started. A failure of a node that is due before a
snapshot at L4 is complete strikes then. Protocols:

    coordinated    [recovery] rollback = all
    local          [recovery] rollback = lost, [replay] survives = process: after the loss of a node, all roll back
    2 helpers      the same with [replay] helpers = 2: a spare computes half of what a replacement has to

The same failure times are played for all protocols. An overhead is what a job takes beyond the same steps without
failures and snapshots. Beside it is what the simulator predicts for this pattern from the costs of snapshots and
recoveries that were measured in the same runs. A recovery is the time from a strike until the struck rank has the
state of the snapshot. What helpers then need beyond their share of the lost steps is told apart. Differences to coordinated have a 95 % confidence interval, from pairs of runs with the same failures. What 5 helpers
would cost is only simulated.

All pairs are played once, then all again, up to --runs times. With --minutes, no run begins that may not end in that
time. So all pairs have about as many runs, whatever the machine takes for them. A job that fails is played again once;
then its run is left out, and after two such runs the rest of the pair.
"""

import argparse
import json
import math
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "ulfm"), str(TOP / "tests" / "support")]
import job as jobs  # noqa: E402
from processes import is_alive, send  # noqa: E402

STEP = 0.01  # seconds
RANKS = 4
PER_NODE = 3  # two ranks and their head
POINTS = ["compute", "exchange", "save"]
PROTOCOLS = {"coordinated": "", "local": "rollback = lost", "2 helpers": "rollback = lost\n[replay]\nhelpers = 2"}
LONGEST = 4  # times the work: a job that takes longer hangs, or failures come faster than it can recover
REASONS = re.compile(r"error:|Signal: |An error occurred|MPI_ABORT")
MOST_LEFT_OUT = 2  # runs of a pair of MTBFs that take the time of others
SPARES = 2  # one of them stays when another helps
# Failures of processes and of nodes in T.
PAIRS = [(2, 1 / 10), (4, 1), (10, 2), (15, 3), (20, 4)]
# Its costs of a snapshot and of a recovery at L1 and at L4, as parts of T = 3600 s.
PAPER_COSTS, PAPER_RECOVERIES = ([one / 3600 for one in costs] for costs in ([1, 6], [0.5, 4]))
# Student's t for a two-sided interval of 95 %, by degrees of freedom.
T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
       2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045]  # fmt: skip


def confidence(values):
    """Half of the 95 % interval of their mean; infinite for one."""
    if len(values) < 2:
        return math.inf
    quantile = T95[len(values) - 2] if len(values) - 2 < len(T95) else 1.96
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


def failures(work, pair, seed):
    """Exponentially distributed, until long after the job should have ended."""
    source = random.Random(seed)
    found = []
    for kind, rate in zip(("process", "node"), pair):
        at = 0.0
        while (at := at + source.expovariate(rate / work)) < 20 * work:
            found.append((at, source.randrange(RANKS), source.choice(POINTS), kind))
    return sorted(found)


@dataclass
class Outcome:
    seconds: float
    saves: dict  # level → seconds of the application in each
    recoveries: dict = field(default_factory=lambda: defaultdict(list))  # level → seconds of each
    helped: list = field(default_factory=list)  # seconds beyond their steps of each team of helpers


class Experiment:
    def __init__(self, binaries, work):
        self.binaries = Path(binaries)
        self.steps = round(work / STEP)
        self.failed = 0  # jobs

    def play(self, protocol, schedule, every):
        """One job; `every`: steps between snapshots at L1 and L4."""
        with tempfile.TemporaryDirectory(prefix="cairn-replay-", dir="/dev/shm") as name:
            directory = Path(name)
            lines = [" ".join([f"{at:.6f}", str(rank), point, kind]) for at, rank, point, kind in schedule]
            (directory / "failures").write_text("\n".join(lines) + "\n")
            arguments = ["--config", str(directory / "heat.ini"), "--directory", name, "--steps", str(self.steps),
                         "--step-seconds", str(STEP), "--local-every", str(every[0]), "--global-every", str(every[1])]  # fmt: skip
            job = jobs.Job(None, directory, "respawn", RANKS + 2, SPARES, node_size=str(PER_NODE), l1="every 1000000000",
                           l4="every 1000000000", more=PROTOCOLS[protocol], program=[str(self.binaries / "bench-replay")],
                           arguments=arguments)  # fmt: skip
            try:
                stop = threading.Event()
                hand = threading.Thread(target=self.strike_nodes, args=(job, directory, schedule, stop), daemon=True)
                hand.start()
                job.finish(limit_s=LONGEST * self.steps * STEP + 30)
                stop.set()
                hand.join()
                return self.outcome(job, directory, schedule)
            finally:
                stop.set()
                job.close()

    def play_again_if_it_fails(self, protocol, schedule, every, tries=2):
        """Open MPI 5.0 crashes in some failures. What has failed is told, and counts for nothing. None: so did all tries."""
        for left in reversed(range(tries)):
            try:
                return self.play(protocol, schedule, every)
            except jobs.Failed as error:
                self.failed += 1
                what = "is played again" if left else "is left out"
                print(f"replay: {protocol}: a job failed, and {what}: {reason_of(str(error))}", file=sys.stderr, flush=True)
        return None

    def strike_nodes(self, job, directory, schedule, stop):
        """Does what a struck rank cannot do: ends its node, and takes its store."""
        open_strikes = {number for number, entry in enumerate(schedule) if entry[3] == "node"}
        while not stop.wait(0.001):
            for number in [one for one in open_strikes if (directory / f"struck.{one}").exists()]:
                open_strikes.remove(number)
                pid = job.find(f"rank {schedule[number][1]}")
                with job.lock:
                    node = job.roles[pid][1]
                    on_it = [one for one, (_, place) in job.roles.items() if place == node and is_alive(one)]
                for one in on_it:
                    send(one, signal.SIGKILL)
                shutil.rmtree(directory / "local" / node, ignore_errors=True)

    def outcome(self, job, directory, schedule):
        if not (directory / "begin").exists():
            raise jobs.Failed(f"it did not begin:\n{job.output()}")
        events = [line.split() for line in (directory / "events").read_text().splitlines()]
        ended = [float(at) for at, _, what, _, _ in events if what == "ended"]
        if len(ended) < RANKS:
            raise jobs.Failed(f"{len(ended)} ranks came to their end:\n{job.output(last=2000)}")
        begin = float((directory / "begin").read_text())
        result = Outcome(max(ended) - begin, {1: [], 2: []})
        for _, _, what, _, value in events:
            if what in ("saved_local", "saved_global"):
                result.saves[1 if what == "saved_local" else 2].append(float(value))
            elif what == "helped":
                result.helped.append(float(value))
        for number, (_, rank, _, kind) in enumerate(schedule):
            mark = directory / f"struck.{number}"
            if not mark.exists():
                continue
            struck = float(mark.read_text())
            after = [float(at) for at, who, what, _, _ in events if what == "restored" and int(who) == rank and float(at) > struck]
            if after:
                result.recoveries[1 if kind == "process" else 2].append(min(after) - struck)
        return result


def costs_of(outcomes):
    """Mean seconds of C1, C2 and R1, R2; C2 is what L4 adds."""
    def mean(which, level):
        values = [value for one in outcomes for value in getattr(one, which)[level]]
        return statistics.fmean(values) if values else None

    local, upper = mean("saves", 1), mean("saves", 2)
    least = 1e-6  # a cost must be above 0
    costs = [max(local or least, least), max((upper or 0) - (local or 0), least)]
    recoveries = [mean("recoveries", 1), mean("recoveries", 2)]
    known = [value for value in recoveries if value is not None]
    return costs, [value if value is not None else (known or [0])[0] for value in recoveries]


def simulated(binaries, work, pair, costs, recoveries, runs, intervals=None):
    """What ckpt-tool says, by the strategy's name."""
    def times(values):
        return ",".join(f"{value:.9f}s" for value in values)

    command = [str(binaries / "ckpt-tool"), "simulate", "--json", "--levels", "1,4", "--work", f"{work}s", "--runs", str(runs), "--helpers", "2,5",
               "--cost", times(costs), "--recovery", times(recoveries), "--mtbf", times([work / rate for rate in pair])]  # fmt: skip
    if intervals:
        command += ["--intervals", times(intervals)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {one["name"]: one for one in json.loads(done.stdout)["strategies"]}


def pattern(strategy):
    """In steps."""
    first, second = (level.get("interval") for level in strategy["levels"])
    every = max(1, round((first or second) / STEP))
    return every, every * max(1, round(second / (first or second)))


def reason_of(output):
    """The first line of a job's output that says why it failed."""
    lines = output.splitlines()
    return next((line for line in lines[1:] if REASONS.search(line)), lines[0])[:300]


def name_of(rates):
    """Of the MTBFs of processes and of nodes."""
    return " ".join(f"T/{rate:g}" if rate >= 1 else f"{1 / rate:g}T" for rate in rates)


class Pair:
    """Of MTBFs: its runs, each of all protocols with the same failures."""

    def __init__(self, experiment, work, rates):
        self.experiment = experiment
        self.work = work
        self.rates = rates
        paper = simulated(experiment.binaries, work, rates, [one * work for one in PAPER_COSTS],
                          [one * work for one in PAPER_RECOVERIES], runs=1)  # fmt: skip
        self.every = pattern(paper["best pattern"])
        self.outcomes = defaultdict(list)  # by protocol
        self.played = 0

    def play(self):
        """The same failures count for all protocols, or, if a job fails in the end, for none."""
        schedule = failures(self.work, self.rates, f"{self.rates} {self.played}")
        self.played += 1
        found = {}
        for protocol in PROTOCOLS:
            found[protocol] = self.experiment.play_again_if_it_fails(protocol, schedule, self.every)
            if found[protocol] is None:
                return
        for protocol, outcome in found.items():
            self.outcomes[protocol].append(outcome)
        times = ", ".join(f"{protocol} {outcome.seconds:.1f} s" for protocol, outcome in found.items())
        print(f"replay: MTBFs {name_of(self.rates)}, run {self.played}: {times}", file=sys.stderr, flush=True)

    def measured(self):
        return len(self.outcomes["coordinated"])

    def is_hopeless(self):
        return self.played - self.measured() >= MOST_LEFT_OUT

    def record(self, base):
        """None: nothing was measured."""
        runs = self.measured()
        if not runs:
            return None
        record = {"pair": self.rates, "every": self.every, "runs": runs, "left_out": self.played - runs}
        for protocol, played in self.outcomes.items():
            costs, recoveries = costs_of(played)
            intervals = [steps * base / self.experiment.steps for steps in self.every]
            name = "given intervals" + {"coordinated": "", "local": ", local rollback"}.get(protocol, f", {protocol}")
            expected = simulated(self.experiment.binaries, base, self.rates, costs, recoveries, 10000, intervals)
            overheads = [one.seconds - base for one in played]
            record[protocol] = {
                "overhead": statistics.fmean(overheads), "confidence": confidence(overheads), "overheads": overheads,
                "costs": costs, "recoveries": recoveries,
                "failures": [statistics.fmean(len(one.recoveries[level]) for one in played) for level in (1, 2)],
                "simulated": expected[name]["overhead"],
                "5 helpers": expected["given intervals, 5 helpers"]["overhead"]["mean"],
            }  # fmt: skip
        record["helped"] = [value for one in self.outcomes["2 helpers"] for value in one.helped]
        record["differences"] = {one: difference(record["coordinated"], record[one], runs)
                                 for one in PROTOCOLS if one != "coordinated"}  # fmt: skip
        return record


def play_all(pairs, runs, end):
    """`end`: of the time for it."""
    longest = dict.fromkeys(pairs, 0)  # seconds of one run of each
    for _ in range(runs):
        for pair in pairs:
            if pair.is_hopeless():
                continue
            began = time.monotonic()
            if began + longest[pair] > end:
                print("replay: no time is left for more runs", file=sys.stderr, flush=True)
                return
            pair.play()
            longest[pair] = max(longest[pair], time.monotonic() - began)


def difference(all_, lost, runs):
    pairs = [b - a for a, b in zip(all_["overheads"], lost["overheads"])]
    both = math.hypot(all_["simulated"]["deviation"], lost["simulated"]["deviation"]) / math.sqrt(runs)
    expected = lost["simulated"]["mean"] - all_["simulated"]["mean"]
    return {"mean": statistics.fmean(pairs), "confidence": confidence(pairs), "simulated": expected,
            "simulated_interval": [expected - 1.96 * both, expected + 1.96 * both]}  # fmt: skip


COLUMNS = [("MTBFs", 13), ("protocol", 12), ("failures", 13), ("C1 ms", 7), ("C2 ms", 7), ("R1 ms", 7), ("R2 ms", 7),
           ("overhead", 17), ("simulated", 17), ("5 helpers, simulated", 20)]  # fmt: skip


def row(cells):
    print("  ".join(f"{cell:<{width}}" for cell, (_, width) in zip(cells, COLUMNS)).rstrip(), flush=True)


def show(record, base):
    def percent(value):
        return f"{100 * value / base:.1f} %"

    for protocol in PROTOCOLS:
        one = record[protocol]
        of_mean = 1.96 * one["simulated"]["deviation"] / math.sqrt(record["runs"])
        row([name_of(record["pair"]), protocol,
             " + ".join(f"{count:.1f}" for count in one["failures"]), *(f"{1000 * value:.1f}" for value in one["costs"] + one["recoveries"]),
             f"{percent(one['overhead'])} ± {100 * one['confidence'] / base:.1f}",
             f"{percent(one['simulated']['mean'])} ± {100 * of_mean / base:.1f}",
             percent(one["5 helpers"]) if protocol == "2 helpers" else ""])  # fmt: skip
    for protocol, found in record["differences"].items():
        low, high = found["simulated_interval"]
        inside = low <= found["mean"] <= high
        print(f"{'':15}{protocol} minus coordinated: {percent(found['mean'])} ± {100 * found['confidence'] / base:.1f}, simulated "
              f"{percent(found['simulated'])} ({percent(low)} to {percent(high)}): {'within' if inside else 'outside'}", flush=True)  # fmt: skip
    if helped := record["helped"]:
        print(f"{'':15}{len(helped)} times, helpers have recomputed steps: {1000 * statistics.fmean(helped):.0f} ms beyond these", flush=True)
    print(f"{'':15}{record['runs']} runs, {record['left_out']} left out, since a job failed\n", flush=True)


def draw(records, base, path):
    """Bars of measured overheads with their intervals, and a mark for what was simulated."""
    width, height, left, bottom = 640, 320, 60, 40
    most = max(one[p]["overhead"] + min(one[p]["confidence"], one[p]["overhead"]) for one in records for p in PROTOCOLS) / base
    colours = dict(zip(PROTOCOLS, ("#7a8594", "#2f7d4f", "#2f5f9d")))

    def y(value):
        return height - bottom - (height - bottom - 30) * value / most

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             f'<text x="{left}" y="16">Overhead in % of the work: measured (bars), simulated (lines)</text>']  # fmt: skip
    for i, protocol in enumerate(PROTOCOLS):
        parts.append(f'<rect x="{left + 310 + 95 * i}" y="6" width="12" height="12" fill="{colours[protocol]}"/>'
                     f'<text x="{left + 326 + 95 * i}" y="16">{protocol}</text>')  # fmt: skip
    for tick in range(5):
        value = most * tick / 4
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{100 * value:.0f}</text>')  # fmt: skip
    room = (width - left - 10) / len(records)
    for i, record in enumerate(records):
        for k, protocol in enumerate(PROTOCOLS):
            one = record[protocol]
            x = left + room * i + room * (0.1 + 0.27 * k)
            share, half, wide = one["overhead"] / base, min(one["confidence"], one["overhead"]) / base, room * 0.24
            parts.append(f'<rect x="{x:.1f}" y="{y(share):.1f}" width="{wide:.1f}" height="{y(0) - y(share):.1f}" fill="{colours[protocol]}"/>'
                         f'<line x1="{x + wide / 2:.1f}" x2="{x + wide / 2:.1f}" y1="{y(share - half):.1f}" y2="{y(share + half):.1f}" stroke="#000"/>'
                         f'<line x1="{x:.1f}" x2="{x + wide:.1f}" y1="{y(one["simulated"]["mean"] / base):.1f}" '
                         f'y2="{y(one["simulated"]["mean"] / base):.1f}" stroke="#c33" stroke-width="2"/>')  # fmt: skip
        parts.append(f'<text x="{left + room * (i + 0.5):.1f}" y="{height - 16}" text-anchor="middle">{name_of(record["pair"])}</text>')
    Path(path).write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", metavar="BIN")
    parser.add_argument("--pairs", default="1,2,3,4,5", help="which of the five, from rare failures to frequent ones")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--work", type=float, default=30)
    parser.add_argument("--json")
    parser.add_argument("--plot")
    parser.add_argument("--minutes", type=float, default=math.inf)
    arguments = parser.parse_args()
    start = time.monotonic()
    end = start + 60 * arguments.minutes
    experiment = Experiment(arguments.binaries, arguments.work)
    undisturbed = [experiment.play_again_if_it_fails("coordinated", [], (0, 0)) for _ in range(3)]
    if None in undisturbed:
        return 1
    base = statistics.median(one.seconds for one in undisturbed)
    print(f"T = {base:.2f} s; started {time.strftime('%F %T')}\n", flush=True)
    pairs = [Pair(experiment, arguments.work, PAIRS[int(number) - 1]) for number in arguments.pairs.split(",")]
    play_all(pairs, arguments.runs, end)
    row([name for name, _ in COLUMNS])
    records = []
    for pair in pairs:
        if record := pair.record(base):
            records.append(record)
            show(record, base)
        else:
            print(f"MTBFs {name_of(pair.rates)}: not measured: {pair.played} runs, in each of which a job of some protocol failed\n", flush=True)
    print(f"{experiment.failed} jobs failed, and were played again or left out; {(time.monotonic() - start) / 60:.0f} minutes", flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"base": base, "records": records}, indent=1), encoding="utf-8")
    if arguments.plot and records:
        draw(records, base, arguments.plot)
    return 0 if records else 1


if __name__ == "__main__":
    sys.exit(main())
