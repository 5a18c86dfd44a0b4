"""Cairn: multi-level checkpointing for MPI applications.

    from mpi4py import MPI
    import numpy as np
    import cairn

    with cairn.Session(MPI.COMM_WORLD, "heat.ini") as session:
        field, step = np.zeros(1000), cairn.Value(0)
        session.protect("field", field)
        session.protect("step", step)
        session.restore()                    # does nothing on a fresh start
        while step.value < 50:
            compute(field, session.comm)     # the application communicates over session.comm
            step.value += 1                  # before the snapshot
            session.snapshot()               # takes a snapshot if one is due

Snapshots are those of C, C++ and Fortran programs; ckpt-run and ckpt-tool treat them alike. A safe point is a place
where no message of the application is under way: the collective calls of a session are made there, by all ranks, in
the same order.

    cairn.open("checkpoints")["heat"][52]["plate"]      # an array; needs no MPI
"""

from ._answers import Restored, State
from ._errors import (
    CommunicationError,
    ConfigError,
    CorruptError,
    Error,
    MismatchError,
    Rollback,
    StorageError,
    TakenOverError,
    UnrecoverableError,
    UsageError,
)
from ._kinds import Kind, Place, like, of_rank, same, sequence, sequence_part
from ._library import build_info
from ._log import set_log
from ._objects import Object
from ._offline import Job, Jobs, Snapshot
from ._offline import open as open  # not in __all__: a program may need its own open
from ._reader import Reader
from ._regions import Value
from ._run import run
from ._session import Session

__all__ = [
    "CommunicationError",
    "ConfigError",
    "CorruptError",
    "Error",
    "Job",
    "Jobs",
    "Kind",
    "MismatchError",
    "Object",
    "Place",
    "Reader",
    "Restored",
    "Rollback",
    "Session",
    "Snapshot",
    "State",
    "StorageError",
    "TakenOverError",
    "UnrecoverableError",
    "UsageError",
    "Value",
    "build_info",
    "like",
    "of_rank",
    "run",
    "same",
    "sequence",
    "sequence_part",
    "set_log",
]

# Errors and help() show the names by which programs use them.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
