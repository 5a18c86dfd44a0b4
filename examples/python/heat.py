#!/usr/bin/env python3
"""Heat in a plate that is hot above, cut into blocks of whole rows: an application that survives failures.

    ckpt-run -n 4 -- python3 heat.py heat.ini [STEPS [FILE]]

Writes the plate to FILE, if it is named. protect() names the state, restore() continues from the newest snapshot, and
snapshot() marks where a copy is safe. The next run may have another number of ranks.
"""

import sys

import numpy as np
from mpi4py import MPI

import cairn

ROWS, COLUMNS = 61, 47
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000


def heat(session):
    """Entered at the start, and again when a process has died and the job goes on without a restart."""
    comm = session.comm
    rank, size = comm.Get_rank(), comm.Get_size()
    first, last = ROWS * rank // size, ROWS * (rank + 1) // size
    plate, step = np.zeros((last - first, COLUMNS)), cairn.Value(0)
    session.protect("plate", plate, place=((ROWS, COLUMNS), (first, 0)))
    session.protect("step", step, kind=cairn.same)
    if session.restore() and rank == 0:
        print(f"continues at step {step.value}", flush=True)

    above, below = np.full(COLUMNS, 100.0), np.zeros(COLUMNS)
    upper, lower = (rank - 1 if rank > 0 else MPI.PROC_NULL), (rank + 1 if rank + 1 < size else MPI.PROC_NULL)
    while step.value < steps and not session.should_stop:
        comm.Sendrecv(plate[-1], lower, recvbuf=above, source=upper)
        comm.Sendrecv(plate[0], upper, recvbuf=below, source=lower)
        rows = np.vstack([above, plate, below])
        plate[:, 1:-1] = (rows[:-2, 1:-1] + rows[2:, 1:-1] + rows[1:-1, :-2] + rows[1:-1, 2:]) / 4
        step.value += 1
        session.snapshot()

    whole = comm.gather(plate, root=0)
    if rank == 0:
        print(f"step {step.value}: {np.vstack(whole).sum():.12f}", flush=True)
        if len(sys.argv) > 3:
            np.vstack(whole).tofile(sys.argv[3])


cairn.run(heat, MPI.COMM_WORLD, sys.argv[1])
