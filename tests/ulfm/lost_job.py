"""A job whose processes are killed before chosen calls (killer.cpp), and what it shows of its recoveries: for lost.py,
lost_trouble.py and ../hosts/lost_rank_hosts.py.

Each process leaves a list of its calls, so a test sees without the log whether a process has rolled back: it has made
its first call, often restore(), once more.
"""

import os
import re
from collections import Counter
from pathlib import Path

import job as jobs

STEPS = 12
L1 = "every 3"
END_S = int(os.environ.get("LOST_LIMIT_S", "60"))  # every job ends within that time, if the machine is not busy

# What the log says, by all that tests know of its words.
ONLY_THE_LOST = re.compile(r"only ranks? [\d, ]+ rolls? back")
ONLY_A_HEAD = re.compile(r"no rank rolls back")
EVERYONE = re.compile(r"all ranks roll back")
NOT_RESTORED = re.compile(r"has not left restore\(\)")
CAUGHT_UP = re.compile(r"rank (\d+) has caught up")
FILLS = re.compile(r"a message log is nearly full")

TOLD = "a failure makes"  # begins what is told before one
NOT_PLAYED = "not played, since mpirun crashes"
CRASH = "Caught signal"  # of a process inside Open MPI
RESTORE = "cairn_restore"
SNAPSHOT = "cairn_snapshot"


def read_if_there(path):
    return path.read_bytes() if path.exists() else None


class Program:
    """What is run, and what counts as its result."""

    def __init__(self, command, arguments=None, result=lambda job: read_if_there(job.plate)):
        self.command = command
        self.arguments = arguments  # of the configuration's path; None: those of job.py
        self.result = result


def last_words(name, job):
    """The program prints its result, and once more after a failure."""
    begin = f"{name}: after "
    found = [line.partition(begin)[2] for line in job.lines if begin in line]
    return found[-1].partition(";")[0].encode() if found else None


def solution(job):
    """Of gradient, with the norm that it prints."""
    found = read_if_there(job.plate), last_words("gradient", job)
    return None if None in found else found


def programs(binaries, rollback):
    """By name. An application that polls has to ask for failures where all ranks roll back; where only the lost do, one
    that has learned of a failure makes all roll back."""
    names = ["gradient", "heat", "swing", "wave"]
    names += ["lost_steps", "lost_collectives", "lost_communicators", "lost_particles", "lost_neighbours",
              "lost_master"]
    paths = (str(Path(binaries) / name) for name in names)
    gradient, heat, swing, wave, steps, collectives, communicators, particles, neighbours, master = paths
    return {
        "gradient": Program([gradient, *jobs.SIZE], result=solution),
        "heat": Program([heat, *jobs.SIZE]),
        "swing": Program([swing]),
        "wave": Program([wave], lambda config: [config, str(STEPS)], lambda job: last_words("wave", job)),
        "steps": Program([steps, "polls" if rollback == "lost" else "careful"]),
        "patient": Program([steps, "patient" if rollback == "lost" else "careful"]),
        "short": Program([collectives, "short"]),
        "long": Program([collectives, "long"]),
        "derived": Program([collectives, "derived"]),
        "communicators": Program([communicators, "all"]),
        "particles": Program([particles, "named"]),
        "any": Program([particles, "any"]),
        "master": Program([master, "polls"]),
        "barrier": Program([master, "barrier"]),
        "neighbours": Program([neighbours, "all"]),
    }


class LostJob(jobs.Job):
    """Of four application ranks and a head. `strikes`: kill(rank, call) and the like. `rollback`: lost, or all to see
    what the tests make of that. `launcher`: makes the command that starts it of the options that mpirun needs; None:
    mpirun."""

    def __init__(self, program, directory, killer, strikes=(), rollback="lost", mode="spares", ranks=5, spares=2,
                 more="", launcher=None, **settings):  # fmt: skip
        directory = Path(directory)
        calls = directory / "calls"
        calls.mkdir(parents=True)
        self.program, self.calls = program, calls
        values = {"LD_PRELOAD": killer, "CAIRN_CALLS": calls, "CAIRN_STRIKES": ",".join(strikes)}
        options = [word for name, value in values.items() for word in ["-x", f"{name}={value}"]]
        arguments = program.arguments and program.arguments(str(directory / "heat.ini"))
        extra = f"rollback = {rollback}\n{more}" if rollback == "lost" else more
        super().__init__(None, directory, mode, ranks, spares, program=program.command, arguments=arguments, more=extra,
                         launcher=launcher and launcher(options), options=() if launcher else options,
                         **{"steps": STEPS, "l1": L1, **settings})  # fmt: skip

    def lives(self):
        """Calls by rank and life."""
        files = self.calls.glob("calls.*")
        return {tuple(map(int, path.name.split(".")[1:])): path.read_text().split() for path in files}

    def wait_for_hold(self, rank, life=0):
        self.wait_for(f"rank {rank} to be held", (self.calls / f"held.{rank}.{life}").exists)

    def let_go(self, rank, life=0):
        (self.calls / f"go.{rank}.{life}").touch()

    def process_of(self, rank):
        return self.find(f"rank {rank}")

    def end(self, expected=None):
        """Waits for its end; its result must be the expected one. Returns what its recoveries were."""
        self.finish(END_S, patience_s=END_S if self.supervised else 2)
        result = self.program.result(self)
        if result is None or (expected is not None and result != expected):
            raise jobs.Failed(f"the result {'is missing' if result is None else 'differs'}")
        return Recoveries(self)

    def report(self):
        """All that is known of one that has failed."""
        stacks = "\n".join(line[:160] for line in self.stacks().splitlines())
        return f"mpirun: {self.process.poll()}\n{self.output()}\n{stacks}\n{last_calls(self.lives())}"


