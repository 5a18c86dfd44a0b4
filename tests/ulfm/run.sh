#!/usr/bin/env bash
# Recovery inside a running job, on Open MPI 5 in a Debian 13 root of its own (make-root.sh): builds what it needs there,
# looks whether each file compiles alone, then plays scenarios.py, ../hosts/ulfm_hosts.py and a short soak.py. Arguments go to soak.py instead:
# run.sh --failures 100 --per-job 16
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2016 # expanded in the root
"$here/make-root.sh" run bash -euc '
  cmake -S /cairn -B "$BUILD_TREE" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_BUILD_TESTS=OFF \
    -DCMAKE_Fortran_COMPILER=/usr/bin/gfortran
  cmake --build "$BUILD_TREE" -j "$(nproc)" --target heat swing ckpt-run trouble derived derived_fortran residual
  if [[ $# -eq 0 ]]; then
    cmake -S /cairn -B "$BUILD_TREE-alone" -G Ninja -DCAIRN_UNITY=OFF -DCAIRN_BUILD_TESTS=OFF
    /cairn/tools/check-includes.py "$BUILD_TREE-alone"
  fi
  heat=$BUILD_TREE/bin/heat swing=$BUILD_TREE/bin/swing
  cd /cairn/tests/ulfm
  export PYTHONDONTWRITEBYTECODE=1
  if [[ $# -gt 0 ]]; then
    exec python3 soak.py "$heat" "$@"
  fi
  # Hosts see nothing of others, and their jobs mostly wait.
  timeout -s KILL 900 python3 /cairn/tests/hosts/ulfm_hosts.py "$heat" "$BUILD_TREE"/bin/ckpt-run &
  hosts=$!
  timeout -s KILL 900 python3 scenarios.py "$heat" "$swing" "$BUILD_TREE"/bin/ckpt-run
  timeout -s KILL 400 python3 soak.py "$heat" --failures 10 --per-job 5
  timeout -s KILL 400 python3 soak.py "$heat" --mode respawn --supervised --failures 6 --per-job 3
  wait "$hosts"
' run "$@"
