#!/usr/bin/env python3
"""Programs that were written for VELOC, with libcairn_veloc.

    veloc.py MPIEXEC CKPT_RUN PROGRAM CLIENT CASE...

PROGRAM has VELOC's calls in C, CLIENT in C++. Each case has a directory of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ckpt_run import fail

RANKS = 3
LIMIT_S = 120


class Place:
    """A directory with VELOC's configuration, and runs of the programs in it."""

    def __init__(self, root, tools, more=""):
        self.root = root
        self.mpiexec, self.ckpt_run, self.program, self.client = tools
        self.scratch, self.persistent = root / "scratch", root / "persistent"
        self.config = root / "veloc.cfg"
        self.configure(more)

    def configure(self, more):
        self.config.write_text(f"# as VELOC's own\nscratch = {self.scratch}\npersistent = {self.persistent}\n{more}")

    def start(self, command, code=0, env=None):
        done = subprocess.run([str(word) for word in command], cwd=self.root, env={**os.environ, **(env or {})}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)  # fmt: skip
        if (done.returncode == 0) != (code == 0):
            fail(f"{' '.join(map(str, command))} ended with {done.returncode}", done.stdout)
        return done.stdout

    def run(self, case, *arguments, code=0, ranks=RANKS, program=None, env=None):
        launch = [self.mpiexec, "--oversubscribe", "--bind-to", "none", "-n", ranks]
        output = self.start([*launch, program or self.program, case, self.config, *arguments], code, env)
        if code == 0 and "\ndone" not in "\n" + output:
            fail(f"{case} did not come to its end", output)
        return output

    def lose_scratch(self):
        shutil.rmtree(self.scratch)


def must_have(output, *texts):
    for text in texts:
        if text not in output:
            fail(f"\"{text}\" should be printed", output)


def sum_of(output):
    return output.split(", sum ")[1].split()[0]


def continues(place, case, undisturbed):
    """A second run goes on from the last checkpoint of the first, whatever is left of that, with the same result."""
    place.run(case, 35)
    must_have(place.run(case, 55), "from 30 to 55", f"sum {undisturbed}")
    place.lose_scratch()
    must_have(place.run(case, 75), "from 50 to 75")


def memory(place):
    expected = sum_of(place.run("memory", 55))
    shutil.rmtree(place.persistent)
    place.lose_scratch()
    continues(place, "memory", expected)


def file(place):
    expected = sum_of(place.run("file", 55))
    shutil.rmtree(place.persistent)
    place.lose_scratch()
    continues(place, "file", expected)
    (place.scratch / "files-1-70.dat").write_text("of a process that was killed")
    place.run("file", 95)
    left = sorted(place.scratch.glob("*.dat"))
    if left:
        fail(f"files that are in checkpoints should be removed: {left}")


def threads(place):
    """With a node for each rank, a rank that dies, and one node that is lost: copies of its partner are used."""
    env = {"CAIRN_TOPOLOGY_NODE_SIZE": "1", "CAIRN_LEVELS_L2": "every 1"}
    place.configure("persistent_interval = -1\n")
    place.run("dies_thread", 45, code=1, env=env)
    shutil.rmtree(place.scratch / "memory" / "node0001")
    must_have(place.run("memory_thread", 55, env=env), "from 40 to 55", "L2")


def sync(place):
    place.configure("mode = sync\nmax_versions = 2\nec_interval = -1\n")
    place.run("memory", 55)
    kept = list((place.persistent / "memory").glob("v0*"))
    if len(kept) != 2:
        fail(f"max_versions = 2 should keep two: {kept}")


def older(place):
    """The second run has the persistent directory only."""
    place.run("older")
    place.lose_scratch()
    place.run("older_again")


def names(place):
    must_have(place.run("names"), "checkpoint 3 of fast.0 would contain no memory")
    place.run("names_thread")


def wrong(place):
    output = place.run("wrong")
    must_have(output, "there/is/none.cfg cannot be read", "a VELOC call before VELOC_Init",
              "region 4 has 12 bytes at a null pointer", "\"bad/name\" is no name of a checkpoint",
              "-1 is no version of state", "checkpoint 2 of state begins before another one has ended",
              "state has no version 7; it has 1", "version 1 of state has no file of this rank",
              "region 4 has 4 bytes in version 1 of state, but 2 are protected",
              "region 4 is in version 1 of state, but is not protected")  # fmt: skip
    for text, more in (("the key scratch is missing", None), ("mode = fast is unknown", "mode = fast\n"),
                       ("max_versions = many is no whole number", "max_versions = many\n"),
                       ("veloc.cfg:4: \"persistent_interval\" is not", "persistent_interval\n")):  # fmt: skip
        if more is None:
            place.config.write_text(f"persistent = {place.persistent}\n")
        else:
            place.configure(more)
        must_have(place.run("memory", 10, code=1), text, "VELOC_Init has failed")
    if (lines := place.run("memory", 10, code=1).count("is not \"key = value\"")) != 1:
        fail(f"one rank should report what all have, not {lines}")
    place.configure("")
    output = place.run("memory", 10, code=1, env={"VELOC_SCRATCH": str(place.root / "a" / "b")})
    must_have(output, "is no directory and cannot be made")
    must_have(place.run("memory", 10, code=1, env={"CAIRN_JOB_NAME": "x"}), "CAIRN_JOB_NAME is set")
    must_have(place.run("memory", 10, code=1, env={"CAIRN_HEAD_MODE": "rank"}), "heads are among the ranks")


