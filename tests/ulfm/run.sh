#!/usr/bin/env bash
# Recovery inside a running job, on Open MPI 5 in a Debian 13 root of its own (make-root.sh): builds what it needs there and
# plays scenarios.py, lost.py, lost_trouble.py, lost_helpers.py, ../hosts/ulfm_hosts.py and ../hosts/lost_rank_hosts.py:
#
#   run.sh all [SEED]     four kills of each sweep, two soaks, and each file of the tree compiled alone
#   run.sh brief [SEED]   half of each program, but for those of hosts: one kill of each sweep, two jobs of each series in
#                         scenarios.py; and none of the others
#
# SEED draws these jobs, the calls before which ranks are killed, and who dies in a soak; without it, it is drawn itself.
# Other arguments play one program, soak.py if none is named:
#
#   run.sh --failures 100 --per-job 16
#   run.sh lost.py --kills 100              or --all
#   run.sh lost_at_bound.py --seconds 3600
#   run.sh ../hosts/lost_rank_hosts.py --kills 25
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
what=("$@")
if [[ $# -eq 0 || $1 == all || $1 == brief ]]; then
  [[ $# -le 2 ]] || {
    echo "usage: run.sh [all | brief] [SEED], or the name of a program and its arguments" >&2
    exit 1
  }
  what=("${1:-all}" "${2:-$RANDOM}")
  echo "seed ${what[1]}"
fi
# shellcheck disable=SC2016 # expanded in the root
"$here/make-root.sh" run bash -euc '
  # Unoptimised, and GCC saves no memory: most of the time goes into compiling, and jobs mostly wait.
  cmake -S /cairn -B "$BUILD_TREE" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCMAKE_CXX_FLAGS=--param=ggc-min-heapsize=2000000 -DCAIRN_BUILD_TESTS=OFF -DCMAKE_Fortran_COMPILER=/usr/bin/gfortran
  cmake --build "$BUILD_TREE" -j "$(nproc)" --target gradient heat swing wave ckpt-run ckpt-tool trouble \
    derived derived_fortran exchanges guarded handlers residual residual_fortran killer lost_collectives lost_communicators lost_helpers lost_master lost_neighbours lost_particles \
    lost_steps lost_trouble pollers world_repair world_repair_fortran
  heat=$BUILD_TREE/bin/heat swing=$BUILD_TREE/bin/swing seed=${2:-}
  cd /cairn/tests/ulfm
  export PYTHONDONTWRITEBYTECODE=1
  case $1 in
    all) kills=4 kills_on_hosts=3 drawn=() half=() ;;
    brief) kills=1 kills_on_hosts=1 drawn=(--draw "$seed") half=(--half "$seed") ;;
    scenarios.py) exec python3 "$1" "$heat" "$swing" "$BUILD_TREE"/bin/ckpt-run "${@:2}" ;;
    */ulfm_hosts.py) exec python3 "$1" "$heat" "$BUILD_TREE"/bin/ckpt-run "${@:2}" ;;
    *.py) exec python3 "$1" "$BUILD_TREE"/bin "${@:2}" ;;
    *) exec python3 soak.py "$heat" "$@" ;;
  esac
  if [[ $1 == all ]]; then
    cmake -S /cairn -B "$BUILD_TREE-alone" -G Ninja -DCAIRN_UNITY=OFF -DCAIRN_BUILD_TESTS=OFF
    /cairn/tools/check-includes.py "$BUILD_TREE-alone"
  fi
  # Hosts see nothing of others, and their jobs mostly wait.
  {
    timeout -s KILL 900 python3 /cairn/tests/hosts/ulfm_hosts.py "$heat" "$BUILD_TREE"/bin/ckpt-run &&
      timeout -s KILL 300 python3 /cairn/tests/hosts/lost_rank_hosts.py "$BUILD_TREE"/bin --kills "$kills_on_hosts" --draw "$seed"
  } &
  hosts=$!
  timeout -s KILL 1200 python3 scenarios.py "$heat" "$swing" "$BUILD_TREE"/bin/ckpt-run "${drawn[@]}" "${half[@]}"
  timeout -s KILL 900 python3 lost.py "$BUILD_TREE"/bin --kills "$kills" --draw "$seed" "${half[@]}"
  timeout -s KILL 900 python3 lost_trouble.py "$BUILD_TREE"/bin "${half[@]}"
  timeout -s KILL 600 python3 lost_helpers.py "$BUILD_TREE"/bin "${half[@]}"
  if [[ $1 == all ]]; then
    timeout -s KILL 400 python3 soak.py "$heat" --failures 10 --per-job 5 --seed "$seed"
    timeout -s KILL 400 python3 soak.py "$heat" --mode respawn --supervised --failures 6 --per-job 3 --seed "$seed"
  fi
  wait "$hosts"
' run "${what[@]}"
