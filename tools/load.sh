#!/usr/bin/env bash
# Loads Cairn with many ranks, regions, versions or bytes, and judges whether memory, descriptors, mappings, threads and
# stores stay flat (tests/load/load.py says how):
#
#   tools/load.sh [--minutes M] [--ranks N]   64 ranks on several nodes, and all levels; a snapshot a second for an hour
#   tools/load.sh --regions 100000            so many regions of each rank
#   tools/load.sh --versions 10000            so many snapshots of a small state
#   tools/load.sh --shard-gib 8               a shard of so many GiB, on disk: about seven times as much is free there
#
# Each job is killed, and started again with and without all its stores; every byte is compared. A line at each look at
# the job, a table at the end; exit code 1, and the name of it, if something grows. All of it lies in TMPDIR and
# /dev/shm, and is removed at the end.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top"

build_into "$top/build" load_program >&2 || die "it does not build"
allow_mpi_here
exec python3 "$top/tests/load/load.py" "$top/build/bin" mpirun "$@"
