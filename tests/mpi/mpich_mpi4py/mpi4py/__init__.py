"""As much of mpi4py as heat.py and the package cairn use, over MPICH: Debian's mpi4py is that of Open MPI.

As in mpi4py, communicators are handles of MPICH, which are integers, and importing MPI initializes it.
"""
