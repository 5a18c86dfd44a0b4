#!/usr/bin/env python3
"""ckpt-tool hang says why jobs hang that really do, with few ranks and with many, and calls others healthy.

    hang.py PROGRAM CKPT_TOOL MPIEXEC [KIND ...]

Each job hangs in one way. The tool is asked again and again until it says what it should; nothing here depends on how
fast the machine is. KIND: only these.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from processes import descendants, environment_of, is_alive, program_of, send  # noqa: E402

LIMIT_S = 60  # until it is said; much more than it takes, also on a busy machine
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
[log]
level = error
"""


class Said:
    """What the tool should say of a job."""

    def __init__(self, verdict, culprits=None, waiting=(), words=(), summary="", notes=()):
        self.verdict = verdict
        self.culprits = culprits  # ranks of the first culprit; None: there is none
        self.waiting = list(waiting)  # ranks that wait for it
        self.words = words  # patterns for what is said of it, each for one sentence
        self.summary = summary
        self.notes = notes  # patterns, each for one note

    def missing_in(self, said):
        """What is not as it should be; empty: all is."""
        wrong = []
        if said["verdict"] != self.verdict:
            wrong.append(f"the verdict is not {self.verdict}")
        if not re.search(self.summary, said["summary"]):
            wrong.append(f"the summary is not /{self.summary}/")
        first = said["culprits"][0] if said["culprits"] else {"ranks": None, "waiting": [], "what": "", "reasons": []}
        if first["ranks"] != self.culprits:
            wrong.append(f"the culprits are not {self.culprits}")
        if first["waiting"] != self.waiting:
            wrong.append(f"those that wait are not {self.waiting}")
        if len(said["culprits"]) > 1:
            wrong.append("there is more than one culprit")
        text = "\n".join([first["what"], *first["reasons"]])
        wrong += [f"not said: /{words}/" for words in self.words if not re.search(words, text, re.MULTILINE)]
        notes = "\n".join(said["notes"])
        return wrong + [f"not noted: /{words}/" for words in self.notes if not re.search(words, notes, re.MULTILINE)]


def expectations(ranks):
    """By kind of hang.cpp."""
    last = ranks - 1
    all_ranks = list(range(ranks))
    others = all_ranks[:-1]
    all_but_2 = [rank for rank in all_ranks if rank != 2]
    first = " -> ".join(str(rank) for rank in all_ranks[:8])
    return {
        "missed_message": Said("hangs", [1, 2], all_ranks, [
            r"circle: 1 -> 2 -> 1$",
            r"rank 1 is in MPI_Recv from rank 2 \(tag 7, 4 bytes, .*rank 2 has not sent a message with tag 7$",
            r"rank 2 is in MPI_Allreduce .*rank 1 has not begun MPI_Allreduce, the 1st collective"]),
        "swapped_tags": Said("hangs", [0, 1], all_ranks, [
            r"rank 1 sends with tag 8 instead of tag 7$",
            r"rank 0 receives with tag 7 instead of tag 8$"]),
        "left_out_collective": Said("hangs", [0, last], all_ranks, [
            rf"rank {last} has not begun MPI_Allreduce, the 2nd collective",
            r"begun MPI_Barrier, the 1st collective"]),
        "other_root": Said("hangs", [last], others, [
            rf"^rank {last} has entered the 1st collective on communicator \w+ as MPI_Reduce with root {last} "
            r"instead of MPI_Reduce with root 0$"]),
        "circle_of_sends": Said("hangs", all_ranks, all_ranks, [
            rf"circle: {first} -> ",
            r"rank 0 is in MPI_Ssend to rank 1 .*rank 1 does not receive the message with tag 5$"]),
        "loop": Said("suspect", [last], others, [
            rf"^rank {last} \(process \d+ on \S+\) computes .*, and has not sent a message with tag 7$"]),
        "stolen_message": Said("hangs", [0, 2], all_ranks, [
            r"rank 2 has sent such a message: an earlier receive of rank 0 from any source may have taken it$"]),
        "wrong_request": Said("hangs", [0, 2], all_ranks, [
            r"rank 0 is in MPI_Wait for MPI_Irecv from rank 2 \(tag 2, .*rank 2 has not sent a message with tag 2$"]),
        "late_call": Said("suspect", [2], all_but_2, [
            r"^rank 2 \(process \d+ on \S+\) computes .*, the last call was MPI_Sendrecv, and has not "]),
        "late_requests": Said("suspect", [2], all_but_2, [
            r"^rank 2 \(process \d+ on \S+\) computes .*, the last call was MPI_Waitall, and has not "]),
        "late_call_many_tags": Said("suspect", [2], all_but_2, [
            r"^rank 2 \(process \d+ on \S+\) computes .*, the last call was MPI_Sendrecv, and (has|may) not "]),
        "late_requests_many_tags": Said("suspect", [2], all_but_2, [
            r"^rank 2 \(process \d+ on \S+\) computes .*, the last call was MPI_Waitall, and (has|may) not "],
            notes=[r"table of message counters .* full \(1024 entries\)"]),
        "missed_end": Said("suspect", [2], all_but_2, [
            r"^rank 2 \(process \d+ on \S+\) computes .*, and has not begun MPI_Finalize$"]),
        "early_end": Said("hangs", [0, 2], all_ranks, [
            r"^rank 0 is in MPI_Finalize; rank 2 has not begun MPI_Finalize$",
            r"^rank 2 is in MPI_Recv from rank 0 .*rank 0 has not sent a message with tag 7$"]),
        "missed_receive": Said("hangs", [0, 1], all_ranks, [
            r"rank 1 is in MPI_Ssend to rank 0 .*rank 0 does not receive the message with tag 7$"]),
        "swapped_tags_of_sent_messages": Said("hangs", [0, 1], all_ranks, [
            r"rank 1 has not sent such a message: the last one that it sent to rank 0 had tag 8$"]),
    }  # fmt: skip


