"""run: a function that is entered again when a process has died."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Callable, TypeVar

from ._errors import Rollback
from ._session import Session

if TYPE_CHECKING:
    from mpi4py import MPI

    from ._arguments import Path

Result = TypeVar("Result")


def run(main: Callable[[Session], Result], comm: MPI.Comm, config: Path = "") -> Result:
    """Opens a session over `comm`, calls `main(session)`, and finalizes the session. Returns what `main` has returned.

    With [recovery] mode = spares or respawn, the job continues when a process dies. On survivors, an exception leaves
    `main`: cairn.Rollback out of a call of Cairn, MPI.Exception out of a call of MPI. `main` is then called again, with
    a new session: it makes its arrays, protects them and restores. Processes that replace dead ones enter it, too.

    So `main` sets all variables that it uses, also global ones, and does not catch these two. Communicators and requests
    of the session before are not used again. Another exception ends the whole job, as with cairn.Session. Heads, and
    spares that are not needed, raise SystemExit when the job is over. Collective over `comm`.
    """
    if not callable(main):
        raise TypeError(f"cairn.run calls a function with a session, not {main!r:.80}")
    session = Session(comm, config)
    while True:
        session._is_of_run = True
        try:
            result = main(session)
        except BaseException as error:
            if not _is_of_failure(session, error):
                session._end_job(error, "the function that cairn.run has called")
                raise
        else:
            if not session._handle or _finalizes(session):
                return result
        # Out of the handler: the frames of `main` are gone, with their arrays.
        session = session._recovered()


def _finalizes(session):
    """False if a process has died before all ranks had finished."""
    try:
        session.finalize()
    except Rollback:
        return False
    return True


def _is_of_failure(session, error):
    """Whether the job rolls back. An error of the application may be due to wrong data of a rank that rolls back."""
    if isinstance(error, Rollback):
        return True
    if not session._handle or session._mpi.Is_finalized():
        return False
    if not session._learns_of_failure():
        return False
    if not isinstance(error, session._mpi.Exception):
        print(f"cairn: rank {session.comm.Get_rank()}: {type(error).__name__} while a process died, so it rolls back: "
              f"{error}", file=sys.stderr, flush=True)  # fmt: skip
    return True
