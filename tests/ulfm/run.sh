#!/usr/bin/env bash
# Recovery inside a running job, on Open MPI 5 in a Debian 13 root of its own (make-root.sh): builds what it needs there,
# looks whether each file compiles alone, then plays scenarios.py, lost.py, lost_trouble.py, lost_helpers.py, ../hosts/ulfm_hosts.py,
# ../hosts/lost_rank_hosts.py and a short soak.py. With arguments it plays one of these instead, soak.py if none is named:
#
#   run.sh --failures 100 --per-job 16
#   run.sh lost.py --kills 100              or --all
#   run.sh lost_at_bound.py --seconds 3600
#   run.sh ../hosts/lost_rank_hosts.py --kills 25
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2016 # expanded in the root
"$here/make-root.sh" run bash -euc '
  cmake -S /cairn -B "$BUILD_TREE" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_BUILD_TESTS=OFF \
    -DCMAKE_Fortran_COMPILER=/usr/bin/gfortran
  cmake --build "$BUILD_TREE" -j "$(nproc)" --target gradient heat swing wave ckpt-run ckpt-tool trouble \
    derived derived_fortran exchanges guarded residual killer lost_collectives lost_communicators lost_helpers lost_neighbours lost_particles \
    lost_steps lost_trouble world_repair world_repair_fortran
  if [[ $# -eq 0 ]]; then
    cmake -S /cairn -B "$BUILD_TREE-alone" -G Ninja -DCAIRN_UNITY=OFF -DCAIRN_BUILD_TESTS=OFF
    /cairn/tools/check-includes.py "$BUILD_TREE-alone"
  fi
  heat=$BUILD_TREE/bin/heat swing=$BUILD_TREE/bin/swing
  cd /cairn/tests/ulfm
  export PYTHONDONTWRITEBYTECODE=1
  case ${1:-} in
    "") ;;
    *.py) exec python3 "$1" "$BUILD_TREE"/bin "${@:2}" ;;
    *) exec python3 soak.py "$heat" "$@" ;;
  esac
  # Hosts see nothing of others, and their jobs mostly wait.
  {
    timeout -s KILL 900 python3 /cairn/tests/hosts/ulfm_hosts.py "$heat" "$BUILD_TREE"/bin/ckpt-run &&
      timeout -s KILL 300 python3 /cairn/tests/hosts/lost_rank_hosts.py "$BUILD_TREE"/bin
  } &
  hosts=$!
  timeout -s KILL 900 python3 scenarios.py "$heat" "$swing" "$BUILD_TREE"/bin/ckpt-run
  timeout -s KILL 900 python3 lost.py "$BUILD_TREE"/bin
  timeout -s KILL 600 python3 lost_trouble.py "$BUILD_TREE"/bin
  timeout -s KILL 600 python3 lost_helpers.py "$BUILD_TREE"/bin
  timeout -s KILL 400 python3 soak.py "$heat" --failures 10 --per-job 5
  timeout -s KILL 400 python3 soak.py "$heat" --mode respawn --supervised --failures 6 --per-job 3
  wait "$hosts"
' run "$@"
