#!/usr/bin/env python3
"""Hosts and directories that do not go together are refused when a job starts, with what to change.

    one_store.py HEAT MPIEXEC

Must be started by root, who can give processes mounts and host names of their own.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """[job]
name = heat
[storage]
local = {local}
global = global
"""
# Each rank in mounts of its own, with another file system as [storage] local; or with a host name of its own.
CONTAINERS = {
    "a private directory for each process": (
        'exec unshare --mount sh -c \'mount -t tmpfs none "$LOCAL" && exec "$@"\' sh "$@"',
        ["world ranks 0 and 1 of host", "see different directories as [storage] local", "mount the same one"],
    ),
    "one directory for two hosts": (
        'exec unshare --uts sh -c \'hostname "node$OMPI_COMM_WORLD_RANK" && exec "$@"\' sh "$@"',
        ["hosts node0 and node1 share one directory as [storage] local", "of each host's own"],
    ),
}


def play(heat, mpiexec, work, script, said):
    local = work / "local"
    local.mkdir()
    (work / "heat.ini").write_text(CONFIG.format(local=local))
    command = ["timeout", "-s", "KILL", "60", mpiexec, "--oversubscribe", "--bind-to", "none", "-n", "2", "sh", "-c",
               script, "sh", str(heat), "--size", "21", "--width", "17", "--steps", "10", "--config", "heat.ini",
               "--output", "plate.bin"]  # fmt: skip
    ended = subprocess.run(command, cwd=work, env=dict(os.environ, LOCAL=str(local)), text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if ended.returncode in (0, 137) or any(words not in ended.stdout for words in said):
        raise AssertionError(f"exit code {ended.returncode}, not refused with {said}:\n{ended.stdout}")


def main():
    heat, mpiexec = sys.argv[1:]
    for what, (script, said) in CONTAINERS.items():
        with tempfile.TemporaryDirectory(prefix="cairn-one-store-") as work:
            play(heat, mpiexec, Path(work), script, said)
        print(f"{what} is refused")


if __name__ == "__main__":
    main()
