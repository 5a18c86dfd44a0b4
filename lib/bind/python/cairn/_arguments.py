"""What callers pass, as the C API takes it. Another argument is an error that names it."""

import operator
import os
from typing import Union

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def text_of(what, value):
    """A str without NUL characters, at which a name in C would end."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {value!r:.80}")
    if "\0" in value:
        raise ValueError(f"{what} is {value!r}: a NUL character cannot be part of it")
    return os.fsencode(value)


def path_of(what, value):
    """A str, bytes or a path."""
    try:
        path = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{what} is a path, not {value!r:.80}") from None
    if b"\0" in path:
        raise ValueError(f"{what} is {value!r}: a NUL character cannot be part of it")
    return path


def whole_of(what, value, bits=32):
    """A whole number, from 0 on. ctypes would cut one that has more bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {value!r:.80}") from None
    if not 0 <= number < 2**bits:
        raise ValueError(f"{what} is {number}: it must be from 0 to 2^{bits} - 1")
    return number
