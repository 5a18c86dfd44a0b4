#!/usr/bin/env python3
"""A program has two series of snapshots, each with a session of its own on the same ranks.

    two_series.py MPIEXEC CKPT_RUN PROGRAM WHAT

WHAT: who does what is beyond the first copy: inline, threads, or heads, which serve one of the sessions. A rank dies;
then a node's files are lost between two runs. Each series continues from a snapshot of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS = 4
STEPS = 23
CONFIG = """[job]
name = {name}
[storage]
local = {root}/local
global = {root}/global
[levels]
l1 = every 1
l2 = every 1
l4 = every 3
[restart]
at_end = continue
[topology]
node_size = {node_size}
"""


def fail(what, output):
    sys.exit(f"{what}\n{output}")


def run(command, env=None, code=0):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, env={**os.environ, **(env or {})})  # fmt: skip
    if (done.returncode == 0) != (code == 0):
        fail(f"{command} ended with {done.returncode}", done.stdout)
    return done.stdout


def must_have(output, *texts):
    for text in texts:
        if text not in output:
            fail(f'"{text}" is missing in the output', output)


def sum_of(rank, steps):
    return 1000 * sum(rank + step for step in range(1, steps + 1))


def main():
    mpiexec, ckpt_run, program, what = sys.argv[1:5]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    with tempfile.TemporaryDirectory(prefix="cairn-series-") as name:
        root = Path(name)
        node_size = 3 if what == "heads" else 2
        for series in ("state", "sums"):
            (root / f"{series}.ini").write_text(CONFIG.format(name=series, root=root, node_size=node_size))
        launch = [ckpt_run, "--launcher", mpiexec, "--config", root / "state.ini", "-n", RANKS, "--"]
        plain = [mpiexec, "--oversubscribe", "-n", RANKS]
        env = {"THREADS": "1"} if what == "threads" else None
        if what == "heads":
            output = run([*launch, program, root, STEPS, 13], env)
            must_have(output, "4 compute, 2 heads", "restart 1")
        else:
            run([*plain, program, root, STEPS, 13], env, code=1)
            output = run([*plain, program, root, STEPS], env)
        must_have(output, "job sums: 4 ranks on 2 nodes: all compute", "with 2 sums", f"sums: 4, the last is {sum_of(0, 20)}")
        shutil.rmtree(root / "local" / "node0000")
        output = run([*(launch if what == "heads" else plain), program, root, 33], env)
        must_have(output, f"from step {STEPS} with 4 sums", f"sums: 6, the last is {sum_of(0, 30)}", "from L2")
    print(f"both series go on: {what}")


if __name__ == "__main__":
    main()
