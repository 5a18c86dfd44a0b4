#!/usr/bin/env bash
# What a restore on another number of ranks costs: tools/bench.sh elastic [--quick] [--bin DIR] [OPTION...]
#
# --quick is 16 MiB with one pair of runs. elastic.py says what is measured, and has more options (--mib, --pairs,
# --sources, --json).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "$0")/../lib.sh"

bin='' how=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) how+=(--mib 16 --pairs 1) && shift ;;
    --bin) bin=${2:?--bin needs a directory} && shift 2 ;;
    --mib | --pairs | --sources | --json) how+=("$1" "${2:?"$1 needs a value"}") && shift 2 ;;
    *) die "usage: tools/bench.sh elastic [--quick] [--bin DIR] [--mib N] [--pairs N] [--sources L1,L2,L3,L4] [--json FILE]" ;;
  esac
done

if [[ -z $bin ]]; then
  bin=$top/build/bin
  build_for_bench bench-elastic
fi
allow_mpi_here
exec python3 "$top/tools/bench/elastic.py" "$bin" "${how[@]}"
