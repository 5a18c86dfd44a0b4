#!/usr/bin/env python3
"""The tap defines each call of this MPI that has a communicator, request, window, file, message or group.

    mpi_table.py COMPILER LIBRARY TABLE

COMPILER is the MPI's own, such as mpicc; LIBRARY is libcairn-tap, or a program that contains it; TABLE is calls.txt.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from mpi_calls import calls_in_table, calls_to_intercept  # noqa: E402


def main():
    compiler, library, table = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    wanted = calls_to_intercept(compiler)
    if len(wanted) < 200:
        sys.exit(f"mpi.h of {compiler} declares only {len(wanted)} such calls: it was not understood")
    symbols = subprocess.run(["nm", "--defined-only", library], stdout=subprocess.PIPE, check=True, text=True).stdout
    defined = set(re.findall(r" [WwT] (P?MPI_\w+)$", symbols, re.MULTILINE))
    expected = {f"{prefix}{call}" for call in wanted for prefix in ("MPI_", "PMPI_")}
    problems = [f"not defined: {name}" for name in sorted(expected - defined)]
    problems += [f"defined, though mpi.h has no such call: {name}" for name in sorted(defined - expected)]
    # The generator takes a call without a line for one that may block. A person has to look at each.
    named = calls_in_table(table)
    problems += [f"{table.name} has no line for {call}" for call in sorted(wanted) if re.sub("_c$", "", call) not in named
                 and call not in named]  # fmt: skip
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(wanted)} calls")


main()
