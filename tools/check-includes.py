#!/usr/bin/env python3
"""Whether each source file includes what it uses: tools/check-includes.py BUILD

BUILD is configured with CAIRN_UNITY=OFF, and need not be built. Compiles each of its files in lib/, tools/, examples/ and
tests/ alone, without precompiled headers, and makes nothing of it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMIT_S = 300  # of one file


def commands(build):
    """File, directory and command for each C++ file, once."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if re.search(r"\.(cpp|hpp)$", entry["file"]) and entry["file"] not in found:
            words = [word for word in words if not re.search(r"ccache$", word)]
            place = words.index("-o")
            found[entry["file"]] = (entry["directory"], [*words[:place], *words[place + 2 :], "-fsyntax-only"])
    return found


def compiles(item):
    file, (directory, command) = item
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_S)  # fmt: skip
    if done.returncode != 0:
        print(f"{file} does not compile alone:\n{done.stdout[-3000:]}", flush=True)
    return done.returncode == 0


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/check-includes.py BUILD")
    found = commands(Path(sys.argv[1]))
    if not found:
        sys.exit(f"{sys.argv[1]} compiles no C++ file")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(compiles, found.items()))
    if not all(results):
        sys.exit(f"{results.count(False)} of {len(results)} files do not compile alone")
    print(f"{len(results)} files compile alone")


if __name__ == "__main__":
    main()
