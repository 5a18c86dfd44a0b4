#!/usr/bin/env bash
# Plays random lives of jobs on clusters of threads, and judges what comes back (tests/torture):
#
#   tools/torture.sh [--from SEED] [--seeds N] [--minutes M] [--sanitize asan|tsan]
#   tools/torture.sh --mpi …                         the same by MPI jobs, whose processes and stores are struck from
#                                                    outside, and which mpirun or ckpt-run starts; some run heat
#   tools/torture.sh … --go-on                       does not stop at a seed that fails, but only names it
#   tools/torture.sh … --from SEED --without ITEMS   one of them again, as it was shrunk
#
# At the end of --mpi it is said what was done to the jobs. With root's rights each seed has processes, mounts and a
# /dev/shm of its own, so that nothing is left, also when it is killed.
#
# A seed that fails is shrunk to the fewest events that still fail, which are listed with the command that plays them
# again. With TORTURE_LOG set, the job's own log is shown. Threads never run the same way twice, so some failures need
# several tries.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top"

preset='' arguments=() targets=(torture)
while [[ $# -gt 0 ]]; do
  if [[ $1 == --sanitize ]]; then
    preset=${2:-}
    [[ $preset == asan || $preset == tsan ]] || die "--sanitize asan, or --sanitize tsan"
    shift 2
  elif [[ $1 == --mpi ]]; then
    arguments+=(--mpi mpirun) targets+=(torture_program ckpt-run heat)
    shift
  else
    arguments+=("$1") && shift
  fi
done

bin=$top/build/bin
if [[ -n $preset ]]; then
  bin=$top/build/$preset/bin
  { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$(processors)" --target "${targets[@]}"; } >&2
else
  build_into "$top/build" "${targets[@]}" >&2
fi
exec "$bin/torture" "${arguments[@]}"
