#!/usr/bin/env bash
# What fault localization costs: tools/bench.sh localize [--quick] [--bin DIR] [OPTION...]
#
# All of it takes about ten minutes; --quick, which is 4 and 8 ranks with one pair of runs, one. localize.py says what
# is measured, and has more options (--ranks, --kernels, --pairs, --seconds, --reports, --json).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

bin='' how=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) how+=(--ranks 4,8 --pairs 1 --seconds 4) && shift ;;
    --bin) bin=${2:?--bin needs a directory} && shift 2 ;;
    --ranks | --kernels | --pairs | --seconds | --reports | --json)
      how+=("$1" "${2:?"$1 needs a value"}") && shift 2
      ;;
    *) die "usage: tools/bench.sh localize [--quick] [--bin DIR] [--ranks N,...] [--kernels ft,is] [--pairs N] [--seconds S] [--reports N] [--json FILE]" ;;
  esac
done

if [[ -z $bin ]]; then
  bin=$top/build/bin
  build_for_bench bench-kernels
fi
allow_mpi_here
exec python3 "$top/tools/bench/localize.py" "$bin" "${how[@]}"
