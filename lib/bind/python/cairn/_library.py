"""libcairn by its C API, <cairn/cairn.h>, without a compiled part."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

_NAME = "libcairn.so.0.1"


class RestoreStatus(ctypes.Structure):
    """cairn_restore_status."""

    _fields_ = [("restored", c_int), ("incarnation", c_uint32), ("version", c_uint32), ("ranks_from", c_uint32 * 4),
                ("my_level", c_int), ("lost_nodes", c_uint32), ("seconds", c_double),
                ("old_ranks", c_uint32), ("bytes_moved", c_uint64)]  # fmt: skip


class ReaderStatus(ctypes.Structure):
    """cairn_reader_status."""

    _fields_ = [("version", c_uint32), ("incarnation", c_uint32), ("label", c_char_p), ("regions", c_size_t)]


class RegionInfo(ctypes.Structure):
    """cairn_region_info."""

    _fields_ = [("name", c_char_p), ("type_text", c_char_p), ("type", c_int), ("element_bytes", c_size_t),
                ("elements", c_size_t), ("bytes", c_size_t), ("dimensions", c_size_t),
                ("shape", POINTER(c_uint64))]  # fmt: skip


LogFunction = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)

# What saves and loads an object. The first argument of SaveFunction is for cairn_put.
SaveFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
LoadFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p)

_session, _reader, _sizes = c_void_p, c_void_p, POINTER(c_size_t)
# The functions that return a code, by their arguments. cairn_init comes later: a communicator is what MPI makes it.
_FUNCTIONS = {
    "cairn_protect_block": [_session, c_char_p, c_void_p, c_int, c_int, _sizes, _sizes, _sizes, _sizes, _sizes],
    "cairn_protect_array": [_session, c_char_p, c_void_p, c_int, c_int, _sizes],
    "cairn_protect_opaque": [_session, c_char_p, c_void_p, c_char_p, c_size_t, c_size_t],
    "cairn_protect_object": [_session, c_char_p, SaveFunction, LoadFunction, c_void_p],
    "cairn_protect_file": [_session, c_char_p, c_char_p],
    "cairn_protect_directory": [_session, c_char_p, c_char_p],
    "cairn_put": [c_void_p, c_char_p, c_size_t],
    "cairn_kind_same": [_session, c_char_p],
    "cairn_kind_sequence": [_session, c_char_p],
    "cairn_kind_sequence_part": [_session, c_char_p, c_size_t, c_size_t],
    "cairn_kind_like": [_session, c_char_p, c_char_p],
    "cairn_kind_of_rank": [_session, c_char_p, c_uint32],
    "cairn_scratch_file": [_session, c_char_p, POINTER(c_char_p)],
    "cairn_destination": [_session, c_char_p, c_char_p],
    "cairn_unprotect": [_session, c_char_p],
    "cairn_snapshot": [_session, POINTER(c_uint32)],
    "cairn_snapshot_to": [_session, c_int, POINTER(c_uint32)],
    "cairn_due": [_session, POINTER(c_int)],
    "cairn_wait": [_session, c_int],
    "cairn_safe_version": [_session, c_int, POINTER(c_uint32)],
    "cairn_stored_elements": [_session, c_char_p, _sizes],
    "cairn_stored_total": [_session, c_char_p, _sizes],
    "cairn_restore": [_session],
    "cairn_restore_version": [_session, c_uint32],
    "cairn_restore_label": [_session, c_char_p],
    "cairn_restore_region": [_session, c_char_p],
    "cairn_open_snapshot": [_session, c_uint32, c_char_p, POINTER(_reader)],
    "cairn_reader_info": [_reader, POINTER(ReaderStatus)],
    "cairn_reader_region": [_reader, c_size_t, POINTER(RegionInfo)],
    "cairn_reader_read": [_reader, c_char_p, c_void_p, c_size_t, _sizes],
    "cairn_reader_extract": [_reader, c_char_p, c_char_p],
    "cairn_reader_close": [POINTER(_reader), c_int, POINTER(c_int)],
    "cairn_label": [_session, c_char_p],
    "cairn_pin": [_session],
    "cairn_attribute_number": [_session, c_char_p, c_char_p, c_double],
    "cairn_attribute_whole": [_session, c_char_p, c_char_p, c_int64],
    "cairn_attribute_text": [_session, c_char_p, c_char_p, c_char_p],
    "cairn_restore_info": [_session, POINTER(RestoreStatus)],
    "cairn_should_stop": [_session],
    "cairn_failed": [_session],
    "cairn_catches_up": [_session],
    "cairn_state": [_session],
    "cairn_recover": [_session],
    "cairn_suspect": [_session, c_char_p],
    "cairn_finalize": [POINTER(_session)],
}


def _paths():
    """Where libcairn may be: as CAIRN_LIBRARY says, beside an installed package, or where the loader looks."""
    chosen = os.environ.get("CAIRN_LIBRARY")
    if chosen:
        return [chosen]
    above = Path(__file__).resolve().parents
    near = [str(directory / _NAME) for directory in above[1:4] if (directory / _NAME).exists()]
    return [*near, _NAME]


def _open():
    tried = []
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(f"libcairn cannot be loaded: {'; '.join(tried)}. Install it, or set CAIRN_LIBRARY to the file")


def _declare(library):
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    library.cairn_restored_label.argtypes, library.cairn_restored_label.restype = [_session], c_char_p
    library.cairn_storage_error.argtypes, library.cairn_storage_error.restype = [_session], c_char_p
    library.cairn_abandon.argtypes, library.cairn_abandon.restype = [POINTER(_session)], None
    library.cairn_reader_drop.argtypes, library.cairn_reader_drop.restype = [POINTER(_reader)], None
    library.cairn_set_log.argtypes, library.cairn_set_log.restype = [LogFunction, c_void_p], None
    library.cairn_version.argtypes, library.cairn_version.restype = [], c_int
    for name in ("cairn_build_info", "cairn_error_text"):
        getattr(library, name).argtypes, getattr(library, name).restype = [], c_char_p
    return library


library = _declare(_open())


def text(found):
    """What a function that returns a text has returned."""
    return found.decode(errors="backslashreplace")


def build_info() -> str:
    """One line about the library: version and commit, MPI, HDF5, compiler and options."""
    return text(library.cairn_build_info())


def path():
    """The file of the library."""
    return library._name
