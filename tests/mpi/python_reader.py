"""Snapshots of a running job as arrays: two of them are taken, and read beside what the program has by then.

    python_reader.py CONFIG
"""

import pathlib
import sys

import numpy as np
from mpi4py import MPI

import cairn

(config,) = sys.argv[1:]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def refused(error, words, call):
    try:
        call()
    except error as caught:
        expect(words in str(caught), caught)
    else:
        raise AssertionError(f"not refused: {words}")


with cairn.Session(MPI.COMM_WORLD, config) as session:
    rank = session.comm.Get_rank()
    field, step = np.zeros((3, 4), order="F" if rank else "C"), cairn.Value(0)
    pairs = np.zeros(2, dtype=[("x", "f8"), ("n", "i4")])
    session.protect("field", field)
    session.protect("pairs", pairs)
    session.protect("step", step)
    log = pathlib.Path(f"{config}.log{rank}")
    session.protect_file("log", log)
    session.restore()
    for version in (1, 2):
        step.value += 1
        field[:] = rank * 100 + version + np.arange(12).reshape(3, 4) / 100
        pairs["n"] = version
        log.write_text(f"up to {version}")
        if version == 1:
            session.label("first")
            first = field.copy()
        expect(session.snapshot(1) == version, version)
    session.wait(1)

    with session.open_snapshot(1) as old:
        expect((old.version, old.incarnation, old.label) == (1, 1, "first"), vars(old))
        expect(list(old) == ["field", "pairs", "step", "log"] and len(old) == 4 and "step" in old, list(old))
        there = old["field"] if rank == 0 else old["field"].T  # stored reversed
        expect(np.array_equal(there, first), there)
        expect(old["step"] == 1 and old["pairs"]["n"].tolist() == [1, 1], old["pairs"])
        copy = log.with_suffix(f".copy{rank}")
        old.extract("log", copy)
        expect((copy.read_text(), log.read_text()) == ("up to 1", "up to 2"), copy)
        refused(cairn.UsageError, "it is no file", lambda: old.extract("step", copy))
        refused(TypeError, "the path", lambda: old.extract("log", 5))
        refused(cairn.UsageError, "it has: field, pairs, step, log", lambda: old["nothing"])
        refused(cairn.UsageError, "a reader is open", session.finalize)
    refused(cairn.UsageError, "is closed", lambda: old["field"])
    with session.open_snapshot() as newest:
        expect(newest.version == 2 and not newest.close(good=rank == 0), newest.version)
    refused(cairn.UnrecoverableError, "version 2 was rejected", lambda: session.open_snapshot(2))
    refused(cairn.UnrecoverableError, '"first" (version 1)', lambda: session.open_snapshot(label="other"))
    refused(ValueError, "a version or a label", lambda: session.open_snapshot(1, label="first"))
    refused(cairn.UsageError, "version 0", lambda: session.open_snapshot(0))
    try:
        with session.open_snapshot(label="first") as old:
            raise KeyError("what leaves the block drops it")
    except KeyError:
        refused(cairn.UsageError, "is closed", lambda: old["field"])
    restored = session.restore()
    expect(restored.version == 1 and step.value == 1, restored)
    session.snapshot(1)
    print("all is read")
