#!/usr/bin/env python3
"""ckpt-tool hang says why jobs hang that really do, and calls others healthy.

    hang.py PROGRAM CKPT_TOOL MPIEXEC RANKS [KIND ...]

RANKS: 4 plays all kinds; with more, those that a large job shows in another way are left out. Each job hangs in one way. The tool is asked again and again until it says what it should; nothing here depends on how
fast the machine is. KIND: only these.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from processes import descendants, environment_of, left_of, program_of, send  # noqa: E402

LIMIT_S = 180  # until it is said; much more than it takes, also on a busy machine
EXIT_CODES = {"healthy": 0, "suspect": 1, "hangs": 1, "over": 2}
# mpirun leaves the other ranks alone when one of them dies.
SURVIVORS = ["--mca", "orte_enable_recovery", "1", "--mca", "orte_abort_on_non_zero_status", "0"]

CONFIG = """[job]
name = hanging
[storage]
local = {directory}/local
global = {directory}/global
[levels]
l2 = off
l3 = off
[head]
mode = {mode}
[localize]
stuck_after = 500ms
[log]
level = error
"""


class Said:
    """What the tool should say of a job: facts, as its JSON names them."""

    def __init__(self, verdict, cause=None, culprits=None, waiting=(), reasons=None, certainty=None, also=None):
        self.verdict = verdict
        self.cause = cause  # of the first finding; None: there is none
        self.culprits = culprits
        self.waiting = list(waiting)  # ranks that wait for them
        self.certainty = certainty or ("certain" if verdict == "hangs" else "likely")
        # Why the others wait, with what else is known: {None: {...}}; of a circle, why each of these ranks does.
        self.reasons = reasons or {}
        self.also = also  # a function of the answer: what is wrong with it besides

    def missing_in(self, said):
        """What is not as it should be; empty: all is."""
        wrong = []
        if said["verdict"] != self.verdict:
            wrong.append(f"the verdict is {said['verdict']}, not {self.verdict}")
        wrong += self.also(said) if self.also else []
        if not said["findings"] or not self.cause:
            return wrong + ["findings, or none"] * (bool(said["findings"]) != bool(self.cause))
        first = said["findings"][0]
        for key, value in [("cause", self.cause), ("ranks", self.culprits), ("waiting", self.waiting),
                           ("certainty", self.certainty)]:  # fmt: skip
            if not has(first[key], value):
                wrong.append(f"{key}: {first[key]}, not {value}")
        if len(said["findings"]) > 1:
            wrong.append("there is more than one finding")
        waits = {step["rank"]: said["waits"][step["wait"]] for step in first.get("circle", [])}
        if "wait" in first:
            waits[None] = said["waits"][first["wait"]]
        for rank, facts in self.reasons.items():
            wrong += [f"{rank}: {waits.get(rank)}, not {facts}"] * (not has(waits.get(rank), facts))
        return wrong


def has(value, wanted):
    """Whether a JSON value is the wanted one, or one of several; of an object, whether it has these members."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(has(value.get(key), part) for key, part in wanted.items())
    return value in wanted if isinstance(wanted, tuple) else value == wanted


def names_of_communicators(said):
    """What is wrong with them: the session's has none, and the other one is called "halo"."""
    known = sorted((comm["of_session"], comm.get("name")) for comm in said["communicators"])
    return [f"communicators: {known}"] * (known != [(False, "halo"), (True, None)])


