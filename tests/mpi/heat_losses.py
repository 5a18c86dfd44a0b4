#!/usr/bin/env python3
"""heat under losses: whatever was lost on the way, the plate after the last step is the same, byte for byte.

    heat_losses.py HEAT MPIEXEC

Each case runs heat to half of its steps, deletes node stores, and runs it to the end. One more case kills all ranks of
a node in the middle of a run. What cannot be survived must be refused with the node and the version by name.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from facts import has_thing  # noqa: E402
from processes import descendants, environment_of  # noqa: E402

STEPS = 60
SIZE = ["--size", "61", "--width", "47"]  # neither is a multiple of a number of ranks
LIMIT_S = 60  # of one run; beyond it, all of its ranks are killed

CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 5
l2 = {l2}
l3 = {l3}
l4 = {l4}
[erasure]
group = 5
parity = 2
[head]
mode = {mode}
[topology]
node_size = {sizes}
[restart]
at_end = continue
"""

PARTNERS = {"l2": "every 5", "l3": "off", "l4": "off"}
ERASURE = {"l2": "off", "l3": "every 5", "l4": "off"}
ALL = {"l2": "every 10", "l3": "every 15", "l4": "every 1000"}

# (head mode, node sizes, levels, lost nodes)
SURVIVED = [
    ("rank", "3,2,4,3", PARTNERS, [2]),
    ("rank", "2,2,2,2,2", PARTNERS, [0, 2]),
    ("rank", "2,3,2,2,3", ERASURE, [1, 4]),
    ("rank", "3,2,3", ALL, [0, 1, 2]),
    ("inline", "1,2,3,1", PARTNERS, [1]),
    ("thread", "2,1,2", ERASURE, [2]),
    ("inline", "2,1,2,1,1", ERASURE, [0, 1]),
    ("inline", "2,1,2", ALL, [0, 1, 2]),
]
# … and what the refusal must name.
NOT_SURVIVED = [
    ("rank", "2,2,2", PARTNERS, [0, 1], ["node 0", "node 1"]),
    ("rank", "2,3,2,2,2", ERASURE, [0, 2, 3], ["node 0", "node 2", "node 3"]),
    ("inline", "1,1,2", PARTNERS, [2, 0], ["node 0", "node 2"]),
]


class Job:
    """A directory with heat's configuration and its stores."""

    def __init__(self, root, name, heat, mpiexec, mode, sizes, levels):
        self.directory = root / name
        self.directory.mkdir()
        self.heat = heat
        self.levels = levels
        self.mpiexec = mpiexec
        self.sizes = [int(size) for size in sizes.split(",")]
        self.config = self.directory / "heat.ini"
        self.config.write_text(CONFIG.format(directory=self.directory, mode=mode, sizes=sizes, **levels))

    def command(self, steps, *more):
        # --foreground is left out: timeout then kills its whole process group.
        return ["timeout", "-s", "KILL", str(LIMIT_S), self.mpiexec, "--oversubscribe", "--bind-to", "none", "-n",
                str(sum(self.sizes)), self.heat, *SIZE, "--steps", str(steps), "--config", str(self.config),
                "--output", str(self.plate(steps)), *more]  # fmt: skip

    def run(self, steps):
        return subprocess.run(self.command(steps), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def start(self, steps, pause_ms):
        return subprocess.Popen(self.command(steps, "--pause-ms", str(pause_ms)), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)  # fmt: skip

    def lose(self, nodes):
        """Node stores, and what the end of a run has put on the global store, unless L4 is what is tested."""
        for node in nodes:
            shutil.rmtree(self.directory / "local" / f"node{node:04}")
        if self.levels["l4"] == "off":
            for snapshot in (self.directory / "global" / "job").glob("v*"):
                shutil.rmtree(snapshot)

    def plate(self, steps):
        return self.directory / f"plate{steps}.bin"

    def ranks_of(self, node):
        first = sum(self.sizes[:node])
        return range(first, first + self.sizes[node])


def fail(what, output):
    sys.exit(f"heat_losses: {what}\n{output}")


def run_well(job, steps, what):
    done = job.run(steps)
    if done.returncode != 0:
        fail(f"{what}: heat ended with {done.returncode}", done.stdout)
    return done.stdout


def expect_same(job, reference, what, output):
    if job.plate(STEPS).read_bytes() != reference:
        fail(f"{what}: the plate differs from that of the run that nothing happened to", output)


def kill_node_in_mid_run(job, node, reference):
    """SIGKILL of all ranks of a node, whose store is lost too."""
    what = f"SIGKILL of node {node}"
    run = job.start(STEPS, pause_ms=20)
    try:
        for line in run.stdout:
            if f"{STEPS // 2} of {STEPS} steps" in line:
                break
        else:
            fail(f"{what}: heat ended early with {run.wait()}", "")
        ranks = {str(rank) for rank in job.ranks_of(node)}
        victims = [pid for pid in descendants(run.pid) if environment_of(pid).get("OMPI_COMM_WORLD_RANK") in ranks]
        if len(victims) != job.sizes[node]:
            fail(f"{what}: {job.sizes[node]} ranks were to be killed, {len(victims)} found", "")
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        run.stdout.read()
        if run.wait() == 0:
            fail(f"{what}: mpiexec did not notice", "")
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    job.lose([node])
    output = run_well(job, STEPS, what)
    if "continues at step" not in output or f"lost nodes: node {node}" not in output:
        fail(f"{what}: the restart did not go on without node {node}", output)
    expect_same(job, reference, what, output)


def main():
    heat, mpiexec = sys.argv[1:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cairn-heat-") as name:
        root = Path(name)
        calm = Job(root, "reference", heat, mpiexec, "rank", "2,2", {"l2": "off", "l3": "off", "l4": "off"})
        run_well(calm, STEPS, "reference")
        reference = calm.plate(STEPS).read_bytes()

        for number, (mode, sizes, levels, lost) in enumerate(SURVIVED):
            what = f"mode {mode}, nodes of {sizes} ranks, lost {lost}"
            job = Job(root, f"survived{number}", heat, mpiexec, mode, sizes, levels)
            run_well(job, STEPS // 2, what)
            job.lose(lost)
            output = run_well(job, STEPS, what)
            if f"continues at step {STEPS // 2}:" not in output:
                fail(f"{what}: it did not go on from the middle", output)
            expect_same(job, reference, what, output)
            print(f"same plate: {what}", flush=True)

        for number, (mode, sizes, levels, lost, named) in enumerate(NOT_SURVIVED):
            what = f"mode {mode}, nodes of {sizes} ranks, lost {lost}"
            job = Job(root, f"refused{number}", heat, mpiexec, mode, sizes, levels)
            run_well(job, STEPS // 2, what)
            job.lose(lost)
            done = job.run(STEPS)
            missing = [thing for thing in [*named, f"version {STEPS // 2 // 5}"] if not has_thing(done.stdout, thing)]
            if done.returncode == 0 or missing or job.plate(STEPS).exists():
                fail(f"{what}: should be refused, and name {missing}; ended with {done.returncode}", done.stdout)
            print(f"refused: {what}", flush=True)

        kill_node_in_mid_run(Job(root, "killed", heat, mpiexec, "rank", "3,2,3", PARTNERS), 1, reference)
        kill_node_in_mid_run(Job(root, "killed-inline", heat, mpiexec, "inline", "2,1,2", PARTNERS), 0, reference)
        print("same plate: all ranks of a node killed in mid-run", flush=True)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
