#!/usr/bin/env python3
"""gradient solves its equation; after a loss it has the same solution, bit for bit, and the same residual.

    gradient.py GRADIENT CKPT_RUN
"""

import math
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

from any_launcher import RANKS, Jobs, survives
from ckpt_run import fail

SIZE = 63  # odd: a point lies in the middle
TOLERANCE = 1e-10
STRIKES = ["a rank", "the node of the first rank, with its store"]


def middle_of_the_membrane():
    """Of a unit square under the load 1: the Fourier series of the solution, to far more digits than the grid gives."""
    odd = range(1, 400, 2)
    return sum(16 * (-1) ** ((m + n) // 2 - 1) / (math.pi**4 * m * n * (m * m + n * n)) for m in odd for n in odd)


def solves_its_equation(job):
    job.steps = SIZE * SIZE
    output = job.start(ranks=RANKS, pause_ms=0, size=["--size", str(SIZE), "--tolerance", str(TOLERANCE)]).end(0)
    found = re.search(r"after (\d+) steps the norm of the residual is ([^;]*);", output) or fail("no result", output)
    steps, norm = int(found[1]), float(found[2])
    # The residual that steps carry along differs from the true one by rounding.
    if not 0 < steps < SIZE * SIZE or norm > 2 * TOLERANCE:
        fail(f"after {steps} steps the norm of the residual is {norm}", output)
    values = struct.unpack(f"={SIZE * SIZE}d", job.plate.read_bytes())
    middle, expected = values[len(values) // 2], middle_of_the_membrane()
    if abs(middle - expected) > expected / (SIZE + 1) ** 2:  # the five-point stencil is of second order
        fail(f"in the middle the membrane is at {middle}, should be at {expected}", output)
    print(f"solved in {steps} steps: {middle} in the middle, by the series {expected}", flush=True)


def main():
    gradient, ckpt_run = sys.argv[1:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cairn-run-") as root:
        with Jobs(Path(root), gradient, ckpt_run, []) as make_job:
            solves_its_equation(make_job("solves"))
            survives(make_job, "gradient", None, STRIKES, "continues at step")
    print(f"gradient: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