class Recoveries:
    """How often only the lost rolled back, and how often all ranks: by the log, and by what processes have called."""

    def __init__(self, job):
        self.lives = job.lives()
        self.output = job.output()
        texts = [line.partition(" ")[2] for line in job.lines]
        self.local = sum(bool(ONLY_THE_LOST.search(line)) for line in texts)
        self.of_heads = sum(bool(ONLY_A_HEAD.search(line)) for line in texts)
        self.everyone = [line for line in texts if EVERYONE.search(line) and TOLD not in line]
        self.caught_up = [int(found[1]) for line in texts if (found := CAUGHT_UP.search(line))]
        # A survivor may crash inside MPI; it is one more that is lost.
        self.crashes = sum(CRASH in line for line in texts)
        self.crash_lines = [line for line in texts if CRASH in line or ".so" in line]
        self.replaced = sum(life > 0 for _, life in self.lives)
        # Of the rank that has rolled back most often. One that had not restored shows nothing of that in its calls.
        self.rolled_back = max((calls.count(RESTORE) - 1 for calls in self.lives.values()), default=0)
        if self.rolled_back == 0 and any(NOT_RESTORED.search(line) for line in self.everyone):
            self.rolled_back = 1

    def kind(self):
        if self.rolled_back > 0:
            return "global and local" if self.local else "global"
        if self.replaced > 0:
            return "local"
        if self.of_heads > 0:
            return "of a head"
        return "none"

    def expect_agreement(self, job):
        """The log says what has happened."""
        if self.local and not self.replaced:
            raise jobs.Failed("only the lost roll back, it says, but no process was replaced")
        if self.kind() == "local" and not self.local:
            raise jobs.Failed("only the lost rolled back, and it does not say so")
        if self.kind() == "global" and not self.everyone:
            raise jobs.Failed("all ranks rolled back, and it does not say so")
        if self.kind() == "local" and self.everyone:
            raise jobs.Failed("all ranks roll back, it says, but no process has")


def last_calls(lives):
    return "".join(f"rank {rank}, life {life}, {len(calls)} calls: ... {' '.join(calls[-30:])}\n"
                   for (rank, life), calls in sorted(lives.items()))  # fmt: skip


class Count:
    """Kills and recoveries of many jobs."""

    def __init__(self):
        self.jobs = Counter()
        self.places = []  # of a sweep: the numbers of the calls that a rank was killed before

    def add(self, recoveries):
        self.jobs[recoveries.kind()] += 1
        self.jobs["crashes in MPI"] += recoveries.crashes

    def __str__(self):
        kinds = ["local", "of a head", "global", "global and local", "none", "crashes in MPI", NOT_PLAYED]
        places = [f"before {'call' if len(self.places) == 1 else 'calls'} {' '.join(map(str, self.places))}"] * bool(self.places)
        return ", ".join([f"{kind}: {self.jobs[kind]}" for kind in kinds if self.jobs[kind]] + places)


def kill(rank, call, life=0):
    return f"kill:{rank}.{life}@{call}"


def hold(rank, call, life=0):
    return f"hold:{rank}.{life}@{call}"


def makes_a_communicator(call):
    return call.startswith(("MPI_Comm_", "MPI_Cart_", "MPI_Graph_", "MPI_Dist_graph_"))


def without_communicators(calls):
    return [call for call in calls if not makes_a_communicator(call)]


def without_finalize(lives):
    return {life: [call for call in calls if call != "MPI_Finalize"] for life, calls in lives.items()}


def expect_same_calls(recoveries, undisturbed):
    """Of a job in which only the lost rolled back: survivors have made the calls of an undisturbed run, and no others;
    a replacement those up to restore(), and those from a snapshot on, and it has made its communicators again. But for
    MPI_Finalize: ckpt-run may end the job before all have come to it."""
    undisturbed = without_finalize(undisturbed)
    last = {}
    for rank, life in recoveries.lives:
        last[rank] = max(life, last.get(rank, 0))
    for (rank, life), calls in without_finalize(recoveries.lives).items():
        whole = undisturbed[rank, 0]
        expected = whole if life == last[rank] else whole[: len(calls)]
        if life > 0:
            first = whole.index(RESTORE) + 1
            after = without_communicators(calls[first:])
            rest = without_communicators(whole)
            is_suffix = life < last[rank] or rest[len(rest) - len(after) :] == after
            if calls[:first] != whole[: min(first, len(calls))] or not is_suffix:
                raise jobs.Failed(f"rank {rank}, life {life}: these are not its first and last calls: {calls}")
        elif calls != expected:
            raise jobs.Failed(f"rank {rank}, a survivor, has made other calls: {calls}, not {expected}")


def expect_steps(job, recoveries):
    """Of lost_steps: no survivor's steps go back, and all processes that took a step computed the same."""
    sums = {}
    for path in job.directory.glob("steps.*"):
        rank = int(path.name.split(".")[1])
        lines = [line.split() for line in path.read_text().splitlines()]
        steps = [int(step) for step, _, _ in lines]
        if recoveries.rolled_back == 0 and any(b != a + 1 for a, b in zip(steps, steps[1:])):
            raise jobs.Failed(f"{path.name}: steps go back: {steps}")
        catching = [int(flag) for _, _, flag in lines]
        if recoveries.rolled_back == 0 and catching != sorted(catching, reverse=True):
            raise jobs.Failed(f"{path.name}: catches up again after it has caught up: {catching}")
        for step, value, _ in lines:
            if sums.setdefault((rank, step), value) != value:
                raise jobs.Failed(f"rank {rank}, step {step}: computed again it is another one")
