#!/usr/bin/env python3
"""Plays one long job with [recovery] rollback = lost whose message logs are at their bound all the time, and kills ranks.

    lost_at_bound.py BINARIES [--seconds 3600] [--kills 12] [--seed 1] [--memory 16] [--spill 0] [--auto]

No snapshot is due, so ranks take one only when a log is nearly full. The job must end with the result of a run that
nothing happened to, each failure must make only the lost roll back, and the processes must not grow. With --spill, what
exceeds the memory (both in MiB) is in files, and none may be left. With --auto, the interval of snapshots is auto, and
must be short enough for the log.
"""

import argparse
import os
import random
import re
import signal
import tempfile
import time
from pathlib import Path

import job as jobs
import lost
import lost_job

PAUSE_MS = 40  # in each step of lost_steps, so that the speed of the machine hardly counts
STEP_S = 0.05  # with the pause
GROWTH_MIB = 64  # beyond the logs
AUTO = re.compile(r"auto: .* a message log fills in")


def resident_mib(pid):
    try:
        words = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return int(words[1]) * os.sysconf("SC_PAGESIZE") / 2**20


class Bound:
    def __init__(self, arguments):
        self.arguments = arguments
        self.random = random.Random(arguments.seed)
        self.sizes = []  # of the largest process, at each look
        self.job = None

    def act(self, job):
        """Kills between the first and the last tenth of the time."""
        self.job = job
        part = self.arguments.seconds / (self.arguments.kills + 2)
        job.wait_for("its ranks", lambda: len(job.lives()) >= 4)
        for _ in range(self.arguments.kills):
            end = time.monotonic() + part * self.random.uniform(0.8, 1.2)
            while time.monotonic() < end and not job.is_through():
                time.sleep(0.2)
            if job.is_through():
                return
            ranks = [rank for rank in range(4) if job.process_of(rank)]
            self.sizes.append(max(resident_mib(job.process_of(rank)) for rank in ranks))
            os.kill(job.process_of(self.random.choice(ranks)), signal.SIGKILL)

    def play(self, directory):
        arguments = self.arguments
        lost_job.END_S = 20 * arguments.seconds + 60
        settings = argparse.Namespace(binaries=arguments.binaries, rollback="lost", mode="spares")
        shape = {"steps": max(100, int(arguments.seconds / STEP_S)), "l1": "auto" if arguments.auto else "every 1000000",
                 "spares": arguments.kills + 2}  # fmt: skip
        player = lost.Lost(settings, Path(directory))
        more = f"[replay]\nmemory = {arguments.memory}MiB"
        if arguments.spill:
            more += f"\nspill = {arguments.spill}MiB"
        return player.play("steps", [], self.act, shape=shape, pause_ms=PAUSE_MS, more=more)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", type=int, default=16, metavar="MIB")
    parser.add_argument("--spill", type=int, default=0, metavar="MIB")
    parser.add_argument("--auto", action="store_true")
    arguments = parser.parse_args()
    bound = Bound(arguments)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cairn-bound-") as directory:
        found = bound.play(directory)
        left = [str(path) for path in Path(directory).rglob("*.writing")]
    print(f"lost_at_bound: {found.replaced} replaced, {found.kind()}, {found.local} local recoveries, largest process "
          f"{[round(size) for size in bound.sizes]} MiB; {time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
    if found.kind() != "local" and not found.crashes:
        raise SystemExit(f"not only the lost rolled back: {found.everyone}")
    if left:
        raise SystemExit(f"files are left: {left}")
    bounds = AUTO if arguments.auto else lost_job.FILLS
    if not any(bounds.search(line) for line in bound.job.lines):
        raise SystemExit("no log was at its bound")
    if bound.sizes and max(bound.sizes) > bound.sizes[0] + arguments.memory + arguments.spill + GROWTH_MIB:
        raise SystemExit("a process grows")


if __name__ == "__main__":
    main()
