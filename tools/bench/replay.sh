#!/usr/bin/env bash
# What local rollback saves, measured and simulated: tools/bench.sh replay [--quick] [--bin DIR] [OPTION...]
#
# All of it takes two hours; --minutes bounds that, and --quick, which is one pair of MTBFs with three runs, takes five
# minutes. replay.py says what is measured, and has more options (--pairs, --runs, --work, --json, --plot). Where MPI is
# not Open MPI 5, it runs in the Debian 13 root that tests/ulfm makes, as root; files are then written to the root's
# /build.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

bin='' how=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) how+=(--pairs 3 --runs 3) && shift ;;
    --bin) bin=${2:?--bin needs a directory} && shift 2 ;;
    --pairs | --runs | --work | --minutes | --json | --plot) how+=("$1" "${2:?"$1 needs a value"}") && shift 2 ;;
    *) die "usage: tools/bench.sh replay [--quick] [--bin DIR] [--pairs N,...] [--runs N] [--work SECONDS] [--minutes N] [--json FILE] [--plot FILE]" ;;
  esac
done

if [[ $(mpirun --version 2>/dev/null) == *"Open MPI) 5."* ]]; then
  if [[ -z $bin ]]; then
    bin=$top/build/bin
    build_for_bench bench-replay ckpt-tool
  fi
  allow_mpi_here
  exec python3 "$top/tools/bench/replay.py" "$bin" "${how[@]}"
fi
[[ $EUID -eq 0 ]] || die "this needs Open MPI 5 with ULFM, or root, to make a Debian 13 root that has it"
# shellcheck disable=SC2016 # expanded in the root
exec "$top/tests/ulfm/make-root.sh" run bash -euc '
  { cmake -S /cairn -B "$BUILD_TREE" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_BUILD_TESTS=OFF &&
    cmake --build "$BUILD_TREE" -j "$(nproc)" --target bench-replay ckpt-tool; } >/build/bench-build.log 2>&1 ||
    { tail -n 40 /build/bench-build.log >&2; exit 1; }
  cd /build
  PYTHONDONTWRITEBYTECODE=1 exec python3 /cairn/tools/bench/replay.py "$BUILD_TREE"/bin "$@"
' run "${how[@]}"
