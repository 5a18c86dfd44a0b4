#!/usr/bin/env python3
"""Programs in C, Fortran and Python restore what they have written on another number of ranks, by the kinds of their
regions.

    kinds.py MPIEXEC PROGRAM...     a program of several words is one argument
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Of one run after another. On one node, what other nodes had comes from L4; on several, ranks send each other elements.
RANKS = (3, 2, 5, 1, 4)
LIMIT_S = 60
CONFIG = """[job]
name = kinds
[storage]
local = {work}/local
global = {work}/global
[levels]
l1 = every 1
l2 = off
l3 = off
l4 = every 1
[head]
mode = inline
[topology]
node_size = 2
[restart]
at_end = continue
elastic = {elastic}
"""


def run(mpiexec, program, work, ranks, step):
    config = work / "kinds.ini"
    config.write_text(CONFIG.format(work=work, elastic="off" if step < 0 else "on"))
    command = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *program.split(), str(config), str(step)]
    done = subprocess.run(["timeout", "-s", "KILL", str(LIMIT_S), *command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{program}: step {step} on {ranks} ranks ended with {done.returncode}\n{done.stdout}")


def main():
    mpiexec, *programs = sys.argv[1:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    for program in programs:
        with tempfile.TemporaryDirectory(prefix="cairn-kinds-") as name:
            for step, ranks in enumerate(RANKS):
                run(mpiexec, program, Path(name), ranks, step)
            run(mpiexec, program, Path(name), 3, -1)
        print(f"{program}: on {', '.join(map(str, RANKS))} ranks", flush=True)


main()
