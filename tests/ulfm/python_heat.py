#!/usr/bin/env python3
"""heat.py, slowly, which tells job.py when it is entered:

    python_heat.py [foreign | session | threads] --steps N --config FILE --output FILE --pause-ms N

With `foreign`, errors of MPI are caught on the way out, and another exception is raised instead. With `session`, it is not
written for cairn.run. With `threads`, MPI gets the thread level of mpi4py's default.
"""

import runpy
import sys
import time
from pathlib import Path

import mpi4py

if sys.argv[1] != "threads":
    mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402

import cairn  # noqa: E402

options = dict(zip(sys.argv[-8::2], sys.argv[-7::2]))
restore, snapshot, run = cairn.Session.restore, cairn.Session.snapshot, cairn.run
thread_level = MPI.Query_thread()


def told_restore(session):
    if MPI.Query_thread() != thread_level:
        raise RuntimeError(f"MPI reports thread level {MPI.Query_thread()}, and {thread_level} before")
    restored = restore(session)
    if session.comm.Get_rank() == 0:
        entry = f"continues at step {restored.version}:" if restored else "starts at step 0"
        print(f"heat: {entry} as {session.state.name}", flush=True)
    return restored


def slow_snapshot(session, level=None):
    time.sleep(int(options["--pause-ms"]) / 1000)
    return snapshot(session, level)


def run_foreign(main, comm, config):
    def careless(session):
        try:
            return main(session)
        except Exception as error:
            raise ValueError("the halo is rubbish") from error

    return run(careless, comm, config)


def run_in_session(main, comm, config):
    with cairn.Session(comm, config) as session:
        main(session)


cairn.Session.restore, cairn.Session.snapshot = told_restore, slow_snapshot
cairn.run = {"foreign": run_foreign, "session": run_in_session}.get(sys.argv[1], run)
heat = Path(__file__).resolve().parents[2] / "examples" / "python" / "heat.py"
sys.argv = [str(heat), options["--config"], options["--steps"], options["--output"]]
runpy.run_path(str(heat), run_name="__main__")
if MPI.Comm.Get_parent() == MPI.COMM_NULL:
    time.sleep(0.5)  # new processes have ended when this one calls MPI_Finalize
