"""What protect() takes, as the C API has it."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy

from ._errors import UsageError

# cairn_type, by the kind and size of a dtype.
_NUMBERS = {"i1": 1, "i2": 2, "i4": 3, "i8": 4, "u1": 5, "u2": 6, "u4": 7, "u8": 8, "f4": 9, "f8": 10}

# Kinds of dtypes: one of a higher number has values that those of lower numbers cannot have.
_WIDER = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _references(holder, name):
    """To what an attribute holds; without a count of references, many."""
    return sys.getrefcount(getattr(holder, name)) if hasattr(sys, "getrefcount") else sys.maxsize


class Value:
    """A number that a snapshot can hold: `step = cairn.Value(0)`, then `step.value += 1`.

    An int becomes 64 bits, a float 64, a complex number 128, and a bool stays one; `dtype` chooses another. It stays so:
    an int is never given 0.5.
    """

    __slots__ = ("_array",)

    def __init__(self, value: complex, dtype: Any = None) -> None:
        self._array = numpy.array(value, dtype=dtype)
        if self._array.ndim != 0:
            raise TypeError("cairn.Value holds one number; protect an array itself")
        if self._array.dtype.kind not in _WIDER:
            raise TypeError(f"cairn.Value holds a number of a type of numpy, not {value!r:.80}: see cairn.Object")

    @property
    def value(self) -> Any:
        """The number, as Python has it."""
        return self._array.item()

    @value.setter
    def value(self, value: complex) -> None:
        given = numpy.asarray(value)
        if given.ndim != 0 or _WIDER.get(given.dtype.kind, 4) > _WIDER[self._array.dtype.kind]:
            raise TypeError(f"this cairn.Value holds {self._array.dtype.name}, which cannot be {value!r:.80}")
        self._array[()] = value

    def __repr__(self):
        return f"cairn.Value({self.value!r})"


class Region:
    """One array, as it was when it was protected. Holds it, so that it is not freed, and numpy refuses to resize it."""

    def __init__(self, name, data):
        array = data._array if isinstance(data, Value) else data
        if not isinstance(array, numpy.ndarray):
            raise TypeError(f'region "{name}": protect a numpy array or a cairn.Value, not {type(data).__name__}')
        if array.dtype.hasobject:
            raise TypeError(f'region "{name}" holds references to Python objects, which mean nothing in another process')
        if isinstance(array, numpy.ma.MaskedArray):
            raise TypeError(f'region "{name}" has a mask, which would not be saved: protect its .data and its .mask')
        if not array.flags.writeable:
            raise TypeError(f'region "{name}" is read-only, so it could not be restored')
        if not array.flags.c_contiguous and not array.flags.f_contiguous:
            raise TypeError(f'region "{name}" is not contiguous: protect the whole array, or a copy of the part')
        if not array.dtype.isnative:
            raise TypeError(f'region "{name}" has the byte order of another kind of machine ({array.dtype})')
        self.name, self.array = name, array
        self.address, self._bytes = array.ctypes.data, array.nbytes
        self._is_in_use = True
        # Dimensions are stored with the slowest first, which is the last of an array in Fortran's order.
        self.reverses = array.ndim > 1 and not array.flags.c_contiguous

    def check(self):
        """Before its elements are read or written. numpy resizes an array if it is told not to look for references."""
        if self.array.ctypes.data != self.address or self.array.nbytes != self._bytes:
            raise UsageError(f'region "{self.name}" was resized after protect(), so its old elements are gone: '
                             "protect it again after resize()")  # fmt: skip
        if self._is_in_use and not self._is_referenced():
            self._is_in_use = False
            warnings.warn(f'cairn: region "{self.name}": the program does not use this array any more, and snapshots keep '
                          "what it held: assign to u[:] or step.value, not to the name, or protect the new array",
                          RuntimeWarning, stacklevel=4)  # fmt: skip

    def _is_referenced(self):
        """Whether anything but this object refers to the array, or to the one that it is a view of."""
        if _references(self, "array") > _OF_HOLDER:
            return True
        return self.array.base is not None and _references(self.array, "base") > _OF_HOLDER

    @property
    def number(self):
        """cairn_type of its elements; None: Cairn does not compute with them."""
        return _NUMBERS.get(f"{self.array.dtype.kind}{self.array.dtype.itemsize}")

    @property
    def type_name(self):
        """How a restore compares elements that are no numbers to Cairn: the dtype, with the names of its fields."""
        dtype = self.array.dtype
        return f"numpy {dtype.descr if dtype.names else dtype.str}"[:255]

    def in_order(self, numbers):
        """Shape or place, with the slowest dimension first."""
        return tuple(reversed(numbers)) if self.reverses else tuple(numbers)


class _Holder:
    def __init__(self):
        self.held = object()


_OF_HOLDER = _references(_Holder(), "held") if hasattr(sys, "getrefcount") else 0
