#!/usr/bin/env bash
# Plays random lives of jobs on clusters of threads, and judges what comes back (tests/torture):
#
#   tools/torture.sh [--from SEED] [--seeds N] [--minutes M] [--sanitize asan|tsan]
#                                                    stops at the first limit that is given; with none, after 100 seeds
#   tools/torture.sh --mpi [openmpi|ulfm|mpich] …    the same by MPI jobs, whose processes and stores are struck from
#                                                    outside, and which mpirun or ckpt-run starts; some run heat
#   tools/torture.sh … --go-on                       does not stop at a seed that fails, but only names it
#   tools/torture.sh … --from SEED --without ITEMS   one of them again, as it was shrunk
#
# A seed that fails is shrunk to the fewest events that still fail, which are listed with the command that plays them
# again. With TORTURE_LOG set, the job's own log is shown. Threads never run the same way twice, so some failures need
# several tries.
#
# --mpi openmpi is this machine's mpirun, mpich its mpirun.mpich; ulfm is Open MPI 5 in a Debian 13 root of its own
# (tests/ulfm/make-root.sh, which needs root), where jobs mend themselves, too. At the end it is said what was done to
# the jobs. With root's rights each seed has processes, mounts and a /dev/shm of its own, so that nothing is left, also
# when it is killed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top"

preset='' mpi='' arguments=() targets=(torture)
while [[ $# -gt 0 ]]; do
  if [[ $1 == --sanitize ]]; then
    preset=${2:-}
    [[ $preset == asan || $preset == tsan ]] || die "--sanitize asan, or --sanitize tsan"
    shift 2
  elif [[ $1 == --mpi ]]; then
    mpi=openmpi
    shift
    if [[ ${1:-} == openmpi || ${1:-} == ulfm || ${1:-} == mpich ]]; then mpi=$1 && shift; fi
  else
    arguments+=("$1") && shift
  fi
done
[[ -z $preset || -z $mpi || $mpi == openmpi ]] || die "--sanitize goes with threads, or with --mpi openmpi"

programs=(torture_program heat)
if [[ $mpi == ulfm ]]; then
  # shellcheck disable=SC2016 # expanded in the root
  exec "$top/tests/ulfm/make-root.sh" run bash -euc '
    { cmake -S /cairn -B "$BUILD_TREE" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_BUILD_TESTS=ON
      cmake --build "$BUILD_TREE" -j "$(nproc)" --target torture torture_program heat ckpt-run; } >&2
    exec "$BUILD_TREE/bin/torture" --mpi mpirun --kind ulfm "$@"' torture ${arguments[@]+"${arguments[@]}"}
elif [[ $mpi == mpich ]]; then
  for program in mpicc mpicxx mpirun; do
    command -v "$program.mpich" >/dev/null || die "$program.mpich is missing: tools/install-packages.sh"
  done
  # Not where tests/mpi/mpich.sh builds, which has Fortran and no tests.
  build_into "$top/build/mpich-torture" -DCMAKE_C_FLAGS_RELEASE=-O0 -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCAIRN_BUILD_TESTS=ON \
    -DCAIRN_FORTRAN=OFF -DMPI_C_COMPILER=mpicc.mpich -DMPI_CXX_COMPILER=mpicxx.mpich \
    -DMPIEXEC_EXECUTABLE="$(command -v mpirun.mpich)" "${programs[@]}" >&2
  targets+=(ckpt-run)
  arguments+=(--mpi mpirun.mpich --kind mpich --programs "$top/build/mpich-torture/bin")
elif [[ $mpi == openmpi ]]; then
  targets+=(ckpt-run "${programs[@]}")
  arguments+=(--mpi mpirun)
fi

bin=$top/build/bin
if [[ -n $preset ]]; then
  bin=$top/build/$preset/bin
  { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$(processors)" --target "${targets[@]}"; } >&2
else
  build_into "$top/build" "${targets[@]}" >&2
fi
exec "$bin/torture" "${arguments[@]}"
