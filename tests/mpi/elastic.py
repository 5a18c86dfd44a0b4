#!/usr/bin/env python3
"""A job that is killed again and again, and restarted on other numbers of ranks, ends with the bits of an undisturbed one.

    elastic.py ELASTIC MPIEXEC
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 100
# Processes, and those of a node, by [head] mode.
SHAPES = {
    "inline": [(2, 1), (3, 3), (4, 2), (6, 3), (8, 2)],
    "rank": [(3, 3), (4, 2), (6, 3), (8, 4), (9, 3)],
}
LIMIT_S = 60
CONFIG = """\
[job]
name = elastic
[storage]
local = {root}/local
global = {root}/global
[levels]
l1 = every 1
l2 = every 2
l3 = off
l4 = every 5
[head]
mode = {mode}
[topology]
node_size = {node_size}
[restart]
elastic = on
[localize]
mode = off
"""


def fail(what, output=""):
    sys.exit(f"elastic: {what}\n{output}")


def run(elastic, mpiexec, root, shape, mode, die_at):
    """What a life of the job prints, and whether it ended well."""
    ranks, node_size = shape
    config = Path(root, "elastic.ini")
    config.write_text(CONFIG.format(root=root, mode=mode, node_size=node_size))
    command = [mpiexec, "-n", str(ranks), "--oversubscribe", "--bind-to", "none", elastic, str(config), str(STEPS), str(die_at)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    return done.stdout, done.returncode == 0


def result_of(output):
    found = re.search(r"elastic: result ([0-9a-f]{16})", output)
    return found[1] if found else fail("no result", output)


def begin_of(output):
    found = re.search(r"elastic: begins at step (\d+), of (\d+) ranks", output) or fail("it does not begin", output)
    return int(found[1]), int(found[2])


def survives(elastic, mpiexec, root, mode, expected, dice):
    """Six lives, of which all but the last die."""
    step, shape = 0, None
    for life in range(6):
        # A job that begins needs two nodes for its copies.
        shape = dice.choice([one for one in SHAPES[mode] if one != shape and (life > 0 or one[0] > one[1])])
        die_at = 0 if life == 5 else step + dice.randint(7, 16)
        if life in (2, 4):
            shutil.rmtree(next(Path(root, "local").rglob("node0000")))
        output, well = run(elastic, mpiexec, root, shape, mode, die_at)
        begun, old_ranks = begin_of(output)
        print(f"{mode}: life {life}, {shape[0]} processes, {shape[1]} on a node: step {begun}, of {old_ranks} ranks")
        if life > 0 and begun < step - step % 5 - 5:
            fail(f"life {life} has lost too many of {step} steps", output)
        if well != (die_at == 0):
            fail(f"life {life} ends wrong", output)
        step = die_at
    if result_of(output) != expected:
        fail(f"the result is {result_of(output)}, should be {expected}", output)


def main():
    elastic, mpiexec = sys.argv[1:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cairn-run-") as root:
        expected = result_of(run(elastic, mpiexec, root, (4, 2), "inline", 0)[0])
    for number, mode in enumerate(["inline", "rank"]):
        with tempfile.TemporaryDirectory(prefix="cairn-run-") as root:
            survives(elastic, mpiexec, root, mode, expected, random.Random(number))
    print(f"elastic: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
