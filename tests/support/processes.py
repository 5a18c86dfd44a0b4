"""Processes as /proc shows them, for the tests that kill some."""

import os
import time
from pathlib import Path


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def send(pid, what):
    """Sends a signal; False if the process is gone already."""
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        return False
    return True


def left_of(pids, limit_s):
    """Those that are still alive after so long; those that were killed need a moment to end."""
    deadline = time.monotonic() + limit_s
    while (left := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def environment_of(pid):
    """Its variables when it was started; none if it is gone."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(entry.decode(errors="replace").partition("=")[::2] for entry in entries if entry)


def program_of(pid):
    """The path of what it runs; None if it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def descendants(pid):
    """Processes that `pid` started, and those that they started."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = []
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found