# Variants of others; and die() begins with a loop.
FEW_RANKS_ONLY = {"early_end", "exchange_many_tags", "missed_end", "late_call", "late_call_many_tags",
                  "late_requests_many_tags", "loop", "missed_receive", "swapped_tags_of_sent_messages"}  # fmt: skip
WITH_HEAD = {"missed_message"}


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
        deadline = time.monotonic() + LIMIT_S
        while (left := [pid for pid in ranks if is_alive(pid)]) and time.monotonic() < deadline:
            time.sleep(0.05)
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
        return said

    def pid_of(self, said, rank):
        pid = said["ranks"][rank]["process"]
        if environment_of(pid).get("OMPI_COMM_WORLD_RANK") != str(rank) or not self.is_rank(pid):
            raise AssertionError(f"{self.name}: process {pid} is not rank {rank}\n{self.text()}")
        return pid


def has_just_made_calls(ranks):
    return Said("healthy", summary=rf"^healthy: \d+ of {ranks} ranks have just made calls to MPI$")


def hang(programs, kind, ranks, heads=0):
    with Job(programs, kind, ranks, heads) as job:
        job.expect(expectations(ranks)[kind].missing_in)


def compute(programs, ranks):
    """All ranks do, and have done so for longer than a rank may wait."""
    healthy = Said("healthy", summary="^healthy: all ranks compute outside MPI$")

    def missing_in(said):
        brief = [rank["rank"] for rank in said["ranks"] if rank.get("seconds", 0) < 1]
        idle = [rank["rank"] for rank in said["ranks"] if rank["what"] != "computing"]
        return (healthy.missing_in(said) + [f"ranks {brief} have just begun"] * bool(brief) +
                [f"ranks {idle} do not compute"] * bool(idle))  # fmt: skip

    with Job(programs, "compute", ranks) as job:
        job.expect(missing_in, times=2)


def exchange_many_tags(programs, ranks):
    """A job that is well, though no rank can count all kinds of its messages."""
    with Job(programs, "exchange_many_tags", ranks) as job:
        job.expect(has_just_made_calls(ranks).missing_in, times=5)


def stop(programs, ranks):
    """A rank of a job that is healthy is stopped, goes on, and dies."""
    others = [rank for rank in range(ranks) if rank != 2]
    with Job(programs, "exchange", ranks, options=SURVIVORS) as job:
        pid = job.pid_of(job.expect(has_just_made_calls(ranks).missing_in, times=2), 2)
        stopped = rf"^rank 2 \(process {pid} on \S+\) is stopped, by a signal or a debugger; kill -CONT {pid} lets it"
        os.kill(pid, signal.SIGSTOP)
        job.expect(Said("hangs", [2], others, [stopped]).missing_in)
        os.kill(pid, signal.SIGCONT)
        job.expect(has_just_made_calls(ranks).missing_in)
        os.kill(pid, signal.SIGKILL)
        job.expect(Said("hangs", [2], others, [rf"^rank 2 \(process {pid} on \S+\) is dead: its process "]).missing_in)


def die(programs, ranks):
    """A rank dies, and the others are not ended."""
    last = ranks - 1
    with Job(programs, "loop", ranks, options=SURVIVORS) as job:
        pid = job.pid_of(job.expect(expectations(ranks)["loop"].missing_in), last)
        os.kill(pid, signal.SIGKILL)
        dead = rf"^rank {last} \(process {pid} on \S+\) is dead: its process is gone, and has not sent a message"
        job.expect(Said("hangs", [last], range(last), [dead]).missing_in)


def end(programs, ranks):
    """mpirun ends a job of which a rank dies, and what it did is still to be read."""
    with Job(programs, "missed_message", ranks) as job:
        said = expectations(ranks)["missed_message"]
        pid = job.pid_of(job.expect(said.missing_in), ranks - 1)
        os.kill(pid, signal.SIGKILL)
        said.verdict = "over"
        job.expect(said.missing_in)


def main():
    programs, only = sys.argv[1:4], sys.argv[4:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    start = time.monotonic()
    for ranks in [4, 32]:
        for kind in expectations(ranks):
            if (only and kind not in only) or (ranks != 4 and kind in FEW_RANKS_ONLY):
                continue
            hang(programs, kind, ranks)
            if ranks == 4 and kind in WITH_HEAD:
                hang(programs, kind, ranks, heads=1)
        for play in [compute, exchange_many_tags, stop, die, end]:
            if ranks != 4 and play.__name__ in FEW_RANKS_ONLY:
                continue
            if not only or play.__name__ in only:
                play(programs, ranks)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
