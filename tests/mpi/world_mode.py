#!/usr/bin/env python3
"""In a job with heads, MPI_COMM_WORLD is the application's ([job] world = application).

    world_mode.py CKPT_RUN MPIEXEC DIRECTORY [CASE ...]

DIRECTORY has the programs: plain_world, plain_world_c, plain_world_f08 and the like, world_calls, and world_calls with another tool (world_calls_tool,
world_calls_behind) or without the tap (world_calls_unheard). Each job has four application ranks, and a head on each of
two nodes. It must leave no process.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ckpt_run import Job, fail, kill
from facts import has_thing  # noqa: E402

CONFIG = """[job]
{world}
[storage]
local = {directory}/local{part}
global = {directory}/global{part}
[levels]
l1 = every 1
l2 = every 2
l3 = off
l4 = off
[topology]
node_size = 3
[restart]
at_end = continue
"""
RANKS = 4
HEADS = [2, 5]  # of the world, by number: the last of each node
STEPS = 40
FORTRAN = ["f08", "mpi", "mpif"]  # the module mpi_f08, the module mpi, mpif.h


class WorldJob(Job):
    """A job of one of the programs, in a directory of its own."""

    def __init__(self, root, name, programs, arguments, world="world = application", more=""):
        directory, ckpt_run, *_ = programs
        super().__init__(root, name, (arguments[0], ckpt_run), command=lambda *_: self.arguments)
        self.programs = directory
        self.launcher = programs[2]
        self.config_text = lambda part="": CONFIG.format(world=world, directory=self.directory, part=part) + more
        self.config.write_text(self.config_text())
        self.arguments = [str(directory / arguments[0]), *(str(each).replace("CONFIG", str(self.config))
                                                           for each in arguments[1:])]  # fmt: skip

    def start_it(self, *options):
        return self.start("--launcher", self.launcher, "--config", str(self.config), "--grace", "1s", *options, ranks=RANKS)


def calls(root, programs, what, program="world_calls", **how):
    return WorldJob(root, f"{program}-{what}", programs, [program, what, "CONFIG", RANKS], **how)


def says_of_all(job, text, count):
    if (found := job.output.count(text)) != count:  # MPICH may put two of them on one line
        fail(f"{job.directory.name}: {found} processes say \"{text}\", should be {count}", job.output)


def all_is_as_without_heads(root, programs, what, named=(), **how):
    """A life in which all application ranks, and no others, come to the end of main()."""
    job = calls(root, programs, what, **how)
    if what == "part":
        for part in ("0", "1"):
            Path(f"{job.config}{part}").write_text(job.config_text(part).replace("node_size = 3", "node_size = 1"))
    job.start_it().end(0, *named)
    says_of_all(job, "all as it should be", RANKS + (what == "children"))
    return job


def asks_for_finalize(root, programs):
    """A program that does not finalize its session is started once more, in case its launcher was wrong."""
    job = calls(root, programs, "unfinished")
    output = job.start_it().end(1, "restart 1")
    says_of_all(job, "all as it should be", 2 * RANKS)
    lines = [line for line in output.splitlines() if line.startswith("ckpt-run: ") and has_thing(line, "finalize()")]
    if len(lines) != 2:
        fail("each life should be told of with the reason", output)


def ends_alike(root, programs, program):
    """Killed ranks and heads change nothing; nor do heads: the reference has none."""
    job = WorldJob(root, program, programs, [program, "CONFIG", root / f"{program}.out", STEPS, 20])
    reference = WorldJob(root, f"{program}-alone", programs,
                         [program, "CONFIG", root / f"{program}.reference", STEPS, 0], world="world = as is")  # fmt: skip
    reference.config.write_text(reference.config_text().replace("node_size = 3", "node_size = 2"))
    subprocess.run([programs[2], "-n", str(RANKS), *reference.arguments],
                   check=True, timeout=100, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    job.start_it()
    seen = job.wait_for(r"step 10 of")
    kill([job.ranks()[1]])
    seen = job.wait_for(r"step 20 of", seen)
    kill([job.ranks()[HEADS[1]]])
    job.end(0, "restart 2")
    if "4 ranks begin at step 0" not in job.output or not re.search(r"4 ranks begin at step [1-9]", job.output):
        fail(f"{program}: should begin at 0, and go on from a snapshot", job.output)
    if (root / f"{program}.out").read_bytes() != (root / f"{program}.reference").read_bytes():
        fail(f"{program}: the result differs from that of a run without heads and failures", job.output)


def opens_in_processes_of_a_rank(root, programs, what):
    """They have the environment of the job, but are none of the processes that ckpt-run has started."""
    for mode in ("rank", "inline"):
        job = WorldJob(root, f"{what}-{mode}", programs, ["world_calls", what, "CONFIG", RANKS, programs[2]],
                       world="world = auto", more=f"[head]\nmode = {mode}\n")  # fmt: skip
        child = job.config_text("-child").replace("[job]\n", "[job]\nname = child\n").replace("l2 = every 2", "l2 = off")
        Path(f"{job.config}.child").write_text(child.replace("node_size = 3\n", "").replace(f"[head]\nmode = {mode}\n", ""))
        job.start_it().end(0)
        says_of_all(job, "all as it should be", RANKS + 2)


def leaves_no_head_behind(root, programs):
    """ckpt-run does not start again what opens no session, and hands on that it has done well."""
    for name, program in (("help", "plain_world"), ("help-c", "plain_world_c")):
        job = WorldJob(root, name, programs, [program, "--help"]).start_it()
        job.end(0)
        if job.output.count("CONFIG OUTPUT STEPS PAUSE_MS") != RANKS:
            fail("each application rank should come to main, and no head", job.output)


def refuses_another_file(root, programs):
    """What the program reads contradicts what ckpt-run has read."""
    for name, old, new, named in (
        ("size", "node_size = 3", "node_size = 2,4", ["node_size = 2,4", "node_size = 3"]),
        ("no-size", "node_size = 3", "", ["node_size", "node_size = 3"]),
        ("head", "l1 = every 1", "l1 = every 1\n[head]\nmode = thread\n[levels]", ["mode = thread", "mode = rank"]),
        ("mode", "l1 = every 1", "l1 = every 1\n[recovery]\nmode = respawn\n[levels]", ["mode = respawn", "mode = restart"]),
        ("world", "l1 = every 1", "l1 = every 1\n[job]\nworld = as is\n[levels]", ["world = as is", "world = application"]),
    ):
        job = WorldJob(root, f"other-{name}", programs, ["world_calls", "session", "CONFIG.other", RANKS])
        other = job.config_text().replace("world = application", "name = other").replace(old, new)
        Path(f"{job.config}.other").write_text(other)
        job.start_it().end(1, *named)


def refuses_what_it_cannot_be(root, programs):
    job = calls(root, programs, "session", program="world_calls_unheard", world="world = application")
    job.start_it().end(1, "world = application", "cairn-tap")
    job = calls(root, programs, "helpers", more="[recovery]\nmode = spares\nspares = 2\nrollback = lost\n[replay]\nhelpers = 2\n")
    job.start_it().end(2, "[job] world = application", "[replay] helpers = 2")
    job = calls(root, programs, "session")
    run = subprocess.run([programs[2], "--oversubscribe", "-n", str(RANKS), *job.arguments], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=100)  # fmt: skip
    if run.returncode == 0 or "world = application" not in run.stdout or "ckpt-run" not in run.stdout:
        fail("plain mpirun should be refused", run.stdout)


def is_the_default(root, programs):
    """Of jobs with heads that can have it; the others have MPI_COMM_WORLD as it is."""
    all_is_as_without_heads(root, programs, "session", world="world = auto")
    for name, program, world in (("unheard", "world_calls_unheard", "world = auto"), ("not", "world_calls", "world = as is")):
        job = WorldJob(root, name, programs, [program, "as_is", "CONFIG", RANKS + len(HEADS)], world=world)
        job.start_it().end(0)
        says_of_all(job, "all as it should be", RANKS + len(HEADS))


def ends_with_its_job(root, programs):
    """A rank dies, or aborts, while heads wait for the next session, or serve one."""
    calls(root, programs, "death").start_it().end(137)
    calls(root, programs, "abort").start_it("--max-restarts", "0").end(1)
    job = calls(root, programs, "pause").start_it()
    job.wait_for("pauses")
    kill([job.ranks()[HEADS[0]]])
    job.end(0, "restart 1")


def processor_ticks(pid):
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def sleeps_while_it_waits(root, programs):
    """It takes little of the processor time that a process gets beside it that wants all it can have."""
    job = calls(root, programs, "pause").start_it()
    job.wait_for("pauses")
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        pids = [busy.pid, *(job.ranks()[head] for head in HEADS)]
        before = [processor_ticks(pid) for pid in pids]
        time.sleep(2)
        wanted_all, *waited = (processor_ticks(pid) - ticks for pid, ticks in zip(pids, before))
        busy.kill()
    print(f"processor time of heads that wait: {waited} ticks; beside them a busy process took {wanted_all}")
    if max(waited) * 10 > wanted_all:
        fail("heads that wait should sleep", job.output)
    job.end(0)


def tells_other_tools(root, programs):
    """They sum up what ranks have, and apart from that what heads have."""
    os.environ["OTHER_TOOL_TELLS"] = "1"
    for program in ("world_calls_tool", "world_calls_behind"):
        for what in ("nothing", "duplicate"):
            job = all_is_as_without_heads(root, programs, what, program=program)
            says_of_all(job, f"other_tool: the end of {RANKS}", 1)
            says_of_all(job, f"other_tool: the end of {len(HEADS)}", 1)
    del os.environ["OTHER_TOOL_TELLS"]


def calls_in_fortran(root, programs, program):
    """What Fortran programs get by other ways than the calls of C: attributes, error handlers, groups."""
    job = WorldJob(root, f"{program}-calls", programs, [program, "calls", RANKS])
    job.start_it().end(0)
    says_of_all(job, "all as it should be", RANKS)
    says_of_all(job, f"attribute 41 ends among {RANKS}", RANKS)


CASES = {
    **{what: lambda root, programs, what=what: all_is_as_without_heads(root, programs, what) for what in (
        "nothing", "handlers", "operations", "arguments", "elsewhere", "part", "twice", "two_at_once", "error", "children")},  # fmt: skip
    "unfinished": asks_for_finalize,
    "attributes": lambda root, programs: says_of_all(all_is_as_without_heads(root, programs, "attributes"),
                                                     f"an attribute ends among {RANKS}", RANKS),  # fmt: skip
    "duplicate": lambda root, programs: all_is_as_without_heads(root, programs, "duplicate", ["2 heads"]),
    "tap_off": lambda root, programs: all_is_as_without_heads(root, programs, "session", world="world = application\ntap = off"),
    "same_result": lambda root, programs: ends_alike(root, programs, "plain_world"),
    "same_result_c": lambda root, programs: ends_alike(root, programs, "plain_world_c"),
    **{f"same_result_{way}": lambda root, programs, way=way: ends_alike(root, programs, f"plain_world_{way}")
       for way in FORTRAN},
    **{f"calls_{way}": lambda root, programs, way=way: calls_in_fortran(root, programs, f"plain_world_{way}")
       for way in FORTRAN},
    "default": is_the_default,
    **{what: lambda root, programs, what=what: opens_in_processes_of_a_rank(root, programs, what)
       for what in ("child_session", "another_job")},
    "help": leaves_no_head_behind,
    "other_file": refuses_another_file,
    "impossible": refuses_what_it_cannot_be,
    "end": ends_with_its_job,
    "sleep": sleeps_while_it_waits,
    "tools": tells_other_tools,
}


def main():
    ckpt_run, mpiexec, directory, *names = sys.argv[1:]
    programs = (Path(directory), ckpt_run, mpiexec)
    # As variables, which another MPI than Open MPI ignores.
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
                      OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")  # fmt: skip
    for name in names or [case for case in CASES if case.rpartition("_")[2] not in FORTRAN]:
        with tempfile.TemporaryDirectory(prefix="cairn-world-") as root:
            CASES[name](Path(root), programs)
        print(f"{name}: as it should be", flush=True)


if __name__ == "__main__":
    main()
