"""Communicators, as mpi4py and the C API have them."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p

from ._errors import Error, UsageError
from ._library import build_info, library


def check_mpi(MPI, comm):
    """Raises what keeps a session from being opened: one process cannot use two MPIs, whose handles differ."""
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"a session is opened over a communicator of mpi4py, such as MPI.COMM_WORLD, not {comm!r}")
    theirs = MPI.Get_library_version().split("\n")[0]
    ours = build_info()
    for name in ("Open MPI", "MPICH", "Intel(R) MPI"):
        if name in ours and name not in theirs:
            raise Error(f"mpi4py uses {theirs.strip()}, and Cairn was built with {name}: use an mpi4py of that MPI")
    if not MPI.Is_initialized():
        raise UsageError("MPI is not initialized: import MPI from mpi4py, or call MPI.Init() first")


def handle_of(MPI, comm):
    """A communicator as the C API takes it: a pointer in Open MPI, an integer in MPICH."""
    kind = {ctypes.sizeof(c_void_p): c_void_p, ctypes.sizeof(c_int): c_int}[MPI._sizeof(MPI.Comm)]
    return kind(MPI._handleof(comm))


def communicator_of(MPI, session):
    """The communicator of the application's ranks, as mpi4py has it. Cairn owns it."""
    comm = MPI.Intracomm()
    library.cairn_comm.argtypes, library.cairn_comm.restype = [c_void_p, c_void_p], c_int
    code = library.cairn_comm(session, MPI._addressof(comm))
    return code, comm


def init(MPI, comm, config):
    """cairn_init with the path of a configuration, in bytes: the code, and the session."""
    session = c_void_p()
    handle = handle_of(MPI, comm)
    library.cairn_init.argtypes = [type(handle), c_char_p, POINTER(c_void_p)]
    library.cairn_init.restype = c_int
    code = library.cairn_init(handle, config, byref(session))
    return code, session
