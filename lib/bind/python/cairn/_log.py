"""The log, as a function of the program receives it."""

from __future__ import annotations

import logging
from typing import Any, Callable, Optional

from ._errors import UsageError
from ._library import LogFunction, library, text

_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_current = None  # what the library calls must stay alive


def set_log(log: Optional[Callable[[int, str], Any]]) -> None:
    """Passes each line of Cairn's log to `log(level, line)`, with a level of the module logging; None: to stderr.

    To be called before a session is opened. Cairn calls `log` from any of its threads, never from two at once; it must
    call neither MPI nor Cairn. `cairn.set_log(logging.getLogger("cairn").log)` is one.
    """
    global _current
    if log is not None and not callable(log):
        raise UsageError("cairn.set_log takes a function of a level and a line, or None")
    wanted = LogFunction() if log is None else LogFunction(lambda level, line, _: log(_LEVELS[level], text(line)))
    library.cairn_set_log(wanted, None)
    _current = wanted
