"""python3 -m cairn: what a bug report needs."""

import sys

import numpy

from ._library import build_info, path


def main():
    print(build_info())
    print(f"package: {__package__} in {__file__.rsplit('/', 1)[0]}; library: {path()}")
    print(f"Python {sys.version.split()[0]}, numpy {numpy.__version__}")
    try:
        import mpi4py
        from mpi4py import MPI
    except ImportError as error:
        print(f"mpi4py: {error}")
        return 1
    print(f"mpi4py {mpi4py.__version__}, {MPI.Get_library_version().splitlines()[0].strip()}")
    return 0


sys.exit(main())
