#!/usr/bin/env bash
# The demo: ckpt-run starts a simulation on 4 simulated nodes, each with a head. While it runs, nodes fail three times,
# more of them each time, and the job comes back from the cheapest level that is left:
#
#   one node fails            -> L2, the partner's copies
#   two ring neighbours fail  -> L3, decoded from the erasure code
#   all nodes fail            -> L4, the global store
#
# Installs what it needs (group demo of tools/packages.txt), leaves ckpt-run and ckpt-tool in build/bin and a picture in
# build/demo/plate.png. It can be run again at once. Ends with an error if anything is not as it must be.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

demo=$top/build/demo
bin=$top/build/bin
global=$demo/global
nodes=4
ranks=8       # that compute
node_size=3   # 2 of these ranks and a head
rows=600 cols=960 steps=1500
pause_ms=6    # a step, to have time to watch
runner=       # process id of ckpt-run
log=          # what it and the job print
life=1        # the first line in the log of the job's present life
failures=0

title() { printf '\n== %s\n' "$*"; }
show() { sed 's/^/   /'; }
# The names of node stores, in order: node0001 node0002.
node_names() { printf 'node%04d\n' "$@" | sort | paste -sd ' '; }
# node 1; nodes 0 and 3; all 4 nodes.
nodes_text() {
  case $# in
    1) echo "node $1" ;;
    2) echo "nodes $1 and $2" ;;
    *) echo "all $# nodes" ;;
  esac
}

# Process ids of everything that a process has started, itself included. Zombies are not counted.
descendants() {
  local child
  [[ $(ps -o stat= -p "$1") != Z* ]] || return 0
  echo "$1"
  for child in $(pgrep -P "$1" || true); do descendants "$child"; done
}

stop_run() {
  [[ -n $runner ]] || return 0
  local pids
  pids=$(descendants "$runner")
  # shellcheck disable=SC2086
  kill -KILL $pids 2>/dev/null || true
  runner=
}
trap stop_run EXIT

build() {
  local options=()
  # Tests need GoogleTest, which the demo does not install.
  grep -qs '^GTest_DIR:PATH=/' "$top/build/CMakeCache.txt" || options+=(-DCAIRN_BUILD_TESTS=OFF)
  build_into "$top/build" "${options[@]}" heat plate-png ckpt-tool ckpt-run
}

prepare() {
  "$top/tools/install-packages.sh" demo
  mkdir -p "$top/build"
  exec 9>"$top/build/demo.lock"
  flock -n 9 || die "another demo is running in $top/build"
  quietly "building" "$top/build/demo-build.log" build || exit
  allow_mpi_here
  rm -rf "$demo"
  mkdir -p "$demo"
  choose_local
  write_ini reference
  write_ini heat
}

# Node stores in memory where there is room, as they would be on a cluster.
choose_local() {
  local=/dev/shm/cairn-demo-$UID
  local room
  room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || room=0
  if [[ ${room:-0} -gt 1000000 ]] && rm -rf "$local" 2>/dev/null && mkdir -m 0700 "$local" 2>/dev/null; then return; fi
  local=$demo/local
  mkdir -m 0700 "$local"
}

write_ini() {
  cat >"$demo/$1.ini" <<INI
[job]
name = $1
[storage]
local = $local
global = $global
[levels]
l1 = every 10
l2 = every 50
l3 = every 100
l4 = every 200
[partner]
copies = 1
[erasure]
group = $nodes
parity = 2
[topology]
node_size = $node_size
[restart]
at_end = continue
INI
}

# start_run JOB OPTIONS...: sets `runner` and `log`.
start_run() {
  local job=$1
  shift
  log=$demo/$job.log
  set -- "$bin/ckpt-run" -n "$ranks" -- "$bin/heat" --size "$rows" --width "$cols" --steps "$steps" \
    --config "$demo/$job.ini" --output "$demo/$job.plate" "$@"
  echo "\$ ${*//$top\//}"
  "$@" >"$log" 2>&1 9>&- &
  runner=$!
}

# Waits for the end of the run, which must be a good one.
end_run() {
  local deadline=$((SECONDS + 300)) code=0
  while kill -0 "$runner" 2>/dev/null; do
    ((SECONDS < deadline)) || fail_with_log "the run did not end within 300 s"
    sleep 0.1
  done
  wait "$runner" || code=$?
  runner=
  [[ $code -eq 0 ]] || fail_with_log "the run ended with code $code"
}