def uneven(place):
    must_have(place.run("uneven"),
              "rank 0 calls VELOC_Checkpoint_end of version 2 of even, rank 1 calls VELOC_Checkpoint_end of version 2 of odd",
              "rank 0 calls VELOC_Checkpoint_end of version 2 of even, rank 1 calls VELOC_Restart_test(\"even\", 0)",
              "VELOC_Restart of version 1 of even fails, because another rank has failed",
              "rank 1: region 0 is in version 1 of even, but is not protected")  # fmt: skip


def one_by_one(place):
    """From an older version, which one node has lost, with a head that works in the background."""
    env = {"CAIRN_TOPOLOGY_NODE_SIZE": "1"}
    place.configure("scratch_versions = 4\n")
    place.run("one_by_one", 0, env=env)
    shutil.rmtree(place.scratch / "single" / "node0001")
    must_have(place.run("one_by_one_thread", 20, env=env), "version 2 comes from L4")
    left = sorted(place.scratch.glob("*.dat"))
    if left:
        fail(f"files that are in checkpoints should be removed: {left}")


def other_ranks(place):
    """A restart on another number of ranks is refused, and removes nothing."""
    place.run("memory", 25)
    must_have(place.run("memory", 35, code=1, ranks=2), "checkpoints of memory: ", "ranks")
    must_have(place.run("memory", 35), "from 20 to 35")


def lost(place):
    """All checkpoints: the program does not start over without being told."""
    place.run("memory", 25)
    place.lose_scratch()
    for snapshot in (place.persistent / "memory").glob("v0*"):
        shutil.rmtree(snapshot)
    must_have(place.run("memory", 35, code=1), "checkpoints of memory: ", "no store has any of them")
    must_have(place.run("memory", 35, env={"CAIRN_RESTART_MODE": "fresh"}), "from 0 to 35")
    must_have(place.run("memory", 45), "from 30 to 45")


def broken(place):
    for case in ("broken", "broken_thread"):
        place.run(case)
        shutil.rmtree(place.persistent)
        place.lose_scratch()


def cleaned(place):
    output = place.run("cleaned")
    must_have(output, "cleaned up", "from L4")


def unfinished(place):
    """A program that leaves out VELOC_Finalize."""
    place.run("unfinished", 25)
    output = place.run("unfinished", 35)
    must_have(output, "from 20 to 35")
    if "before it finalized" in output:
        fail("its sessions should be finalized", output)


def under_ckpt_run(place):
    """With heads, which are not in the program's MPI_COMM_WORLD, and a rank that dies."""
    ini = place.root / "memory.ini"
    ini.write_text(f"[job]\nname = memory\n[storage]\nlocal = {place.scratch}/memory\nglobal = {place.persistent}\n")
    launch = [place.ckpt_run, "--launcher", place.mpiexec, "--config", ini, "--grace", "1s", "--max-restarts", "1", "-n", RANKS, "--"]
    output = place.start([*launch, place.program, "dies", place.config, 45], code=1)
    must_have(output, "3 compute, 1 head")
    must_have(place.start([*launch, place.program, "memory", place.config, 55]), "from 40 to 55", "done")
    # Heads serve the first name.
    output = place.start([*launch, place.program, "names", place.config])
    must_have(output, "job slow: 3 ranks on 1 node: all compute", "done")


def simple(place, case):
    place.run(case)


def client(place):
    """In C++; then alone, without mpirun, and twice."""
    place.run("two", program=place.client)
    for _ in range(2):
        must_have(place.start([place.client, "one", place.config]), "done")


CASES = {case.__name__: case for case in (memory, file, threads, sync, older, names, wrong, uneven, one_by_one, other_ranks, lost, broken, cleaned,
                                          unfinished, under_ckpt_run, client)}  # fmt: skip


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    for name in sys.argv[5:]:
        with tempfile.TemporaryDirectory(prefix="cairn-veloc-") as directory:
            place = Place(Path(directory), sys.argv[1:5])
            CASES.get(name, lambda at, name=name: simple(at, name))(place)
        print(f"{name}: as it should be", flush=True)


if __name__ == "__main__":
    main()
