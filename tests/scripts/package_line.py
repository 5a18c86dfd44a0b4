#!/usr/bin/env python3
"""tools/install-packages.sh in a clone that belongs to another user: it changes nothing there, whether apt-get succeeds or
fails, so that this user can build afterwards. The commands that would change the system are replaced.

    package_line.py SOURCE
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOMEBODY = 65534  # the clone's owner, if this test runs as root
MISSING = "libpng-dev"  # of the group demo
REPLACED = {
    "apt-get": 'echo "apt-get $*"; [ ! -e "$0.fails" ]',
    "dpkg-query": f'shift 3; for name; do [ "$name" = {MISSING} ] || echo "$name installed"; done',
    "sudo": 'exec "$@"',
    "tee": "exec cat >/dev/null",
    "chmod": "",
    "sync": "",
    "mpirun": "echo Open MPI",
    "mpicc": "echo Open MPI",
    # Services were forbidden by a file that `tee` did not write.
    "rm": 'case "$*" in *policy-rc.d) ;; *) exec /bin/rm "$@" ;; esac',
}


def state_of(clone):
    """Each file with its owner and time."""
    return {path: (path.lstat().st_uid, path.lstat().st_mtime_ns) for path in [clone, *clone.rglob("*")]}


def must(condition, what, output):
    if not condition:
        sys.exit(f"{what}\n{output}")


def main():
    source = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="cairn-package-line-") as name:
        root = Path(name)
        clone, commands, rest = root / "clone", root / "commands", root / "tmp"
        (clone / "tools").mkdir(parents=True)
        commands.mkdir()
        rest.mkdir()
        for file in ("install-packages.sh", "lib.sh", "packages.txt"):
            shutil.copy2(source / "tools" / file, clone / "tools" / file)
        for command, body in REPLACED.items():
            (commands / command).write_text(f"#!/bin/sh\n{body}\n")
            (commands / command).chmod(0o755)
        if os.getuid() == 0:
            for path in (clone, *clone.rglob("*")):
                os.chown(path, SOMEBODY, SOMEBODY)
        before = state_of(clone)
        environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "TMPDIR": str(rest)}
        for fails in (False, True):
            if fails:
                (commands / "apt-get.fails").touch()
            done = subprocess.run([clone / "tools" / "install-packages.sh", "demo"], env=environment, timeout=60, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # fmt: skip
            must(state_of(clone) == before, "the clone has changed", done.stdout)
            must((done.returncode != 0) == fails, f"it ended with {done.returncode}", done.stdout)
            logs = list(rest.iterdir())
            must(len(logs) == fails, f"files that are left: {logs}", done.stdout)
        must("apt-get update" in logs[0].read_text(), "the output of apt-get is not kept", logs[0].read_text())
        must(str(logs[0]) in done.stdout and MISSING in done.stdout, "it should name the log and the package", done.stdout)
    print("the clone stays as it was, and the output of a failed apt-get is kept")


main()