fail_with_log() {
  tail -n 40 "$log" >&2
  die "$* (all of it: ${log#"$top"/})"
}

# What the job has printed in its present life.
of_this_life() { tail -n "+$life" "$log"; }

ckpt_tool() {
  local command=$1
  shift
  timeout -s KILL 120 "$bin/ckpt-tool" "$command" --config "$demo/heat.ini" "$@"
}

# The newest version that is safe at a level: 0 for none, or while the stores are changing too fast to say.
newest_at() {
  { ckpt_tool list --json 2>/dev/null || true; } | awk -v level="\"$1\":" '
    $1 == "\"version\":" { version = $2 + 0 }
    $1 == level && $2 ~ /^true/ && version > newest { newest = version }
    END { print newest + 0 }'
}

# wait_until_safe LEVEL VERSION: until LEVEL holds a snapshot newer than VERSION; prints which.
wait_until_safe() {
  local deadline=$((SECONDS + 150)) version
  while ((SECONDS < deadline)); do
    version=$(newest_at "$1")
    if ((version > $2)); then
      echo "$version"
      return
    fi
    kill -0 "$runner" 2>/dev/null || fail_with_log "the run ended before $1 held a version above $2"
    sleep 0.1
  done
  fail_with_log "after 150 s $1 still holds no version above $2"
}

