"""Calls of MPI by ctypes. They are looked up among all libraries, as those of a compiled part are, so that libcairn-tap comes
first if it is preloaded."""

import atexit
import ctypes
import pickle
from ctypes import byref, c_char, c_int, c_void_p

import numpy

ctypes.CDLL("libmpich.so.12", ctypes.RTLD_GLOBAL)
_mpi = ctypes.CDLL(None)
_BYTE = 0x4C00010D  # MPI_BYTE, MPI_STATUS_IGNORE and MPI_PROC_NULL of mpi.h
_NO_STATUS, PROC_NULL = c_void_p(1), -1
_TAG = 7


class Exception(RuntimeError):
    """A call has failed."""


def _call(name, *arguments):
    if code := getattr(_mpi, f"MPI_{name}")(*arguments):
        raise Exception(f"MPI_{name} has returned {code}")


def _number(name, *arguments):
    number = c_int()
    _call(name, *arguments, byref(number))
    return number.value


class Comm:
    def __init__(self, handle=0x04000000):  # MPI_COMM_NULL
        self.handle = c_int(handle)

    def Get_rank(self):
        return _number("Comm_rank", self.handle)

    def Get_size(self):
        return _number("Comm_size", self.handle)

    def Abort(self, code):
        _call("Abort", self.handle, code)

    def Barrier(self):
        _call("Barrier", self.handle)

    def Sendrecv(self, data, dest, recvbuf, source):
        data = numpy.ascontiguousarray(data)
        _call("Sendrecv", c_void_p(data.ctypes.data), data.nbytes, _BYTE, dest, _TAG,
              c_void_p(recvbuf.ctypes.data), recvbuf.nbytes, _BYTE, source, _TAG, self.handle, _NO_STATUS)  # fmt: skip

    def allgather(self, data):
        all_data = []
        for rank in range(self.Get_size()):
            mine = pickle.dumps(data)
            size = c_int(len(mine))
            _call("Bcast", byref(size), 4, _BYTE, rank, self.handle)
            buffer = (c_char * size.value)(*(mine if rank == self.Get_rank() else b""))
            _call("Bcast", buffer, size.value, _BYTE, rank, self.handle)
            all_data.append(pickle.loads(buffer.raw))
        return all_data

    def gather(self, data, root):
        all_data = self.allgather(data)
        return all_data if self.Get_rank() == root else None


Intracomm = Comm
COMM_WORLD = Comm(0x44000000)


def Get_library_version():
    text, length = ctypes.create_string_buffer(8192), c_int()
    _call("Get_library_version", text, byref(length))
    return text.value.decode()


def Is_initialized():
    return bool(_number("Initialized"))


def Is_finalized():
    return bool(_number("Finalized"))


def Finalize():
    if not Is_finalized():
        _call("Finalize")


def _sizeof(_):
    return ctypes.sizeof(c_int)


def _handleof(comm):
    return comm.handle.value


def _addressof(comm):
    return ctypes.addressof(comm.handle)


_call("Init", None, None)
atexit.register(Finalize)
