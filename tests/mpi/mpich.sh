#!/usr/bin/env bash
# Jobs of MPICH, beside Open MPI, whose compilers and launcher stay the default: builds the examples with MPICH into
# BUILD-mpich, and plays any_launcher.py with them and BUILD's ckpt-run, world_mode.py, and python_mpich.py. What includes
# no MPI is compiled as in BUILD, from a directory as deep, so that a compiler cache has it:
#
#   mpich.sh BUILD
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

[[ $# -eq 1 ]] || die "usage: tests/mpi/mpich.sh BUILD"
build=$(cd "$1" && pwd)
[[ -x $build/bin/ckpt-run ]] || die "$build/bin/ckpt-run is not there; first: tools/test.sh --only build"
for program in mpicc mpicxx mpifort mpirun; do
  command -v "$program.mpich" >/dev/null || die "$program.mpich is missing: tools/install-packages.sh"
done
programs=(gradient heat swing)
world=(plain_world plain_world_c world_calls)
cases=(attributes handlers elsewhere same_result same_result_c)
if command -v gfortran >/dev/null; then
  programs+=(wave)
  world+=(plain_world_f08 plain_world_mpi plain_world_mpif)
  cases+=(calls_f08 calls_mpi calls_mpif same_result_f08)
fi

mpich=$build-mpich
flags=$(sed -n 's/^CMAKE_CXX_FLAGS:STRING=//p' "$build/CMakeCache.txt")
build_into "$mpich" -DCMAKE_CXX_FLAGS="$flags" -DMPI_C_COMPILER=mpicc.mpich -DMPI_CXX_COMPILER=mpicxx.mpich \
  -DMPI_Fortran_COMPILER=mpifort.mpich -DMPIEXEC_EXECUTABLE="$(command -v mpirun.mpich)" \
  "${programs[@]}" "${world[@]}" cairn_tap
for program in "${programs[@]}"; do
  [[ $(ldd "$mpich/bin/$program") == *libmpich* ]] || die "$mpich/bin/$program is not linked with MPICH"
done
python3 "$here/mpi_table.py" mpicc.mpich "$mpich/lib/libcairn-tap.so" "$here/../../lib/intercept/calls.txt"
timeout -s KILL 300 python3 "$here/any_launcher.py" "$mpich/bin" "$build/bin/ckpt-run" mpirun.mpich
timeout -s KILL 300 python3 "$here/world_mode.py" "$build/bin/ckpt-run" "$(command -v mpirun.mpich)" \
  "$mpich/tests/mpi/world_programs" "${cases[@]}"
timeout -s KILL 300 python3 "$here/python_mpich.py" "$mpich" "$build/bin/ckpt-run" mpirun.mpich
