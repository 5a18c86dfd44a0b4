#!/usr/bin/env python3
"""The Python package over real ranks: heat is killed and comes back with the same bits, also from snapshots of a C++
program, and wrong uses are told in words.

    python.py BUILD SOURCE MPIEXEC PYTHON [kills N]

With `kills`, so many processes are killed, and nothing else is played.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

build, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
mpiexec, python = sys.argv[3:5]
kills = int(sys.argv[6]) if sys.argv[5:6] == ["kills"] else 0
STEPS = 300
CONFIG = """[job]
name = python
[storage]
local = {work}/local
global = {work}/global
[levels]
l1 = every 7
l2 = every 14
l3 = off
l4 = off
[topology]
node_size = {node_size}
[head]
mode = {mode}
[restart]
at_end = {at_end}
elastic = {elastic}
"""


class Place:
    """A directory with a configuration."""

    def __init__(self, mode="rank", node_size=3, at_end="finished"):
        self.directory = tempfile.TemporaryDirectory(prefix="cairn-python-")
        self.work = Path(self.directory.name)
        self.config = self.work / "job.ini"
        self.plate = self.work / "plate.bin"
        self.configure(mode, node_size, at_end)

    def configure(self, mode, node_size, at_end="finished", elastic="off"):
        self.config.write_text(CONFIG.format(work=self.work, mode=mode, node_size=node_size, at_end=at_end, elastic=elastic))

    def run(self, *command, fails=False, env=()):
        environment = dict(os.environ, PYTHONPATH=str(source / "lib" / "bind" / "python"), PYTHONDONTWRITEBYTECODE="1",
                           CAIRN_LIBRARY=str(build / "lib" / "libcairn.so"),
                           CAIRN_CKPT_TOOL=str(build / "bin" / "ckpt-tool"), **dict(env))  # fmt: skip
        ended = subprocess.run(["timeout", "-s", "KILL", "120", *map(str, command)], cwd=self.work, env=environment,
                               text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        if (ended.returncode != 0) != fails or ended.returncode == 137:
            raise AssertionError(f"{command}: exit code {ended.returncode}\n{ended.stdout}")
        return ended.stdout

    def mpirun(self, ranks, *command, **how):
        return self.run(mpiexec, "--oversubscribe", "--bind-to", "none", "-n", ranks, *command, **how)

    def ckpt_run(self, ranks, *command, options=(), **how):
        return self.run(build / "bin" / "ckpt-run", "-n", ranks, *options, "--config", self.config, "--", *command, **how)


HEAT = source / "examples" / "python" / "heat.py"
# Runs heat.py, of which a process dies before the call of snapshot() that the directory's file names, once: a rank, or the
# first head. Its node may be lost with it: its store, which is the last part of a path that is removed. The first snapshots
# are waited for, so that there is one, at L2 from call 14 on; a later one may be under way.
KILLED = """
import os, runpy, shutil, signal, sys
import cairn
step_of_death, rank_of_death, lost, heat, *rest = sys.argv[1:]
snapshot = cairn.Session.snapshot
calls = 0
def parent_of(pid):
    return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
def heads(ranks):
    here = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sorted(pid for pid in here if pid not in ranks and parent_of(pid) == os.getppid())
def counted(self, level=None):
    global calls
    calls += 1
    if calls == int(step_of_death) and not os.path.exists("died"):
        ranks = self.comm.allgather(os.getpid())
        victim = heads(ranks)[0] if rank_of_death == "head" else ranks[int(rank_of_death)]
        if self.comm.Get_rank() == 0:
            open("died", "w").close()
            shutil.rmtree(lost, ignore_errors=True)
            os.kill(victim, signal.SIGKILL)
        self.comm.Barrier()
    version = snapshot(self, level)
    if version and calls <= 14:
        self.wait(1)
        self.wait(2)
    return version
