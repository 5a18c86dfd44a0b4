#!/usr/bin/env python3
"""The examples that swap two arrays at each step continue from an odd step, where each array is at the other's first
address, with the same result as without a restart.

    swapped.py MPIEXEC SWING [WAVE]
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """[storage]
local = {0}/local
global = {0}/global
[levels]
l1 = every 1
l2 = off
l3 = off
[head]
mode = inline
[restart]
at_end = continue
"""
FIRST, ALL = 3, 8  # steps
LIMIT_S = 60


def run(mpiexec, directory, program, steps):
    """The output, and the bytes of the file that the program has written, if it writes one."""
    config, result = directory / "job.ini", directory / "result"
    config.write_text(CONFIG.format(directory))
    if program.name == "wave":
        arguments = [config, str(steps)]
    else:
        arguments = ["--steps", str(steps), "--config", config, "--output", result]
    command = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n", "2", program, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"{program.name} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout, result.read_bytes() if result.exists() else re.search(r"the sum is (\w+)", done.stdout)[1]


def main():
    mpiexec, *programs = sys.argv[1:]
    for program in map(Path, programs):
        with tempfile.TemporaryDirectory(prefix="cairn-swapped-") as one, tempfile.TemporaryDirectory() as other:
            _, wanted = run(mpiexec, Path(one), program, ALL)
            run(mpiexec, Path(other), program, FIRST)
            output, result = run(mpiexec, Path(other), program, ALL)
        if not re.search(rf"at step +{FIRST}\b", output):
            sys.exit(f"{program.name} did not continue at step {FIRST}:\n{output}")
        if result != wanted:
            sys.exit(f"{program.name} continued with wrong numbers")
        print(f"{program.name}: same result from step {FIRST} on", flush=True)


main()
