"""Errors are exceptions by kind, with the text that C++ programs get."""

from ._library import library, text


class Error(RuntimeError):
    """An error of Cairn; the log has it, too. If other ranks may not have it, end the job: they would wait."""


class UsageError(Error):
    """An argument is wrong, or calls are in a wrong order."""


class ConfigError(Error):
    """The configuration is wrong; the text names file, line and key."""


class StorageError(Error):
    """A store is full or failed. The job can continue, and the last good snapshot remains."""


class CorruptError(Error):
    """Stored data is damaged."""


class UnrecoverableError(Error):
    """Snapshots exist, but none of them can be restored completely."""


class MismatchError(Error):
    """Ranks or regions differ from those of the snapshot."""


class TakenOverError(Error):
    """Another run of the job uses the same stores."""


class CommunicationError(Error):
    """A peer cannot be reached."""


class Rollback(BaseException):
    """A process has died. It leaves the function that run() calls, and run() calls that again: do not catch it."""


OK, HEAD, ROLLBACK = 0, 1, 2
_KINDS = {-1: UsageError, -2: ConfigError, -3: StorageError, -4: CorruptError, -5: UnrecoverableError,
          -6: MismatchError, -7: TakenOverError, -8: CommunicationError}  # fmt: skip


ONLY_RUN = "only cairn.run() can roll back: call it, or set [recovery] mode = restart"


def check(code):
    """Raises what the code of a call means."""
    if code == OK:
        return
    if code == ROLLBACK:
        raise Rollback(f"a process died; {ONLY_RUN}")
    raise _KINDS.get(code, Error)(text(library.cairn_error_text()))
