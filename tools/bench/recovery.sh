#!/usr/bin/env bash
# How long a job takes to come back, phase by phase: tools/bench.sh recovery [--quick] [--bin DIR]
#
# Losses that need L1 to L4, one after another and several at once, with and without the failure topology, at 4, 16 and
# 64 ranks, which takes long. With --quick at 4 ranks: about three minutes in all modes. recovery.py says what the
# columns are.
#
# In all three modes where this MPI has fault tolerance (Open MPI 5). Elsewhere by restart here, and then, as root, in
# all modes in the Debian 13 root that tests/ulfm makes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

bin='' how=(--ranks "4,16,64" --repetitions 3)
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) how=(--ranks 4 --repetitions 3) && shift ;;
    --bin) bin=${2:?--bin needs a directory} && shift 2 ;;
    *) die "usage: tools/bench.sh recovery [--quick] [--bin DIR]" ;;
  esac
done

if [[ -z $bin ]]; then
  bin=$top/build/bin
  build_for_bench heat ckpt-run
fi
allow_mpi_here
mpirun --version | head -n 1
# A row that could not be measured is no reason to leave out the other MPI.
status=0
python3 "$top/tools/bench/recovery.py" "$bin" "${how[@]}" || status=$?
if [[ $(mpirun --version) == *"Open MPI) 4."* && $EUID -eq 0 ]]; then
  # shellcheck disable=SC2016 # expanded in the root
  "$top/tests/ulfm/make-root.sh" run bash -euc '
    { cmake -S /cairn -B "$BUILD_TREE" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_BUILD_TESTS=OFF &&
      cmake --build "$BUILD_TREE" -j "$(nproc)" --target heat ckpt-run; } >/build/bench-build.log 2>&1
    mpirun --version | head -n 1
    PYTHONDONTWRITEBYTECODE=1 exec python3 /cairn/tools/bench/recovery.py "$BUILD_TREE"/bin "$@"
  ' run "${how[@]}" || status=$?
fi
exit "$status"
