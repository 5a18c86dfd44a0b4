"""Objects: what is no array goes into snapshots as pickle writes it."""

from __future__ import annotations

import pickle
import sys
import traceback
from collections import deque
from ctypes import string_at
from typing import Any

import numpy

from ._library import LoadFunction, SaveFunction, library

# How the contents of an object become those of another one.
_REPLACE = {
    dict: lambda old, new: (old.clear(), old.update(new)),
    list: lambda old, new: old.__setitem__(slice(None), new),
    bytearray: lambda old, new: old.__setitem__(slice(None), new),
    set: lambda old, new: (old.clear(), old.update(new)),
    deque: lambda old, new: (old.clear(), old.extend(new)),
}


class Object:
    """Any value that pickle can write: `best = cairn.Object(None)`, then `best.value = (step, "text")`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getstate__(self):
        return {"value": self.value}

    def __setstate__(self, state):
        self.value = state["value"]

    def __repr__(self):
        return f"cairn.Object({self.value!r})"


def _state_of(data):
    """What __reduce_ex__ says that a new object gets, beside its arguments; None: nothing."""
    reduced = data.__reduce_ex__(4)
    return reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None


def _replaces(data):
    """The function that gives `data` the contents of another object of its type; None: nobody can do that."""
    for kind, replace in _REPLACE.items():
        if type(data) is kind:
            return replace
    if isinstance(data, numpy.generic):
        return None
    if hasattr(data, "bit_generator"):  # of numpy: it shares its generator with others
        return lambda old, new: setattr(old.bit_generator, "state", new.bit_generator.state)
    if hasattr(data, "set_state") and hasattr(data, "get_state"):  # numpy.random.RandomState
        return lambda old, new: old.set_state(new.get_state())
    if hasattr(data, "__setstate__"):
        return lambda old, new: old.__setstate__(_state_of(new))
    if hasattr(data, "__dict__") and not callable(data) and not hasattr(type(data), "__slots__"):
        return lambda old, new: (old.__dict__.clear(), old.__dict__.update(new.__dict__))
    return None


class Pickled:
    """An object that is protected, with the functions that the C API calls. Holds it, so that it is not freed."""

    def __init__(self, name, data):
        replace = _replaces(data)
        if replace is None:
            raise TypeError(f'region "{name}": {type(data).__name__} cannot be given other contents; protect a '
                            "cairn.Value or a cairn.Object that holds it")  # fmt: skip
        try:
            pickle.dumps(data)
        except Exception as error:
            raise TypeError(f'region "{name}": pickle cannot write it: {error}') from error
        self.data, self.error = data, None
        self.save = SaveFunction(self._told(name, self._save))
        self.load = LoadFunction(self._told(name, self._load))
        self._replace = replace

    def _save(self, out, _):
        saved = pickle.dumps(self.data, protocol=4)
        return library.cairn_put(out, saved, len(saved))

    def _load(self, begin, count, _):
        loaded = pickle.loads(string_at(begin, count))
        if type(loaded) is not type(self.data):
            raise TypeError(f"it is {type(loaded).__name__} in the snapshot, and {type(self.data).__name__} here")
        self._replace(self.data, loaded)
        return 0

    def _told(self, name, function):
        """An exception cannot pass through C: it is printed, and comes with the error of the call."""

        def call(*arguments):
            self.error = None
            try:
                return function(*arguments)
            except BaseException as error:
                self.error = error
                print(f'cairn: region "{name}":', file=sys.stderr)
                traceback.print_exception(type(error), error, error.__traceback__)
                sys.stderr.flush()
                return 1

        return call
