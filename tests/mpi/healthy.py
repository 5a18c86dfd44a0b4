#!/usr/bin/env python3
"""Healthy programs in which one rank works for long are never said to hang, or to be sick.

    healthy.py PROGRAM CKPT_TOOL MPIEXEC [--hold SECONDS] [KIND ...]

PROGRAM is that of healthy.cpp. Each works on until it is told to go on, and only once the tool has seen the others
wait: nothing depends on how fast the machine is. KIND: only these. --hold: each works for so long at least, and is
looked at all the time.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import health

# By kind of program: the rank that works, or one of these ranks; None: none works for so long that the tool has to name it.
WORKS = {"uneven_domain": 3, "rank_0_writes_a_file": 0, "rank_0_reads_a_mesh": 0, "last_item": (1, 2, 3),
         "component_of_one_rank": 3, "slow_driver": 0, "polling_master": (0, 3), "other_program": 0,
         "independent_parts": None, "real_time": None, "two_of_many": None}  # fmt: skip


class Job(health.Job):
    def __init__(self, programs, kind, stuck_after):
        super().__init__(programs, kind)
        self.config.write_text(self.config.read_text().replace("stuck_after = 4s", f"stuck_after = {stuck_after}"))

    def ask_hang(self):
        """Exit code, and what it said."""
        asked = subprocess.run([self.tool, "hang", "--config", str(self.config), "--after", "1s", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=health.LIMIT_S)  # fmt: skip
        return asked.returncode, json.loads(asked.stdout or "{}")

    def go_on(self):
        """It ends well, and nothing is left of what was suspected."""
        Path(self.directory.name, "go").touch()
        self.until(lambda: self.run.poll() is not None, "the job does not end")
        if self.run.returncode != 0 or self.verdicts():
            raise AssertionError(f"{self.kind}: {self.run.returncode}, {self.verdicts()}\n{self.output.read_text()}")


def waits_for(said, works):
    """Whether the others wait for the rank that works."""
    if works is None:
        return True
    works = works if isinstance(works, tuple) else (works,)
    return said["verdict"] == "waits" and any(finding["ranks"] in [[rank] for rank in works]
                                              for finding in said["findings"])  # fmt: skip


def play(programs, kind, hold_s=0):
    """Nothing is suspected, though others have waited for longer than a hang may take."""
    with Job(programs, kind, "10min") as job:
        job.start()

        def waits():
            code, said = job.ask_hang()
            if said and (code != 0 or said["verdict"] not in ("healthy", "waits")):
                raise AssertionError(f"{kind}: exit code {code}, {said['summary']}")
            return said and waits_for(said, WORKS[kind])

        end = time.monotonic() + hold_s
        while True:
            job.until(waits, "nobody waits")
            if said := job.verdicts():
                raise AssertionError(f"{kind}: {said}")
            if time.monotonic() >= end:
                break
            time.sleep(1)
        job.go_on()
        # A rank that has to wait names the command, on a busy machine also in finalize().
        said = job.output.read_text().replace("ckpt-tool hang shows", "")
        if "stuck" in said or "hang" in said:
            raise AssertionError(f"{kind}: {said}")


def suspect(programs, kind):
    """Where it takes longer than the configuration says, both tools suspect it. The job ends well all the same."""
    with Job(programs, kind, "2s") as job:
        job.start()
        job.expect(fault="rank_stuck", rank=WORKS[kind])
        code, said = job.ask_hang()
        if code != 1 or said["verdict"] != "suspect":
            raise AssertionError(f"{kind}: exit code {code}, {said}")
        job.go_on()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3)
    parser.add_argument("kinds", nargs="*", choices=[[], *WORKS], metavar="KIND")
    parser.add_argument("--hold", type=float, default=0)
    given = parser.parse_intermixed_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    plays = [(partial(play, hold_s=given.hold), kind) for kind in WORKS]
    plays += [(suspect, "uneven_domain"), (suspect, "slow_driver")]
    for how, kind in plays:
        if given.kinds and kind not in given.kinds:
            continue
        start = time.monotonic()
        how(given.programs, kind)
        print(f"{getattr(how, 'func', how).__name__} {kind}: as it should be, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
