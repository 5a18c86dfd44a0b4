"""The calls that an MPI declares, by its preprocessed header: an independent look at what Cairn's tap must define."""

import re
import subprocess

HANDLES = re.compile(r"\bMPI_(Comm|Request|Win|File|Message|Group)\b")
# Calls without such an argument that the tap defines all the same.
OTHERS = {"Init", "Init_thread", "Finalize", "Buffer_detach", "Buffer_detach_c", "Comm_create_errhandler",
          "Win_create_errhandler", "Errhandler_create"}  # fmt: skip


def declared_calls(compiler):
    """Parameters by name, without the prefix. `compiler` is the MPI's own, such as mpicc."""
    text = subprocess.run([compiler, "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n", stdout=subprocess.PIPE,
                          check=True, text=True, timeout=60).stdout  # fmt: skip
    return dict(re.findall(r"\bMPI_(\w+)\s*\(([^()]*)\)", text))


def calls_to_intercept(compiler):
    return {name for name, parameters in declared_calls(compiler).items()
            if HANDLES.search(parameters) or name in OTHERS}  # fmt: skip


def calls_in_table(table):
    """Those that a line of calls.txt names."""
    names = set()
    for line in table.read_text().splitlines():
        if line and not line.startswith("#"):
            names |= {word for word in re.sub(r"\(.*", "", line).split() if word[0].isupper()}
    return names
