#!/usr/bin/env python3
"""The Python package where Cairn was built with MPICH: it refuses Debian's mpi4py, which uses Open MPI, by name, and heat.py
comes back with the same bits over MPICH.

    python_mpich.py MPICH_BUILD CKPT_RUN MPIRUN
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

build, mpirun = Path(sys.argv[1]).resolve(), sys.argv[3]
here = Path(__file__).resolve().parent
PACKAGE = here.parents[1] / "lib" / "bind" / "python"
HEAT = here.parents[1] / "examples" / "python" / "heat.py"
STEPS = 60
CONFIG = """[job]
name = python-mpich
[storage]
local = {0}/local
global = {0}/global
[levels]
l1 = every 7
l2 = every 14
[topology]
node_size = 3
"""
REFUSED = """
from mpi4py import MPI
import cairn
try:
    cairn.Session(MPI.COMM_WORLD)
except cairn.Error as error:
    print("refused:", error)
"""
# Kills rank 1 before a call of snapshot(), once.
KILLED = """
import os, runpy, signal, sys
import cairn
snapshot, calls = cairn.Session.snapshot, 0
def counted(self, level=None):
    global calls
    calls += 1
    if calls == 40 and self.comm.Get_rank() == 1 and not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return snapshot(self, level)
cairn.Session.snapshot = counted
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(*command, cwd, path):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, path)), PYTHONDONTWRITEBYTECODE="1",
                       CAIRN_LIBRARY=str(build / "lib" / "libcairn.so"))  # fmt: skip
    done = subprocess.run(["timeout", "-s", "KILL", "100", *map(str, command)], cwd=cwd, env=environment, text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"python_mpich: {command}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def refuses_another_mpi():
    output = run("/usr/bin/python3", "-c", REFUSED, cwd="/tmp", path=[PACKAGE])
    if not re.search(r"refused: mpi4py uses Open MPI v\S+.*, and Cairn was built with MPICH: use an mpi4py of that MPI", output):
        sys.exit(f"python_mpich: it does not refuse Open MPI\n{output}")


def plate_of(directory, ckpt_run, *program):
    work = Path(directory)
    work.mkdir()
    (work / "heat.ini").write_text(CONFIG.format(work))
    (work / "killed.py").write_text(KILLED)
    output = run(ckpt_run, "-n", 4, "--launcher", mpirun, "--config", "heat.ini", "--", "/usr/bin/python3", *program, HEAT,
                 "heat.ini", STEPS, "plate", cwd=work, path=[here / "mpich_mpi4py", PACKAGE])  # fmt: skip
    if "MPI_COMM_WORLD has the application ranks only" not in output:
        sys.exit(f"python_mpich: the tap was not preloaded\n{output}")
    return (work / "plate").read_bytes(), output


def main():
    refuses_another_mpi()
    # It preloads the tap of the prefix that it is in.
    ckpt_run = shutil.copy(sys.argv[2], build / "bin" / "ckpt-run")
    with tempfile.TemporaryDirectory(prefix="cairn-python-mpich-") as directory:
        expected, _ = plate_of(f"{directory}/undisturbed", ckpt_run)
        plate, output = plate_of(f"{directory}/killed", ckpt_run, "killed.py")
    if not re.search(r"continues at step [1-9]", output) or plate != expected:
        sys.exit(f"python_mpich: it did not come back with the same plate\n{output}")
    print("python_mpich: another MPI is refused, and heat.py comes back with the same plate")


main()