def expectations(ranks):
    """By kind of hang.cpp."""
    last = ranks - 1
    all_ranks = list(range(ranks))
    others = all_ranks[:-1]
    all_but_2 = [rank for rank in all_ranks if rank != 2]

    def circle(*culprits, **reasons):
        return Said("hangs", "circle", list(culprits), all_ranks,
                    {int(rank[1:]): facts for rank, facts in reasons.items()})  # fmt: skip

    def not_sent(tag):
        return {"reason": "message_not_sent", "call": {"tag": tag}}

    not_begun = {"reason": "collective_not_begun"}
    left_out = circle(0, last, **{
        "r0": {**not_begun, "call": {"call": "MPI_Allreduce", "number": 2}},
        f"r{last}": {**not_begun, "call": {"call": "MPI_Barrier", "number": 1}}})  # fmt: skip
    left_out.also = names_of_communicators
    late = Said("suspect", "computes", [2], all_but_2, {None: {"reason": ("message_not_sent_again", "message_not_sent",
                                                                          "receive_not_posted")}})  # fmt: skip
    late_many_tags = Said("suspect", "computes", [2], all_but_2, certainty=("likely", "unknown"))
    late_requests_many_tags = Said(
        "suspect", "computes", [2], all_but_2, certainty=("likely", "unknown"),
        also=lambda said: ["no full table"] * (not any(gap["cause"] == "message_counters_full" and
                                                       gap["entries"] == 1024 for gap in said["unknown"])))  # fmt: skip
    return {
        "missed_message": circle(1, 2, r1=not_sent(7),
                                 r2={**not_begun, "call": {"call": "MPI_Allreduce", "number": 1}}),
        "swapped_tags": circle(0, 1, r0={"reason": "message_sent_otherwise", "theirs": {"tag": 8}},
                               r1={"reason": "receive_posted_otherwise", "theirs": {"tag": 7}}),
        "left_out_collective": left_out,
        "other_root": Said("hangs", "collective_mismatch", [last], others, {
            None: {"reason": "collective_mismatch", "agreeing": last, "call": {"call": "MPI_Reduce", "root": 0},
                   "theirs": {"root": last}}}),
        "circle_of_sends": circle(*all_ranks, r0={"reason": "receive_not_posted", "call": {"tag": 5, "peer": 1}}),
        "fence": Said("suspect", "unrecorded", others, certainty="unknown",
                      also=lambda said: ["no call that cannot be analysed"] * (not any(
                          gap["cause"] == "opaque_call" for gap in said["unknown"]))),  # fmt: skip
        "loop": Said("suspect", "computes", [last], others, {None: not_sent(7)}),
        "stolen_message": circle(0, 2, r0={"reason": "message_taken_by_wildcard"}),
        "wrong_request": circle(0, 2, r0=not_sent(2)),
        "late_call": late,
        "late_requests": late,
        "late_call_many_tags": late_many_tags,
        "late_requests_many_tags": late_requests_many_tags,
        "missed_end": Said("suspect", "computes", [2], all_but_2, {None: {**not_begun,
                                                                          "call": {"call": "MPI_Finalize"}}}),
        "early_end": circle(0, 2, r0=not_begun, r2=not_sent(7)),
        "probe": circle(0, 1, r0=not_sent(7), r1={**not_begun, "call": {"call": "MPI_Allreduce"}}),
        "begun_collective": Said("suspect", "computes", [last], others, {
            None: {"reason": ("collective_not_progressed", "collective_not_begun")}}),
        "missed_snapshot": Said("suspect", "computes", [2], all_but_2, {
            None: {**not_begun, "call": {"call": "snapshot()"}}}),
        "missed_restore": circle(0, 2, r0={**not_begun, "call": {"call": "restore()"}},
                                 r2={**not_begun, "call": {"call": "MPI_Allreduce"}}),
        "missed_close": circle(0, 2, r0={**not_begun, "call": {"call": "close() of a snapshot"}},
                               r2={**not_begun, "call": {"call": "MPI_Allreduce"}}),
        "missed_receive": circle(0, 1, r1={"reason": "receive_not_posted", "call": {"tag": 7}}),
        "swapped_tags_of_sent_messages": circle(0, 1, r0={"reason": "message_sent_earlier_otherwise",
                                                          "theirs": {"tag": 8}}),
    }  # fmt: skip


# Variants of others; and die() begins with a loop.
FEW_RANKS_ONLY = {"begun_collective", "early_end", "fence", "exchange_many_tags", "missed_end", "late_call",
                  "late_call_many_tags", "late_requests_many_tags", "loop", "missed_close", "missed_receive", "missed_restore",
                  "missed_snapshot", "stop_head", "swapped_tags_of_sent_messages"}  # fmt: skip
WITH_HEAD = {"missed_message", "missed_restore", "missed_snapshot"}