# Process ids of the ranks of the given nodes, heads included.
ranks_of_nodes() {
  local pid rank node
  for pid in $(descendants "$runner"); do
    rank=$({ tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') || continue
    [[ -n $rank ]] || continue
    for node in "$@"; do
      if ((rank / node_size == node)); then echo "$pid"; fi
    done
  done
}

# wait_for WHAT COMMAND...: until the command succeeds, for a minute at most.
wait_for() {
  local what=$1 tenths
  shift
  for ((tenths = 0; tenths < 600; ++tenths)); do
    if "$@"; then return; fi
    sleep 0.1
  done
  fail_with_log "$what took more than a minute"
}
is_stopped() { [[ $(ps -o stat= -p "$runner") == T* ]]; }
is_alone() { [[ $(descendants "$runner") == "$runner" ]]; }

# Kills all ranks of the given nodes at one moment, and wipes their stores. mpirun then ends all others, and ckpt-run would
# start the job again within a tenth of a second: it could still open stores that are to be lost. So ckpt-run is stopped
# meanwhile. The stores are wiped when no process is left that might write into them.
lose_nodes() {
  local pids node
  kill -STOP "$runner"
  wait_for "stopping ckpt-run" is_stopped
  mapfile -t pids < <(ranks_of_nodes "$@")
  [[ ${#pids[@]} -eq $(($# * node_size)) ]] || fail_with_log "found ${#pids[@]} ranks on nodes $*, not $(($# * node_size))"
  kill -KILL "${pids[@]}"
  wait_for "the end of mpirun" is_alone
  for node in "$@"; do
    rm -r "${local:?}/$(node_names "$node")"
  done
  life=$(($(wc -l <"$log") + 1))
  kill -CONT "$runner"
}

# A number in a line of the present life: number_in PATTERN, with one group.
number_in() { of_this_life | sed -nE "s/^heat: .*$1.*/\1/p" | sed -n 1p; }

# check_return LEVEL VERSION NODES...: the restart found VERSION or newer, missed exactly NODES, and took their ranks'
# shards from LEVEL or a cheaper copy, nothing from a dearer one, and all other shards from where they were.
check_return() {
  local level=$1 version=$2 found lost expected rank source
  shift 2
  found=$(number_in 'version ([0-9]+) of incarnation')
  [[ -n $found ]] || fail_with_log "the restart did not say which version it found"
  ((found >= version)) || fail_with_log "the restart found version $found; $level held $version"

  lost=$(of_this_life | sed -n 's/^heat: lost nodes: //p')
  expected=$(printf 'node %d\n' "$@" | sort -V | paste -sd ' ')
  [[ $lost == "$expected" ]] || fail_with_log "nodes found lost: '$lost'; those that failed are '$expected'"

  [[ $(number_in "ranks from .*$level: ([0-9]+)") -gt 0 ]] || fail_with_log "no rank came back from $level"
  for ((rank = 0; rank < ranks; ++rank)); do
    source=$(of_this_life | sed -nE "s/^heat: rank $rank from (L[1-4]).*/\1/p")
    [[ -n $source ]] || fail_with_log "rank $rank did not say where its shard came from"
    [[ ! $source > $level ]] || fail_with_log "rank $rank came back from $source; $level was enough"
    if [[ " $* " == *" $((rank / (node_size - 1))) "* ]]; then
      [[ $source != L1 ]] || fail_with_log "rank $rank came back from L1, whose store was wiped"
    elif [[ $level != L4 ]]; then
      [[ $source == L1 ]] || fail_with_log "rank $rank came back from $source; its own store was there"
    fi
  done
  restored=$found
}

# Whether the present life has told where every rank came from.
has_returned() {
  ! of_this_life | grep -q "^heat: rank $((ranks - 1)) from" || return 0
  kill -0 "$runner" 2>/dev/null || fail_with_log "the restart failed"
  return 1
}

# hold STEP: the run takes no step beyond this one. However slow this script is, the run does not end before its last
# failure.
hold() {
  echo "$1" >"$demo/hold.new"
  mv "$demo/hold.new" "$demo/hold"
}

# strike LEVEL HOW NODES...: nodes fail while the run is under way. HOW: what the level has that replaces them.
strike() {
  local level=$1 how=$2 version started tenths stores="their stores are"
  shift 2
  [[ $# -gt 1 ]] || stores="its store is"
  version=$(wait_until_safe "$level" "$restored")
  sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
  title "failure $((++failures)) of 3: $(nodes_text "$@")"
  echo "$level holds version $version. All $(($# * node_size)) processes of $(nodes_text "$@") are killed, and $stores deleted."
  started=${EPOCHREALTIME/[.,]/}
  lose_nodes "$@"
  wait_for "the restart" has_returned
  tenths=$(((${EPOCHREALTIME/[.,]/} - started) / 100000))
  check_return "$level" "$version" "$@"
  of_this_life | grep -E '^ckpt-run: |^cairn: .* restored: |^heat: goes on' | show
  echo "The job is back after $((tenths / 10)).$((tenths % 10)) s. $level: $how"
}

prepare

title "a run without failures, to compare with"
start_run reference
started=$SECONDS
end_run
echo "$ranks ranks on $nodes simulated nodes computed $steps steps in $((SECONDS - started)) s."

title "the same job, a little slower, with three failures while it runs"
echo "A node is 3 processes here: 2 ranks that compute, and a head, which copies snapshots in the background."
restored=0
hold 400
start_run heat --pause-ms $pause_ms --hold "$demo/hold"
one=$((RANDOM % nodes))
two=$((RANDOM % nodes))
strike L2 "its partner node had copies of its snapshots." $one
hold 800
strike L3 "the other two nodes had parity, which replaces any two of four nodes." $two $(((two + 1) % nodes))
hold 1400
strike L4 "the global store, on a cluster a parallel file system, had a whole snapshot." $(seq 0 $((nodes - 1)))
rm "$demo/hold"
end_run
echo
of_this_life | grep -E '^heat: .* holds the plate' | sed "s,$top/,," | show
of_this_life | grep '^ckpt-run: finished' | show

title "result"
cmp "$demo/reference.plate" "$demo/heat.plate" || die "the plate differs from that of the run without failures"
say "three failures, and the plate is the same, bit for bit, as without failures"
ckpt_tool list || die "ckpt-tool list failed"
ckpt_tool verify >"$demo/verify.log" 2>&1 || { cat "$demo/verify.log" >&2; die "ckpt-tool verify found damage"; }
tail -n 1 "$demo/verify.log"
"$bin/plate-png" "$demo/heat.plate" "$demo/plate.png"
say "a picture of the plate: build/demo/plate.png ($SECONDS s in all)"
cat <<'TEXT'

How to go on:
   examples/heat/main.cpp, heat.ini    the program that just ran, and a configuration to copy from
   build/bin/ckpt-run --help           starting jobs; ckpt-tool --help: looking at snapshots
   build/bin/ckpt-tool list --config build/demo/heat.ini    the snapshots, which stay until the next demo
   tools/test.sh                       builds and runs the tests
   cmake --build build && cmake --install build --prefix ~/.local/cairn    installs libraries and tools
TEXT
