#!/usr/bin/env python3
"""What makes all ranks roll back in spite of [recovery] rollback = lost, and what cannot be configured.

    lost_trouble.py BINARIES [--only CASE...]

Each case of lost_trouble is played without deaths, which gives its result; with a death soon after: all ranks must roll
back, and the log must say why; and with a death when a later snapshot is complete: only the lost must roll back, unless
the case counts for the rest of the session. What is replayed is a case, too, in which only the lost roll back.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import job as jobs
import lost_job as lost
from half import add_half, half_of

STEPS = 30
LIMIT = "limit = 3s"  # of [recovery]: a replacement that stands still for that long does not catch up
STUCK = "and no rank can continue"  # found long before the usual limit, which no job here reaches


class Case:
    def __init__(self, reason, first="global", later="local", more="", **settings):
        self.reason = reason  # a pattern that the log has where it says why all ranks roll back
        self.leads_to = {1: first, 2: later}  # by death
        self.more = more
        self.settings = settings


SMALL = "[replay]\nmemory = 1MiB"
SPILLS = f"{SMALL}\nspill = 8MiB"
CASES = {
    # Until a later snapshot is complete.
    "nonblocking-collective": Case("MPI_Ibarrier"),
    "neighbour-collective": Case("MPI_Ineighbor_allgather"),
    "cancel": Case("MPI_Cancel"),
    "free": Case("MPI_Request_free"),
    "world": Case("MPI_Sendrecv"),
    "pending-receive": Case("pending"),
    "pending-send": Case("pending"),
    "much": Case("memory", more=SMALL),
    # Whether the snapshot is complete by then depends on the machine.
    "waits": Case("wait", first="any", later=None, l4="every 1000"),
    # For the rest of the session.
    "persistent-collective": Case("MPI_Barrier_init", later="global"),
    "idup": Case("MPI_Comm_idup", later="global"),
    "dist-graph": Case("MPI_Dist_graph_create", later="global"),
    "intercommunicator": Case("MPI_Intercomm_create", later="global"),
    "self-bridge": Case("MPI_Intercomm_create", later="global"),
    "pending-matched": Case("MPI_Mrecv"),
    "partitioned": Case("MPI_Psend_init", first=None, later=None),  # Open MPI 5.0 crashes after a failure then
    "window": Case("MPI_Win_create", later="global"),
    "file": Case("MPI_File_open", later="global"),
    "spawn": Case("MPI_Comm_spawn", later="global", mode="respawn", spares=0),
    "thread": Case("thread", later="global"),
    "thread-at-once": Case("thread", later="global"),
    "restores-one": Case("restore", later="global"),
    "early-pending": Case("pending", later="global"),
}
# What only the recovery shows: only the lost roll back at first.
BOTH = {"first": "local, then global", "later": None}
CHECKS = {
    "sends-other": Case("rank 1: message 0 .*to rank 2 differs", **BOTH),
    "sends-less": Case("do not match", **BOTH),
    "sends-more": Case("do not match", **BOTH),
    "stands-still": Case(f"MPI_Recv, {STUCK}", **BOTH),
    "stands-still-polled": Case(r"\[recovery\] limit", more=LIMIT, **BOTH),
    "exchange-after-restore": Case(f"do not match|{STUCK}", **BOTH),
    "sends-none": Case(STUCK, **BOTH),
    "finishes-without-sending": Case(rf"finalize\(\), {STUCK}", **BOTH),
    "message-after-restore": Case(f"MPI_Sendrecv, {STUCK}", **BOTH),
    "long-message-after-restore": Case(f"MPI_Send, {STUCK}", **BOTH),
    "any-after-restore": Case(f"MPI_Recv, {STUCK}", **BOTH),
    "probe-after-restore": Case(f"MPI_Probe, {STUCK}", **BOTH),
    "barrier-after-restore": Case(f"MPI_Barrier, {STUCK}", **BOTH),
    "barrier-after-restore-inline": Case(f"MPI_Barrier, {STUCK}", more="[head]\nmode = inline", **BOTH),
    "allreduce-after-restore": Case(f"MPI_Allreduce, {STUCK}", **BOTH),
    # As one does whose program fails only while it catches up: there are three spares.
    "fails-in-catch-ups": Case("two replacements of rank 1", first="local, local, then global", later=None),
    "communicator-after-restore": Case(f"MPI_Comm_dup, {STUCK}", **BOTH),
}
# The same of what comes before restore().
EARLY = {
    "early-sends-more": Case("before restore", later=None),
    "early-sends-less": Case("before restore", **BOTH),
    "early-receives-more": Case("before restore", later=None),
    "early-receives-any": Case("before restore", later=None),
    "early-much-to-one": Case("memory", later=None, more=SMALL),
}
# Not told before the failure.
LATE = {
    "much-to-one": Case("memory", more=SMALL),
    "asks-failed": Case(r"rank 3 .*failed\(\)", later=None),
    # While another rank is a call of due() ahead.
    "asks-due": Case("", first="local", later=None),
    "asked-for": Case("", first="local", later=None),
    "finishes-at-once": Case(r"rank 1 has finished .* without restore", later=None),
    "tells-errors": Case("", first="local", later=None),
    "auto": Case("", first="local", later=None, l1="auto", steps=100, pause_ms=20, failures=4),
}
# What no rank can continue after: the job fails, and says why.
FAILED = {"loses-its-store": "local: .*[Nn]ot a directory"}
# What a replacement repeats.
REPLAYED = {
    "matched-replayed": Case("", first="local"),
    "group-replayed": Case("", first="local"),
    "much-replayed": Case("memory", first="local", more=SPILLS),
    "much-to-one-replayed": Case("memory", first="local", more=SPILLS),
}

SPARES = "[recovery]\nmode = spares\nspares = 1\n"
REFUSED = {
    "not intercepted": (f"{SPARES}rollback = lost\n", ["rollback", "tap"], ["-x", "LD_PRELOAD=libmpi.so.40"]),
}


def write_costs(directory, failures):
    """As if earlier runs of the job had needed L1 so often: after one more failure, the job uses its own mean time."""
    levels = [{"level": level, "failures": failures if level == 1 else 0} for level in range(1, 5)]
    facts = {"kind": "measured costs", "format": 2, "incarnation": 1, "ended": False, "observed": 100.0, "levels": levels}
    text = json.dumps(facts, indent=1).removesuffix("\n}")
    directory.mkdir(parents=True)
    seal = hashlib.sha256(text.encode()).hexdigest()
    (directory / "costs.json").write_text(f'{text},\n "sha256": "{seal}"\n}}\n')


class Trouble:
    def __init__(self, arguments, directory):
        self.binaries = Path(os.path.realpath(arguments.binaries))
        self.directory = directory
        self.rollback = arguments.rollback
        self.number = 0

    def start(self, name, case, deaths=()):
        self.number += 1
        directory = self.directory / f"job{self.number}"
        directory.mkdir()
        for death in range(1, 3):
            if death not in deaths:
                (directory / f"died.{death}").touch()
        program = lost.Program([str(self.binaries / "lost_trouble"), name])
        settings = {"spares": 3, "steps": STEPS} | case.settings
        if failures := settings.pop("failures", None):
            write_costs(directory / "global" / "job", failures)
        return lost.LostJob(program, directory, str(self.binaries / "killer.so"), rollback=self.rollback,
                            more=case.more if self.rollback == "lost" else "", **settings)  # fmt: skip

    def end(self, job, expected=None):
        try:
            return job.end(expected)
        except jobs.MpirunCrashed:
            raise
        except jobs.Failed as error:
            raise jobs.Failed(f"{error}\n{job.report()}") from None

    def end_without_crash(self, name, case, death, expected):
        """A survivor may crash inside MPI, seen in one of some hundred of these jobs, and mpirun may. The result must be
        right then, too; but more have died than the case is about, so it is played once more."""
        for _ in range(3):
            job = self.start(name, case, [death])
            try:
                found = self.end(job, expected)
            except jobs.MpirunCrashed as error:
                print(f"lost_trouble: {name}: {error}; once more", flush=True)
                job.close()
                continue
            if not found.crashes:
                return job, found
            print(f"lost_trouble: {name}: a survivor crashed inside MPI; once more", flush=True)
            job.close()
        raise jobs.Failed(f"death {death}: MPI crashed in each of three jobs")

    def result_of(self, name, case):
        """Without deaths: nobody rolls back, and what is not replayed is told."""
        job = self.start(name, case)
        recoveries = self.end(job)
        if recoveries.kind() != "none" or recoveries.everyone:
            raise jobs.Failed(f"nobody died, and processes rolled back\n{job.output()}")
        told = [line for line in job.lines if lost.TOLD in line and re.search(f"rank .*({case.reason})", line)]
        if self.rollback == "lost" and bool(told) != (name in CASES):
            raise jobs.Failed(f"it was told {len(told)} times\n{job.output()}")
        texts = [re.search(r"rank \d+.*", line)[0] for line in told]
        if len(set(texts)) != len(texts):
            raise jobs.Failed(f"a rank has told it twice\n{job.output()}")
        job.close()
        return job.program.result(job)

    def play(self, name, case):
        expected = self.result_of(name, case)
        why = []
        for death, kind in case.leads_to.items():
            if kind is None:
                continue
            job, found = self.end_without_crash(name, case, death, expected)
            if self.rollback == "all":
                kind = "global"
            local, back = kind.count("local"), "global" in kind
            if kind != "any" and (found.local, found.rolled_back) != (local, back):
                raise jobs.Failed(f"death {death}: all ranks rolled back {found.rolled_back} times, only the lost "
                                  f"{found.local} times; it should be: {kind}\n{job.output()}")  # fmt: skip
            if self.rollback == "lost" and back and not any(re.search(case.reason, line) for line in found.everyone):
                raise jobs.Failed(f"it does not say why: {found.everyone}\n{job.output()}")
            why += found.everyone
            job.close()
        return "; ".join(dict.fromkeys(why)) or ("it is told" if name in CASES else "only the lost roll back")

    def see_it_end(self, name, reason):
        job = self.start(name, Case(reason), [1])
        job.finish(lost.END_S)
        told = [line for line in job.lines if re.search(reason, line)]
        if not told or job.program.result(job) is not None:
            raise jobs.Failed(f"it did not end\n{job.report()}")
        job.close()
        return told[0].partition(" ")[2]

    def refuse(self, text, keys, options=()):
        self.number += 1
        directory = self.directory / f"job{self.number}"
        directory.mkdir()
        config, plate = directory / "heat.ini", directory / "plate.bin"
        config.write_text(f"[storage]\nlocal = {directory}/local\nglobal = {directory}/global\n{text}")
        command = ["timeout", "-s", "KILL", "60", "mpirun", *jobs.FLAGS, *jobs.TRANSPORT["spares"], *options, "-n", "3",
                   str(self.binaries / "heat"), *jobs.SIZE, "--steps", "3", "--config", str(config), "--output",
                   str(plate)]  # fmt: skip
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)  # fmt: skip
        if done.returncode == 0 or plate.exists() or any(key not in done.stdout for key in keys):
            raise jobs.Failed(f"ended with {done.returncode}; it must name {keys}\n{done.stdout}")
        return next(line for line in done.stdout.splitlines() if keys[0] in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rollback", choices=["lost", "all"], default="lost", help="all: what the tests make of that")
    parser.add_argument("--go-on", action="store_true", help="after a case that failed, too")
    add_half(parser)
    arguments = parser.parse_args()
    start = time.monotonic()
    failed = []
    with tempfile.TemporaryDirectory(prefix="cairn-lost-") as directory:
        trouble = Trouble(arguments, Path(directory))
        plays = {name: lambda name=name, case=case: trouble.play(name, case)
                 for name, case in {**CASES, **CHECKS, **EARLY, **LATE, **REPLAYED}.items()}  # fmt: skip
        plays |= {name: lambda name=name, reason=reason: trouble.see_it_end(name, reason)
                  for name, reason in FAILED.items()}  # fmt: skip
        plays |= {name: lambda refused=refused: trouble.refuse(*refused) for name, refused in REFUSED.items()}
        for name in arguments.only or half_of(plays, arguments.half, "lost_trouble"):
            try:
                told = plays[name]()
            except jobs.Failed as error:
                print(f"lost_trouble: {name}: FAILED: {error}", file=sys.stderr, flush=True)
                failed.append(name)
                for job in list(jobs.Job.running):
                    job.close()
                if not arguments.go_on:
                    break
                continue
            print(f"lost_trouble: {name}: {told}", flush=True)
    print(f"lost_trouble: {time.monotonic() - start:.0f} s", flush=True)
    if failed:
        sys.exit(f"lost_trouble: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