class Job:
    """One kind of hang on some ranks, of which `heads` only serve. It ends with the block."""

    def __init__(self, programs, kind, ranks, heads=0, options=()):
        self.program, self.tool, self.mpiexec = programs
        self.kind, self.ranks = kind, ranks
        self.name = f"{kind} on {ranks} ranks" + (f" and {heads} head" if heads else "")
        self.directory = tempfile.TemporaryDirectory(prefix="cairn-hang-")
        self.config = Path(self.directory.name, "hang.ini")
        self.config.write_text(CONFIG.format(directory=self.directory.name, mode="rank" if heads else "inline"))
        self.output = Path(self.directory.name, "output")
        # --foreground is left out: timeout then kills its whole process group.
        self.command = ["timeout", "-s", "KILL", str(2 * LIMIT_S), self.mpiexec, "--oversubscribe", "--bind-to", "none",
                        *options, "-n", str(ranks + heads), self.program, str(self.config), kind]  # fmt: skip
        self.started = time.monotonic()

    def __enter__(self):
        with self.output.open("w") as output:
            self.run = subprocess.Popen(self.command, stdout=output, stderr=output, start_new_session=True)
        return self

    def __exit__(self, *failure):
        ranks = [pid for pid in descendants(self.run.pid) if self.is_rank(pid)]
        jobs = {environment_of(pid).get("OMPI_MCA_ess_base_jobid", "0") for pid in ranks}
        for pid in ranks:
            send(pid, signal.SIGKILL)
        self.run.terminate()  # timeout sends it on to mpiexec
        try:
            self.run.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.run.pid, signal.SIGKILL)
            self.run.wait()
        left = left_of(ranks, LIMIT_S)
        # Ranks that were killed have left theirs.
        for job in jobs:
            for path in Path("/dev/shm").glob(f"vader_segment.*.{int(job):x}.*"):
                path.unlink(missing_ok=True)
        self.directory.cleanup()
        if any(failure):
            return
        if left:
            raise AssertionError(f"{self.name}: processes are left: {left}")
        print(f"{self.name}: as it should be, {time.monotonic() - self.started:.1f} s", flush=True)

    def is_rank(self, pid):
        return program_of(pid) == os.path.realpath(self.program)

    def ask(self):
        """Exit code and answer; None while there is no file of any rank."""
        asked = subprocess.run([self.tool, "hang", "--config", str(self.config), "--after", "500ms", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)  # fmt: skip
        return asked.returncode, json.loads(asked.stdout) if asked.stdout else None

    def text(self):
        return subprocess.run([self.tool, "hang", "--config", str(self.config), "--after", "500ms"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout  # fmt: skip

    def expect(self, missing_in, times=1):
        """Until nothing is missing in the answer, so many times in a row."""
        deadline = time.monotonic() + LIMIT_S
        good = 0
        while good < times:
            code, said = self.ask()
            missing = ["an answer"] if said is None else missing_in(said)
            if said is not None and code != EXIT_CODES[said["verdict"]]:
                missing.append(f"the exit code {EXIT_CODES[said['verdict']]} instead of {code}")
            if said is not None and not missing:
                good += 1
                continue
            good = 0
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name}: {missing}\n{self.text()}\n{self.output.read_text()}")
            if said is None:  # the tool has not waited between two readings
                time.sleep(0.05)
        return said

    def pid_of(self, said, rank):
        pid = said["ranks"][rank]["process"]
        if environment_of(pid).get("OMPI_COMM_WORLD_RANK") != str(rank) or not self.is_rank(pid):
            raise AssertionError(f"{self.name}: process {pid} is not rank {rank}\n{self.text()}")
        return pid


def makes_progress(ranks):
    """A job that is well, and some of whose ranks have made calls between the readings."""
    return Said("healthy", also=lambda said: [f"of {ranks} ranks, none progressed"] * (
        len(said["ranks"]) != ranks or not any(rank["progressed"] for rank in said["ranks"])))  # fmt: skip


def hang(programs, kind, ranks, heads=0):
    with Job(programs, kind, ranks, heads) as job:
        job.expect(expectations(ranks)[kind].missing_in)


def compute(programs, ranks):
    """All ranks do, and have done so for longer than a rank may wait."""

    def missing_in(said):
        brief = [rank["rank"] for rank in said["ranks"] if rank.get("seconds", 0) < 1]
        idle = [rank["rank"] for rank in said["ranks"] if rank["state"] != "computes"]
        return (Said("healthy").missing_in(said) + [f"ranks {brief} have just begun"] * bool(brief) +
                [f"ranks {idle} do not compute"] * bool(idle))  # fmt: skip

    with Job(programs, "compute", ranks) as job:
        job.expect(missing_in, times=2)


def exchange_many_tags(programs, ranks):
    """A job that is well, though no rank can count all kinds of its messages."""
    with Job(programs, "exchange_many_tags", ranks) as job:
        job.expect(makes_progress(ranks).missing_in, times=5)


def stop(programs, ranks):
    """A rank of a job that is healthy is stopped, goes on, and dies."""
    others = [rank for rank in range(ranks) if rank != 2]
    with Job(programs, "exchange", ranks, options=SURVIVORS) as job:
        pid = job.pid_of(job.expect(makes_progress(ranks).missing_in, times=2), 2)
        os.kill(pid, signal.SIGSTOP)
        job.expect(Said("hangs", "stopped", [2], others).missing_in)
        os.kill(pid, signal.SIGCONT)
        job.expect(makes_progress(ranks).missing_in)
        os.kill(pid, signal.SIGKILL)
        job.expect(Said("hangs", "dead", [2], others).missing_in)


def stop_head(programs, ranks):
    """A head that is a process of its own is stopped: the ranks wait for it in snapshot(), and go on after it."""
    def is_laid_on_the_head(said):
        heads = [finding["heads"] for finding in said["findings"]]
        return Said("hangs", "stopped", [], range(ranks), {None: {"reason": "head_halted", "heads": [0]}}).missing_in(
            said) + [f"heads: {heads}"] * (heads != [[0]])  # fmt: skip

    with Job(programs, "snapshots", ranks, heads=1) as job:
        pid = job.expect(makes_progress(ranks).missing_in)["heads"][0]["process"]
        if not job.is_rank(pid):
            raise AssertionError(f"{job.name}: process {pid} is not the head's\n{job.text()}")
        os.kill(pid, signal.SIGSTOP)
        job.expect(is_laid_on_the_head)
        os.kill(pid, signal.SIGCONT)
        job.expect(makes_progress(ranks).missing_in)


def die(programs, ranks):
    """A rank dies, and the others are not ended."""
    last = ranks - 1
    with Job(programs, "loop", ranks, options=SURVIVORS) as job:
        pid = job.pid_of(job.expect(expectations(ranks)["loop"].missing_in), last)
        os.kill(pid, signal.SIGKILL)
        not_sent = {None: {"reason": "message_not_sent"}}
        job.expect(Said("hangs", "dead", [last], range(last), not_sent).missing_in)


def end(programs, ranks):
    """mpirun ends a job of which a rank dies, and what it did is still to be read."""
    with Job(programs, "missed_message", ranks) as job:
        said = expectations(ranks)["missed_message"]
        pid = job.pid_of(job.expect(said.missing_in), ranks - 1)
        os.kill(pid, signal.SIGKILL)
        said.verdict = "over"
        job.expect(said.missing_in)


def main():
    programs, ranks, only = sys.argv[1:4], int(sys.argv[4]), sys.argv[5:]
    kinds = expectations(ranks)
    plays = {play.__name__: play for play in [compute, exchange_many_tags, stop, stop_head, die, end]}
    if unknown := set(only) - set(kinds) - set(plays):
        sys.exit(f"hang: no kind {', '.join(sorted(unknown))}; there are {', '.join([*kinds, *plays])}")
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    start = time.monotonic()
    for kind in only or [*kinds, *plays]:
        if ranks != 4 and kind in FEW_RANKS_ONLY:
            continue
        if kind in plays:
            plays[kind](programs, ranks)
            continue
        hang(programs, kind, ranks)
        if ranks == 4 and kind in WITH_HEAD:
            hang(programs, kind, ranks, heads=1)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
