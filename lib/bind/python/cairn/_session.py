"""Session: a process's part in a job that Cairn protects."""

from __future__ import annotations

import os
import sys
import time
import traceback
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Optional, Type, Union

import numpy

from ._answers import Restored, State
from ._arguments import path_of, text_of, whole_of
from ._errors import HEAD, ONLY_RUN, Error, UsageError, check
from ._kinds import AnyPlace, Kind, place_of
from ._library import RestoreStatus, library, text
from ._mpi import check_mpi, communicator_of, init
from ._objects import Pickled
from ._reader import Reader
from ._regions import Region, Value

if TYPE_CHECKING:
    from mpi4py import MPI

    from ._arguments import Path

_PATIENCE_S = 1  # as cairn_run


class Session:
    """Opens a session over `comm`, for `with cairn.Session(MPI.COMM_WORLD, "heat.ini") as session:`.

    `config` is the path of the configuration file, which only rank 0 reads; "" means the defaults. Leaving the block
    finalizes the session. An exception that leaves it ends the whole job, since the other ranks would wait.

    With head ranks under plain mpirun, the call raises SystemExit on heads when the job is over for them.

    Collective over `comm`. All calls of a session come from one thread, and release the interpreter's lock.
    """

    def __init__(self, comm: MPI.Comm, config: Path = "") -> None:
        from mpi4py import MPI  # not for cairn.open

        check_mpi(MPI, comm)
        code, handle = init(MPI, comm, path_of("config", config))
        if code == HEAD:
            raise SystemExit(0)
        check(code)
        self._begin(MPI, comm, handle)

    def _begin(self, MPI, world, handle):
        self._mpi, self._world, self._handle = MPI, world, handle
        self._process = os.getpid()
        self._regions = {}
        self._is_of_run = False  # which decides what an exception means
        code, self._comm = communicator_of(MPI, handle)
        check(code)

    def _recovered(self):
        """The session with which this process goes on after a failure; this one has ended. Collective."""
        check(self._call("cairn_recover"))
        session = Session.__new__(Session)
        session._begin(self._mpi, self._world, self._handle)
        self._handle = None
        return session

    def __reduce__(self):
        raise TypeError("a session is this process's part in a job, and can be neither pickled nor copied")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Any) -> None:
        if not self._handle or os.getpid() != self._process or (kind and self._is_of_run):
            return
        if kind is None:
            self.finalize()
            return
        of_mpi = isinstance(error, self._mpi.Exception) and not self._mpi.Is_finalized()
        of_failure = of_mpi and self._learns_of_failure()
        self._end_job(error, "the block of cairn.Session", f": a process died, and {ONLY_RUN}" if of_failure else "")

    def _learns_of_failure(self):
        """Whether an error may be the consequence of a failure, which this process need not know yet."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self.failed:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def _end_job(self, error, left, why=""):
        if self._mpi.Is_finalized():
            return
        sys.stdout.flush()
        traceback.print_exception(type(error), error, error.__traceback__)
        print(f"cairn: rank {self._world.Get_rank()}: {type(error).__name__} has left {left} without finalize(), "
              f"so the job ends{why}", file=sys.stderr, flush=True)  # fmt: skip
        self._world.Abort(1)

    @property
    def comm(self) -> MPI.Intracomm:
        """The communicator of the application's ranks, without heads: communicate over it. Cairn owns it."""
        return self._comm

    def protect(self, name: str, data: Any, place: Optional[AnyPlace] = None, kind: Optional[Kind] = None) -> None:
        """Makes a numpy array, a cairn.Value or any object part of all later snapshots, and of restore().

        The array must be contiguous and writeable; it stays this array, with this shape. In Fortran's order the shape
        is stored reversed. Other dtypes than integers and reals are stored as bytes, and compared by their dtype.
        `place=(global_shape, offset)`, or a cairn.Place with ghosts: it is this rank's part of an array that spans
        ranks, and L4 files show that one. `kind` is what another array is to the whole job, such as cairn.same or
        cairn.sequence. A region of this name is replaced; without `place` and `kind` it keeps its kind.

        Any other object, such as a dict, a list, a random generator or one of a class, is stored as pickle writes it,
        and restore() changes this object. One that cannot change, such as a tuple, is held by a cairn.Object. Local.
        """
        key = _name(name)
        is_array = isinstance(data, (numpy.ndarray, Value))
        region = Region(name, data) if is_array else Pickled(name, data)
        if kind is not None and not isinstance(kind, Kind):
            raise TypeError(f'region "{name}": {kind!r} is no kind; use cairn.same, cairn.sequence, '
                            "cairn.sequence_part(), cairn.like() or cairn.of_rank()")  # fmt: skip
        check(self._protect(key, region, place))
        self._regions[key] = region
        if kind is not None:
            check(self._call(kind.call, key, *kind.arguments))

    def protect_file(self, name: str, path: Path, kind: Optional[Kind] = None) -> None:
        """Makes a file that this rank writes part of all later snapshots, with its length and permissions.

        restore() puts it back, after all ranks have read the same snapshot; a log whose beginning is the same is
        truncated in place. Flush what you have written before snapshot(), and open other files than logs after
        restore(). `kind`, for another number of ranks: cairn.of_rank(), or cairn.same. Local.
        """
        self._protect_path("file", name, path, kind)

    def protect_directory(self, name: str, path: Path, kind: Optional[Kind] = None) -> None:
        """Makes a directory that this rank writes to part of all later snapshots, with all files in it.

        What holds for protect_file() holds for each of its files. Files that have appeared since the snapshot stay.
        Links are refused. Local.
        """
        self._protect_path("directory", name, path, kind)

    def scratch_file(self, name: str, kind: Optional[Kind] = None) -> str:
        """Protects a file in the node's own store, and returns its path, for a program that writes one for each snapshot.

        Write and close it before snapshot(), which removes it: its contents are in the snapshot. restore() puts it
        there, to be read until the next snapshot. See cairn_scratch_file. `kind` as for protect_file(). Local.
        """
        key, path = _name(name), c_char_p()
        check(self._call("cairn_scratch_file", key, byref(path)))
        if kind is not None:
            check(self._call(kind.call, key, *kind.arguments))
        self._regions[key] = os.fsdecode(path.value)
        return self._regions[key]

    def destination(self, name: str, path: Path) -> None:
        """When a snapshot reaches L4, writes the file that is protected as `name` also to `path`, for other programs.

        "{version}" and "{rank}" in the path stand for their numbers. Nothing is removed there. "" ends it. See
        cairn_destination. Local.
        """
        check(self._call("cairn_destination", _name(name), path_of(f'destination of "{name}"', path)))

    def _protect_path(self, what, name, path, kind):
        key = _name(name)
        check(self._call(f"cairn_protect_{what}", key, path_of(f'{what} "{name}"', path)))
        self._regions[key] = path
        if kind is not None:
            check(self._call(kind.call, key, *kind.arguments))

    def _protect(self, key, region, place):
        if isinstance(region, Pickled):
            if place is not None:
                raise UsageError(f'region "{key.decode()}": only arrays can be a part of a global array')
            return self._call("cairn_protect_object", key, region.save, region.load, None)
        shape = region.in_order(region.array.shape)
        if region.number is None:
            if place is not None:
                raise UsageError(f'region "{key.decode()}": only integers and reals can be a part of a global array')
            return self._call("cairn_protect_opaque", key, region.address, region.type_name.encode(),
                              region.array.itemsize, region.array.size)  # fmt: skip
        if place is None:
            return self._call("cairn_protect_array", key, region.address, region.number, len(shape), _sizes(shape))
        place = place_of(region.name, len(shape), place)
        numbers = [None if numbers is None else _sizes(region.in_order(numbers)) for numbers in place]
        return self._call("cairn_protect_block", key, region.address, region.number, len(shape), _sizes(shape), *numbers)

    def unprotect(self, name: str) -> None:
        """Later snapshots do not contain this region. Local."""
        key = _name(name)
        check(self._call("cairn_unprotect", key))
        del self._regions[key]

    def snapshot(self, level: Optional[int] = None) -> Optional[int]:
        """Takes a snapshot if one is due; with a level, 1 to 4, now and for that level.

        Returns its version, or None if none was due. Collective, at a safe point: no message is under way.
        """
        self._check_regions()
        version = c_uint32()
        if level is None:
            check(self._call("cairn_snapshot", byref(version)))
        else:
            check(self._call("cairn_snapshot_to", whole_of("level", level, 31), byref(version)))
        return version.value or None

    def due(self) -> bool:
        """Whether the next snapshot() will take one: before expensive preparations. Collective."""
        due = c_int()
        check(self._call("cairn_due", byref(due)))
        return bool(due.value)

    def wait(self, level: int) -> None:
        """Blocks until the newest snapshot that was to reach the level has reached it. Collective."""
        check(self._call("cairn_wait", whole_of("level", level, 31)))

    def safe_version(self, level: int) -> int:
        """The newest version that has reached the level, as far as this rank knows; 0: none. Local."""
        version = c_uint32()
        check(self._call("cairn_safe_version", whole_of("level", level, 31), byref(version)))
        return version.value

    def stored(self, name: str) -> int:
        """Elements that this rank's region has in the snapshot that restore() will restore; 0: it is not there.

        To be called before restore(), to make an array of that size. On another number of ranks it is the number that
        this rank will get, by the region's kind; one that is not protected counts as a sequence. Collective at first,
        then local.
        """
        count = c_size_t()
        check(self._call("cairn_stored_elements", _name(name), byref(count)))
        return count.value

    def stored_total(self, name: str) -> int:
        """Elements that the regions of all ranks have together in that snapshot; 0: a fresh start. As stored()."""
        count = c_size_t()
        check(self._call("cairn_stored_total", _name(name), byref(count)))
        return count.value

    def restore(self, name: Optional[str] = None, *, version: Optional[int] = None,
                label: Optional[str] = None) -> Optional[Restored]:
        """Copies the newest recoverable snapshot into all regions, or into one; or this version into all.

        With a label, it is the newest snapshot with that label.

        Versions that are newer than a chosen one are abandoned, and not restored any more: see cairn_restore_version.
        Returns what it did, or None on a fresh start. Collective.
        """
        self._check_regions()
        if sum(one is not None for one in (name, version, label)) > 1:
            raise ValueError("restore() copies a version into all regions: pass a name, a version or a label")
        if version is not None:
            code = self._call("cairn_restore_version", whole_of("version", version))
        elif label is not None:
            code = self._call("cairn_restore_label", text_of("label", label))
        elif name is None:
            code = self._call("cairn_restore")
        else:
            code = self._call("cairn_restore_region", _name(name))
        self._check_loaded(code)
        status = RestoreStatus()
        check(self._call("cairn_restore_info", byref(status)))
        if not status.restored:
            return None
        return Restored(status.version, status.incarnation, tuple(status.ranks_from), status.my_level,
                        status.lost_nodes, status.seconds, status.old_ranks, status.bytes_moved,
                        text(self._call("cairn_restored_label")))  # fmt: skip

    def open_snapshot(self, version: Optional[int] = None, *, label: Optional[str] = None) -> Reader:
        """Opens the newest snapshot, this version, or the newest with this label, to read it as arrays.

        `with session.open_snapshot(7) as old:`, then `old["plate"]`. Nothing is restored. It may be called before
        restore() and between snapshots; see cairn_open_snapshot. Collective.
        """
        if version is not None and label is not None:
            raise ValueError("open_snapshot() takes a version or a label")
        if version == 0:
            raise UsageError("open_snapshot: version 0 does not exist; versions begin with 1")
        handle = c_void_p()
        number = 0 if version is None else whole_of("version", version)
        check(self._call("cairn_open_snapshot", number, None if label is None else text_of("label", label), byref(handle)))
        return Reader(self, handle)

    def _check_loaded(self, code):
        """The error of an object is the cause of that of restore()."""
        errors = [region.error for region in self._regions.values() if isinstance(region, Pickled) and region.error]
        try:
            check(code)
        except Error as error:
            raise error from (errors[0] if errors else None)

    @property
    def should_stop(self) -> bool:
        """Whether the job has been asked to stop; the same on all ranks after snapshot()."""
        return self._call("cairn_should_stop") == 1

    @property
    def state(self) -> State:
        """How this process entered the application: a cairn.State."""
        return State(self._call("cairn_state"))

    @property
    def failed(self) -> bool:
        """Whether this process knows that another one has died: for loops without calls of Cairn. Local."""
        return self._call("cairn_failed") == 1

    @property
    def catches_up(self) -> bool:
        """With [recovery] rollback = lost: whether this process computes again what the dead rank had computed.

        Survivors do not repeat their calls, so between restore() and the loop of time steps it must not communicate.
        """
        return self._call("cairn_catches_up") == 1

    @property
    def storage_error(self) -> str:
        """Why a snapshot last failed because of storage; "" if none did."""
        return text(self._call("cairn_storage_error"))

    def label(self, label: str) -> None:
        """Gives the next snapshot that is taken a label; see cairn_label. The same on all ranks. Local."""
        check(self._call("cairn_label", text_of("label", label)))

    def pin(self) -> None:
        """Pins the next snapshot that is taken: it stays at L4 until ckpt-tool unpin. On all ranks. Local."""
        check(self._call("cairn_pin"))

    def attribute(self, name: str, value: Union[float, str], *, region: Optional[str] = None) -> None:
        """Sets an attribute of this snapshot and of later ones: a number or a text; see cairn_attribute_number.

        With a region, it is of that region, such as its unit. The same on all ranks. Local.
        """
        kind, plain = _attribute(value)
        of = None if region is None else _name(region)
        check(self._call("cairn_attribute_" + kind, of, text_of("the name of an attribute", name), plain))

    def suspect(self, why: str) -> None:
        """Reports that something seems to be wrong with this rank or its node, in a few words. Local."""
        check(self._call("cairn_suspect", text_of("why", why)))

    def finalize(self) -> None:
        """Waits for background work, writes the newest snapshot to L4, and ends the job's chain. Collective."""
        self._usable()
        code = library.cairn_finalize(byref(self._handle))
        if not self._handle:
            self._regions.clear()
        check(code)

    def _check_regions(self):
        for region in self._regions.values():
            if isinstance(region, Region):
                region.check()

    def _usable(self):
        if os.getpid() != self._process:
            raise UsageError(f"this session is of process {self._process}, and a forked child cannot use it")
        if not self._handle:
            raise UsageError("the session has ended")
        if self._mpi.Is_finalized():
            raise UsageError("MPI.Finalize() was called before the session ended: leave its block, or call finalize(), first")

    def _call(self, name, *arguments):
        self._usable()
        return getattr(library, name)(self._handle, *arguments)


def _name(name):
    return text_of("the name of a region", name)


def _attribute(value):
    """The kind of an attribute, and its value as the C API takes it."""
    if isinstance(value, str):
        return "text", text_of("attribute", value)
    if isinstance(value, Integral):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"attribute: {value} has more than 64 bits")
        return "whole", int(value)
    if isinstance(value, Real):
        return "number", float(value)
    raise TypeError(f"attribute: a number or a str, not {value!r:.80}")


def _sizes(numbers):
    return (c_size_t * len(numbers))(*numbers)
