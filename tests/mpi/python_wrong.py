"""Wrong uses of the Python package, each of which must be told in one line that names the thing:

    python_wrong.py CASE CONFIG
"""

import os
import sys

import mpi4py
import numpy as np

case, config = sys.argv[1:]
mpi4py.rc.initialize = case != "no-MPI"
from mpi4py import MPI  # noqa: E402

import cairn  # noqa: E402


def told(call):
    """The error that a call must raise, as a user sees it."""
    try:
        call()
    except (cairn.Error, AttributeError, TypeError, ValueError) as error:
        print(f"told: {type(error).__name__}: {error}", flush=True)
        return
    print(f"{case}: nothing was told", flush=True)


def arrays(session):
    """What cannot be protected."""
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    for name, data in [("a strided part", np.zeros((4, 4))[:, ::2]), ("a tuple", (1, 2)), ("a number", 5), ("a function", lambda: 5), ("objects", np.array([{}])),
                       ("read-only", frozen), ("foreign", np.zeros(3, ">f8")), ("masked", np.ma.zeros(3))]:  # fmt: skip
        told(lambda name=name, data=data: session.protect(name, data))
    told(lambda: session.protect("placed", np.zeros((2, 3)), place=((4,), (0,))))
    told(lambda: session.protect("complex", np.zeros(2, complex), place=((4,), (0,))))
    told(lambda: session.protect("a/b", np.zeros(2)))
    kept = np.zeros(5)
    session.protect("kept", kept)
    told(lambda: kept.resize(9))
    told(lambda: session.unprotect("nobody"))
    told(lambda: session.snapshot(level=7))
    session.unprotect("kept")


def arguments(session):
    """What is of another type than the call takes, or would be cut to fit into C."""
    u, count = np.zeros(4), cairn.Value(0)
    session.protect("u", u)
    for name in [5, b"u", u, "u\0v"]:
        told(lambda name=name: session.protect(name, np.ones(4)))
    for place in [4, (8, 0), ((8,),), ((8,), (-1,)), ((8.5,), (0,)), (None, None), cairn.Place((8,), (0,), (0, 0))]:
        told(lambda place=place: session.protect("u", u, place=place))
    told(lambda: session.protect("u", u, kind="same"))
    told(lambda: session.protect("u", u, kind=cairn.of_rank(-1)))
    told(lambda: session.protect("u", u, kind=cairn.sequence_part(0, 2**64)))
    told(lambda: session.protect_file("log", 5))
    told(lambda: session.snapshot(level="1"))
    told(lambda: session.snapshot(level=2**32 + 1))
    told(lambda: session.restore(version=-1))
    told(lambda: session.label(5))
    told(lambda: session.attribute("unit", None))
    told(lambda: session.protect("solver", {"its": session}))
    told(lambda: cairn.run(session.comm, lambda session: 0, config))
    told(lambda: cairn.Session(MPI.COMM_WORLD, None))
    told(lambda: cairn.Value("text"))
    told(lambda: setattr(count, "value", 1.5))
    told(lambda: setattr(count, "vlaue", 1))
    count.value += 1
    session.restore()


def lost_arrays(session):
    """Arrays that are gone since they were protected."""
    resized, rebound, viewed, step = np.zeros(5), np.ones(5), np.zeros(6), cairn.Value(0)
    session.protect("resized", resized)
    session.protect("rebound", rebound)
    session.protect("viewed", viewed.reshape(2, 3))
    session.protect("step", step)
    session.restore()
    session.snapshot(level=1)
    print("all arrays are in use", file=sys.stderr, flush=True)  # before the warnings, which go there
    rebound = rebound * 2
    session.snapshot(level=1)
    session.snapshot(level=1)
    session.protect("rebound", rebound)
    step = 1
    session.snapshot(level=1)
    resized.resize(100000, refcheck=False)
    told(lambda: session.snapshot(level=1))
    session.protect("resized", resized)
    session.snapshot(level=1)
    session.unprotect("step")
    print(f"step {step}", flush=True)


def another_dtype(session):
    """A restore into another type than that of the snapshot: the run before has written float64."""
    session.protect("field", np.zeros(4, np.float32))
    told(session.restore)


def forked(session):
    """A child has its parent's session, and cannot use it."""
    child = os.fork()
    if child == 0:
        told(session.snapshot)
        os._exit(0)
    os.waitpid(child, 0)


def main():
    if case == "no-MPI":
        told(lambda: cairn.Session(MPI.COMM_WORLD, config))
        return
    rank = MPI.COMM_WORLD.Get_rank()
    if case == "no-config":
        told(lambda: cairn.Session(config))
        told(lambda: cairn.Session(MPI.COMM_WORLD, config + ".missing"))
        return
    with cairn.Session(MPI.COMM_WORLD, config) as session:
        if case == "arrays":
            arrays(session)
            session.restore()
        elif case == "arguments":
            arguments(session)
        elif case == "lost-arrays":
            lost_arrays(session)
        elif case == "writes":
            session.protect("field", np.ones(4))
            session.restore()
            session.snapshot(level=1)
        elif case == "dtype":
            another_dtype(session)
        elif case == "fork":
            forked(session)
        elif case == "raises":
            session.restore()
            if rank == 1:
                raise ValueError("this is rubbish")
            session.comm.Barrier()
        elif case == "finalizes":
            session.restore()
            MPI.Finalize()
            told(session.snapshot)
            os._exit(0)
    if case == "arrays":
        told(session.snapshot)


main()
