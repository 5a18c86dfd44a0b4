"""Reader: a snapshot that is open for reading, while the job runs."""

from __future__ import annotations

from ctypes import byref, c_int, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Iterator, Optional, Type

import numpy

from ._arguments import path_of, text_of
from ._errors import UsageError, check
from ._library import ReaderStatus, RegionInfo, library, text
from ._offline import _with_its_dtype
from ._regions import _NUMBERS

if TYPE_CHECKING:
    from ._arguments import Path
    from ._session import Session

_DTYPES = {number: name for name, number in _NUMBERS.items()}


class Reader:
    """A snapshot that is open for reading: `with session.open_snapshot(7) as old:`, then `old["plate"]`.

    Leaving the block closes it, which is collective; after an exception, this rank alone drops it. It has this rank's
    regions, by name; they need not be protected. Each `old[name]` reads and checks the region again, and returns a new
    array. Objects and files are arrays of bytes.
    """

    def __init__(self, session: Session, handle: c_void_p) -> None:
        self._session, self._handle = session, handle
        status = ReaderStatus()
        self._call("cairn_reader_info", byref(status))
        self.version, self.incarnation, self.label = status.version, status.incarnation, text(status.label)
        self._regions = {}
        for index in range(status.regions):
            region = RegionInfo()
            self._call("cairn_reader_region", index, byref(region))
            dtype = numpy.dtype(_DTYPES[region.type] if region.type else f"V{region.element_bytes}")
            shape = tuple(region.shape[i] for i in range(region.dimensions))
            self._regions[text(region.name)] = dtype, shape, text(region.type_text)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:  # fmt: skip
        if kind is not None:
            self.drop()
        elif self._handle:
            self.close()

    def __del__(self):
        self.drop()

    def __iter__(self) -> Iterator[str]:
        return iter(self._regions)

    def __len__(self) -> int:
        return len(self._regions)

    def __contains__(self, name: object) -> bool:
        return name in self._regions

    def __getitem__(self, name: str) -> numpy.ndarray:
        """This rank's region. Ranks may read different regions. Local."""
        dtype, shape, type_text = self._regions.get(name, (numpy.dtype("u1"), (0,), ""))
        array = numpy.empty(shape, dtype)
        self._call("cairn_reader_read", text_of("the name of a region", name), array.ctypes.data_as(c_void_p),
                   array.nbytes, None)  # fmt: skip
        return _with_its_dtype(array, type_text)

    def extract(self, name: str, path: Path) -> None:
        """Writes this rank's file or directory to path, as restore() would put it back at its own place. Local.

        Files there are replaced as a whole or, after an error, stay as they were. See cairn_reader_extract.
        """
        self._call("cairn_reader_extract", text_of("the name of a region", name), path_of("the path", path))

    def close(self, good: bool = True) -> bool:
        """Closes it. Returns whether all ranks have passed good = True; see cairn_reader_close. Collective.

        If a rank passes False, the snapshot is rejected, and the next open_snapshot() or restore() takes an older one.
        """
        self._session._usable()
        all_good = c_int()
        check(library.cairn_reader_close(byref(self._handle), bool(good), byref(all_good)))
        return bool(all_good.value)

    def drop(self) -> None:
        """Closes it on this rank, without the others. Local."""
        if self._handle:
            library.cairn_reader_drop(byref(self._handle))

    def _call(self, name, *arguments):
        self._session._usable()
        if not self._handle:
            raise UsageError("the snapshot is closed")
        check(getattr(library, name)(self._handle, *arguments))
