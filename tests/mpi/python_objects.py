"""Objects and files in snapshots of Python: `first` takes one, and `second` continues from it.

    python_objects.py LIFE CONFIG
"""

import os
import random
import sys
from collections import deque

import numpy as np
from mpi4py import MPI

import cairn

life, config = sys.argv[1:]


class Plain:
    """Its contents are its attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


class Careful:
    """Says itself how it is stored; some cannot be loaded."""

    cannot = False

    def __init__(self, number):
        self.number = number

    def __getstate__(self):
        return self.number

    def __setstate__(self, number):
        if Careful.cannot:
            raise ValueError(f"number {number} of rank 1 cannot be loaded")
        self.number = number


def state(rank, filled):
    """What is protected: as the first life fills it, or as the second one begins."""
    legacy = random.Random(rank if filled else 99)
    generator = np.random.default_rng(rank if filled else 99)
    old = np.random.RandomState(rank if filled else 99)
    if not filled:
        return {"dict": {"other": 1}, "list": [7], "set": {9}, "deque": deque([1]), "bytes": bytearray(b"x"),
                "plain": Plain(gone=1), "careful": Careful(0), "held": cairn.Object(None), "random": legacy,
                "generator": generator, "old": old}  # fmt: skip
    return {"dict": {"rank": rank, "nested": [1, {2: "three"}]}, "list": list(range(rank + 3)), "set": {rank, "a"},
            "deque": deque([rank]), "bytes": bytearray(b"bytes"), "plain": Plain(rank=rank, text="t"),
            "careful": Careful(rank + 5), "held": cairn.Object((rank, "text")), "random": legacy,
            "generator": generator, "old": old}  # fmt: skip


def facts(objects):
    """Values that can be compared."""
    shown = {name: objects[name] for name in ("dict", "list", "set", "deque", "bytes")}
    return {**shown, "plain": vars(objects["plain"]), "careful": objects["careful"].number, "held": objects["held"].value,
            "random": objects["random"].random(), "generator": objects["generator"].random(),
            "old": objects["old"].random_sample()}  # fmt: skip


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


with cairn.Session(MPI.COMM_WORLD, config) as session:
    rank = session.comm.Get_rank()
    path = f"lines{rank}.txt"
    objects, step = state(rank, life == "first"), cairn.Value(0)
    session.protect("step", step)
    for name, data in objects.items():
        session.protect(name, data, kind=cairn.of_rank(rank))
    session.protect_file("lines", path, kind=cairn.of_rank(rank))
    results = f"results{rank}"
    session.protect_directory("results", results, kind=cairn.of_rank(rank))
    scratch = session.scratch_file("state.bin", kind=cairn.of_rank(rank))
    expect(scratch.endswith("/state.bin") and session.scratch_file("state.bin") == scratch, scratch)
    try:
        session.scratch_file("../state.bin")
        raise AssertionError("a path as a name")
    except cairn.UsageError as error:
        expect("../state.bin" in str(error), error)
    session.destination("lines", f"there-{{version}}-{rank}.txt")
    try:
        session.destination("step", "there")
        raise AssertionError("a number has a destination")
    except cairn.UsageError as error:
        expect("no file" in str(error), error)
    if life == "first":
        expect(session.restore() is None, "a fresh start")
        with open(path, "w") as lines:
            lines.write(f"line of rank {rank}\n")
        os.makedirs(f"{results}/part")
        with open(f"{results}/part/one", "w") as one:
            one.write("one")
        step.value += 1
        session.label("first caf\xe9")
        session.attribute("time", np.float64(0.5))
        session.attribute("cells", np.int32(4096))
        session.attribute("units", "K", region="step")
        with open(scratch, "wb") as file:
            file.write(bytes([rank]) * 5000)
        session.snapshot(level=1)
        expect(not os.path.exists(scratch), "the snapshot has it")
    else:
        with open(path, "a") as lines:
            lines.write("a line too much\n")
        os.remove(f"{results}/part/one")
        Careful.cannot = rank == 1
        try:
            session.restore()
            raise AssertionError("an object that cannot be loaded was loaded")
        except cairn.MismatchError as error:
            expect('rank 1: object "careful"' in str(error), str(error))
            expect(rank == 0 or isinstance(error.__cause__, ValueError), "the cause")
        Careful.cannot = False
        try:
            session.restore(label="other")
            raise AssertionError("a label was restored that no snapshot has")
        except cairn.UnrecoverableError as error:
            expect('"first caf\xe9" (version 1)' in str(error), str(error))
        restored = session.restore(label="first caf\xe9")
        expect(restored.version == 1 and restored.label == "first caf\xe9", restored)
        expect(facts(objects) == facts(state(rank, True)), facts(objects))
        with open(path) as lines:
            expect(lines.read() == f"line of rank {rank}\n", "the file")
        with open(f"{results}/part/one") as one:
            expect(one.read() == "one", "the directory")
        with open(f"there-1-{rank}.txt") as lines:
            expect(lines.read() == f"line of rank {rank}\n", "the file that L4 has put there")
        with open(scratch, "rb") as file:
            expect(file.read() == bytes([rank]) * 5000, "the scratch file")
        print("all came back", flush=True)