cairn.Session.snapshot = counted
sys.argv = [heat, *rest]
runpy.run_path(heat, run_name="__main__")
"""


def reference():
    place = Place(mode="inline", node_size=1)
    place.mpirun(4, build / "bin" / "python_heat", place.config, STEPS, place.plate)
    return place.plate.read_bytes()


def expect(expected, place, output, what):
    if not place.plate.exists() or place.plate.read_bytes() != expected:
        raise AssertionError(f"{what}: the plate is missing or differs from that of C++\n{output}")
    print(f"{what}: the same plate as in C++", flush=True)


def undisturbed(expected):
    for mode, ranks, node_size in [("inline", 4, 2), ("thread", 4, 2), ("rank", 6, 3)]:
        place = Place(mode, node_size)
        expect(expected, place, place.mpirun(ranks, python, HEAT, place.config, STEPS, place.plate), f"mpirun, {mode}")


def killed(expected, count):
    """In each mode, ranks and heads, some with their node. A lost node has reached L2 before."""
    for number in range(count):
        mode = ["rank", "inline", "thread"][number % 3]
        place = Place(mode, node_size=3 if mode == "rank" else 2)
        (place.work / "killed.py").write_text(KILLED)
        loses_node = number % 2 == 1
        lost = place.work / "local" / f"node000{random.randrange(2)}" if loses_node else "none"
        step = random.randrange(100 if loses_node else 8, STEPS)
        victim = random.choice([0, 1, 2, 3, *(["head"] * 2 if mode == "rank" else [])])
        output = place.ckpt_run(4, python, "killed.py", step, victim, lost, HEAT, place.config, STEPS, place.plate)
        what = f"ckpt-run, {mode}, {victim} killed at step {step}" + (f", {lost.name} lost" if loses_node else "")
        if not re.search(r"continues at step [1-9]", output):
            raise AssertionError(f"{what}: it did not continue\n{output}")
        if loses_node and "2 ranks from L2" not in output:
            raise AssertionError(f"{what}: its ranks do not come from L2\n{output}")
        if "MPI calls are not intercepted" in output:
            raise AssertionError(f"{what}: the tap was not preloaded\n{output}")
        if mode == "rank" and "MPI_COMM_WORLD has the application ranks only" not in output:
            raise AssertionError(f"{what}: heads are in MPI_COMM_WORLD\n{output}")
        expect(expected, place, output, what)


def on_other_ranks(expected):
    """Each life but the last is killed, and the next has another number of ranks on each of the two nodes."""
    script, place, begun = "killed.py", Place(), 0
    (place.work / script).write_text(KILLED)
    lives = [2, 3, 1, 2]
    for life, per_node in enumerate(lives):
        place.configure("rank", per_node + 1, elastic="on")
        (place.work / "died").unlink(missing_ok=True)
        ranks, dies = 2 * per_node, life + 1 < len(lives)
        step, rank = random.randrange(15, STEPS // len(lives)) if dies else 0, random.randrange(ranks)
        output = place.ckpt_run(ranks, python, script, step, rank, "none", HEAT, place.config, STEPS, place.plate, fails=dies,
                                options=["--max-restarts", 0])  # fmt: skip
        continued = re.search(r"continues at step (\d+)", output)
        if bool(continued) != (life > 0) or (continued and int(continued[1]) <= begun):
            raise AssertionError(f"life {life}, rank {rank} of {ranks} killed at step {step}: it did not continue\n{output}")
        begun = int(continued[1]) if continued else 0
    expect(expected, place, output, "after lives on other numbers of ranks")


def from_cpp(expected):
    place = Place(mode="inline", node_size=1, at_end="continue")
    place.mpirun(4, build / "bin" / "python_heat", place.config, STEPS, place.plate, STEPS // 2, fails=True)
    output = place.mpirun(4, python, HEAT, place.config, STEPS, place.plate)
    if f"continues at step {STEPS // 2}" not in output:
        raise AssertionError(f"it did not continue from the snapshot of C++\n{output}")
    expect(expected, place, output, "from a snapshot of C++")


def without_a_node(expected):
    place = Place(mode="inline", node_size=2, at_end="continue")
    place.mpirun(4, python, HEAT, place.config, STEPS // 2, place.plate)
    shutil.rmtree(place.work / "local" / "node0001")
    output = place.mpirun(4, python, HEAT, place.config, STEPS, place.plate)
    if not re.search(r"continues at step [1-9]", output) or "node 1 is lost" not in output:
        raise AssertionError(f"it did not continue without the node\n{output}")
    expect(expected, place, output, "after a node was lost")


def wrong_uses():
    wrong = Path(__file__).with_name("python_wrong.py")
    place = Place(mode="inline", node_size=1)

    def case(name, *told, ranks=2, fails=False):
        output = place.mpirun(ranks, python, wrong, name, place.config, fails=fails)
        missing = [words for words in told if words not in output]
        if missing or "nothing was told" in output:
            raise AssertionError(f"{name}: it does not say {missing}\n{output}")
        print(f"{name} is told", flush=True)
        return output

    case("arrays", '"a strided part" is not contiguous', "tuple cannot be given other contents", "int cannot", "function cannot", '"objects" holds references', '"read-only" is read-only',
         '"foreign" has the byte order', '"placed" has 2 dimensions', '"complex": only integers and reals', "'/'",
         "cannot resize", '"nobody"', "level 7", "the session has ended", '"masked" has a mask')  # fmt: skip
    case("arguments", "a region is a str, not 5", "not b'u'", "a region is a str, not array(", "'u\\x00v'", '"u": 4 is no place', '"u": (8, 0) is no place',
         "((8,),) is no place", "an offset in its place is -1", "a length in its place is a whole number, not 8.5", "its place none, none",
         "its place 1, 1, 2, none", "'same' is no kind", "rank is -1", "count is 18446744073709551616", 'file "log" is a path, not 5',
         "level is a whole number, not '1'", "level is 4294967297", "version is -1", "label is a str, not 5", "a number or a str, not None",
         "can be neither pickled nor copied", "cairn.run calls a function", "config is a path, not None", "number of a type of numpy, not 'text'",
         "holds int64, which cannot be 1.5", "no attribute 'vlaue'")  # fmt: skip
    output = case("lost-arrays", 'region "rebound": the program does not use this array any more', "assign to u[:]",
                  'region "step": the program does not', 'region "resized" was resized after protect()', "step 1")  # fmt: skip
    if output.count("RuntimeWarning: ") != 4 or "RuntimeWarning" in output.split("all arrays are in use")[0]:
        raise AssertionError(f"two warnings on each of two ranks\n{output}")
    place = Place(mode="inline", node_size=1, at_end="continue")
    case("writes")
    case("dtype", "told: MismatchError", "field float32[4]")
    case("fork", "a forked child cannot use it")
    place = Place(mode="inline", node_size=1)
    case("raises", "ValueError: this is rubbish", "cairn: rank 1: ValueError has left the block of cairn.Session", fails=True)
    case("finalizes", "MPI.Finalize() was called before the session ended")
    case("no-MPI", "UsageError: MPI is not initialized: import MPI from mpi4py")
    case("no-config", "ConfigError", "job.ini.missing", "over a communicator of mpi4py, such as MPI.COMM_WORLD, not '/")


def objects():
    program = Path(__file__).with_name("python_objects.py")
    place = Place(mode="inline", node_size=1, at_end="continue")
    place.mpirun(2, python, program, "first", place.config)
    output = place.mpirun(2, python, program, "second", place.config)
    if "rank 1 cannot be loaded" not in output or output.count("all came back") != 2:
        raise AssertionError(output)
    print("objects and files come back", flush=True)


def readers():
    place = Place(mode="inline", node_size=1, at_end="continue")
    output = place.mpirun(2, python, Path(__file__).with_name("python_reader.py"), place.config)
    if output.count("all is read") != 2:
        raise AssertionError(output)
    print("snapshots of the running job are read as arrays", flush=True)


def offline():
    program = Path(__file__).with_name("python_offline.py")
    place = Place(mode="inline", node_size=1, at_end="continue")
    place.mpirun(2, python, program, "write", place.config)
    output = place.run(python, program, "read", place.work)
    if "all is read" not in output:
        raise AssertionError(output)
    print("snapshots are read as arrays", flush=True)


def look():
    place = Place(mode="inline", node_size=1, at_end="continue")
    place.mpirun(4, python, HEAT, place.config, STEPS, place.plate)
    output = place.run(python, source / "examples" / "python" / "look.py", place.config)
    picture = (place.work / "plate.pgm").read_bytes()
    if "plate: from " not in output or "float64[" not in output or not picture.startswith(b"P5 47 61 255\n") or len(picture) != 13 + 47 * 61:
        raise AssertionError(output)
    print("look.py draws the plate", flush=True)


def about():
    output = Place().run(python, "-m", "cairn")
    version = re.search(r'^version = "(.*)"', (source / "lib/bind/python/pyproject.toml").read_text(), re.MULTILINE)[1]
    for words in [f"Cairn {version} (", "Open MPI", "numpy", "mpi4py"]:
        if words not in output:
            raise AssertionError(f"python3 -m cairn does not say {words!r}:\n{output}")
    calls = re.findall(r"^    def ([a-z]\w*)\(self", (source / "lib/bind/python/cairn/_session.py").read_text(), re.MULTILINE)
    table = (source / "lib/doc/python.md").read_text().split("## All calls")[1]
    missing = [call for call in calls if not re.search(rf"`{call}\b", table)]
    if len(calls) < 20 or missing:
        raise AssertionError(f"the page's table of {len(calls)} calls does not have {missing}")


def main():
    if kills:
        killed(reference(), kills)
        return
    about()
    objects()
    readers()
    offline()
    look()
    expected = reference()
    undisturbed(expected)
    from_cpp(expected)
    without_a_node(expected)
    killed(expected, 4)
    on_other_ranks(expected)
    wrong_uses()


if __name__ == "__main__":
    main()
