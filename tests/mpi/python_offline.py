"""Reads snapshots of arrays as arrays again:

    python_offline.py write CONFIG     by two ranks of MPI
    python_offline.py read WORK        without MPI; the stores are below WORK
"""

import inspect
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np

import cairn

SHAPE = (6, 5)
WHOLE = np.arange(30.0).reshape(SHAPE)
COMPLEX = np.array([1 + 2j, 3 - 4j, 5j])
FIELDS = np.dtype([("x", "<f8"), ("id", "<i4")])


def fields(rank):
    return np.array([(rank + 0.5, rank), (7.0, -1)], dtype=FIELDS)


def write(config):
    from mpi4py import MPI

    with cairn.Session(MPI.COMM_WORLD, config) as session:
        rank = session.comm.Get_rank()
        columns = [slice(0, 2), slice(2, 5)][rank]  # blocks side by side, so that rows are spread over both ranks
        block = np.ascontiguousarray(WHOLE[:, columns])
        session.protect("block", block, place=(SHAPE, (0, columns.start)))
        session.protect("complex", COMPLEX.copy())
        session.protect("fields", fields(rank))
        session.protect("ragged", np.full(rank + 1, rank, dtype=np.uint8))
        session.protect("uneven", np.full((2, rank + 1), rank))
        session.protect("step", cairn.Value(7))
        session.protect("nothing", np.zeros((0, 3)))
        session.restore()
        session.label("peak")
        session.attribute("time", 0.5)
        session.attribute("unit", "K", region="block")
        session.snapshot(level=2)
        session.wait(2)


def same(found, expected):
    expected = np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape or not np.array_equal(found, expected):
        raise AssertionError(f"{found!r} instead of {expected!r}")


def told(error, *words):
    """What a wrong use must raise."""

    def check(call):
        try:
            found = call()
        except error as raised:
            missing = [word for word in words if word not in str(raised)]
            if missing:
                raise AssertionError(f"{raised} does not say {missing}") from raised
            return
        raise AssertionError(f"nothing was told: {found}")

    return check


def check_arrays(snapshot):
    same(snapshot["block"], WHOLE)
    same(snapshot["complex"], np.concatenate([COMPLEX, COMPLEX]))
    same(snapshot["fields"], np.concatenate([fields(0), fields(1)]))
    same(snapshot["ragged"], np.array([0, 1, 1], dtype=np.uint8))
    same(snapshot["step"], np.array([7, 7]))
    same(snapshot["nothing"], np.zeros((0, 3)))
    same(snapshot.read("uneven", rank=1), np.full((2, 2), 1))
    same(snapshot.read("fields", rank=0), fields(0))
    if sorted(snapshot) != ["block", "complex", "fields", "nothing", "ragged", "step", "uneven"]:
        raise AssertionError(list(snapshot))
    array = snapshot["block"]
    array[0, 0] = 99.0  # a copy of its own
    same(snapshot["block"], WHOLE)


def check_types():
    """py.typed is a promise: a public function without types would be Any to a type checker."""
    public = [getattr(cairn, name) for name in (*cairn.__all__, "open")]
    functions = [each for each in public if inspect.isfunction(each)]
    for kind in (each for each in public if inspect.isclass(each)):
        for name, member in vars(kind).items():
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function) and function.__module__.startswith("cairn.") and (name[0] != "_" or name == "__init__"):
                functions.append(function)
    for function in functions:
        signature = inspect.signature(function)
        untyped = [name for name, one in signature.parameters.items() if one.annotation is one.empty and name != "self"]
        if untyped or signature.return_annotation is signature.empty:
            raise AssertionError(f"{function.__qualname__} has no types for {untyped} or what it returns")
    if len(functions) < 35:
        raise AssertionError(f"only {len(functions)} functions were looked at")


def read(work):
    check_types()
    if "mpi4py" in sys.modules:
        raise AssertionError("mpi4py is not needed here")
    jobs = cairn.open(f"{work}/global", local=f"{work}/local")
    (name,) = jobs
    job = jobs[name]
    (version,) = job
    if "levels" not in repr(job) or "block: float64[6][2]" not in repr(job[version]):
        raise AssertionError(f"{job!r}\n{job[version]!r}")
    snapshot = job.newest
    if (snapshot.label, snapshot.pinned, snapshot.attributes, snapshot.region_attributes) != (
            "peak", False, {"time": 0.5}, {"block": {"unit": "K"}}):  # fmt: skip
        raise AssertionError(f"{snapshot.label}, {snapshot.attributes}, {snapshot.region_attributes}")
    for words in [f'version {version} "peak": 2 ranks', "\n  time = 0.5\n", "  block: float64[6][2], unit = 'K'"]:
        if words not in repr(snapshot):
            raise AssertionError(f"no {words} in {snapshot!r}")
    if job.newest.levels != ("L1", "L2", "L4") or (job.newest.ranks, job.newest.nodes) != (2, 2):
        raise AssertionError(repr(job.newest))
    check_arrays(job[version])
    check_arrays(cairn.open(config=f"{work}/job.ini")[name].newest)
    shutil.rmtree(f"{work}/local/node0001")
    check_arrays(job[version])  # from copies

    told(KeyError, "'other'", name)(lambda: jobs["other"])
    told(KeyError, "99", str(version))(lambda: job[99])
    told(KeyError, "'blck'", "block, complex")(lambda: job[version]["blck"])
    told(ValueError, "'uneven' differs in type or shape", "rank=0")(lambda: job[version]["uneven"])
    told(cairn.Error, "has no rank 2", "0 to 1")(lambda: job[version].read("block", rank=2))
    told(cairn.Error, "no such directory")(lambda: list(cairn.open(f"{work}/nowhere")))
    told(TypeError, "name a global store")(cairn.open)

    for copy in Path(f"{work}/local").rglob("*.copy"):
        copy.unlink()
    check_arrays(job[version])  # from L4
    for snapshot in Path(f"{work}/global/{name}").glob("v*"):
        shutil.rmtree(snapshot)
    told(cairn.Error, "no snapshot can be read completely")(lambda: job.newest)
    told(cairn.Error, "no source for rank 1")(lambda: job[version]["block"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = job[version].read("block", partial=True)
    if len(caught) != 1 or "left out: rank 1" not in str(caught[0].message):
        raise AssertionError(caught)
    same(part[:, :2], WHOLE[:, :2])
    if not np.isnan(part[:, 2:]).all():
        raise AssertionError(part)
    print("all is read", flush=True)


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
