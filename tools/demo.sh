#!/usr/bin/env bash
# The demo: a simulation on 4 simulated nodes is struck three times, each time harder, and comes back each time
# from the cheapest level that is left. Needs nothing but this working tree, and can be run again at once.
#
#   one node lost            -> L2, the partner's copies
#   two ring neighbours lost -> L3, decoded from the erasure code
#   all nodes lost           -> L4, the global store
#
# Leaves build/demo/plate.png. Ends with an error if anything is not as it must be.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

demo=$top/build/demo
bin=$top/build/bin
global=$demo/global
nodes=4
node_size=3   # 2 application ranks and 1 head
rows=600 cols=960 steps=4000
pause_ms=3    # a step, so that there is a middle of the run to strike in
runner=       # process id of the run under way

title() { printf '\n== %s\n' "$*"; }
# The names of node stores, in order: node0001 node0002.
node_names() { printf 'node%04d\n' "$@" | sort | paste -sd ' '; }

# Process ids of everything that `runner` has started, itself included.
descendants() {
  local child
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

prepare() {
  title "build"
  "$top/tools/install-packages.sh"
  mkdir -p "$top/build"
  exec 9>"$top/build/demo.lock"
  flock -n 9 || die "another demo is running in $top/build"
  if ! build_into "$top/build" heat plate-png ckpt-tool >"$top/build/demo-build.log" 2>&1; then
    tail -n 40 "$top/build/demo-build.log" >&2
    die "the build failed; all of it is in build/demo-build.log"
  fi
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
l1 = every 20
l2 = every 100
l3 = every 200
l4 = every 600
[head]
mode = rank
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

# start_run JOB PAUSE: the one command, the same in every life of the job. Sets `runner` and `log`.
start_run() {
  lives=$((${lives:-0} + 1))
  log=$demo/run$lives-$1.log
  timeout -s KILL 300 mpirun -n $((nodes * node_size)) "$bin/heat" --size $rows --width $cols --steps $steps \
    --config "$demo/$1.ini" --output "$demo/$1.plate" --pause-ms "$2" >"$log" 2>&1 9>&- &
  runner=$!
}

# Waits for the run's end; its exit code.
end_run() {
  local code=0
  wait "$runner" || code=$?
  runner=
  return $code
}

show_log() { grep -E '^(heat|cairn): ' "$log" | sed 's/^/    /' || true; }

fail_with_log() {
  tail -n 40 "$log" >&2
  die "$* (all of it: ${log#"$top"/})"
}

ckpt_tool() {
  local command=$1
  shift
  timeout -s KILL 120 "$bin/ckpt-tool" "$command" --local "$local" --global "$global" --job heat "$@"
}

# The newest version that is safe at a level: 0 for none, or while the stores are changing too fast to say.
newest_at() {
  { ckpt_tool list --json 2>/dev/null || echo '{"snapshots": []}'; } | python3 -c '
import json, sys
snapshots = json.load(sys.stdin)["snapshots"]
print(max((s["version"] for s in snapshots if s["levels"].get(sys.argv[1])), default=0))' "$1" 2>/dev/null || echo 0
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

# Process ids of the ranks of the given nodes.
ranks_of_nodes() {
  local pid rank node
  for pid in $(descendants "$runner"); do
    rank=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') || continue
    [[ -n $rank ]] || continue
    for node in "$@"; do
      if ((rank / node_size == node)); then echo "$pid"; fi
    done
  done
}

# Kills all ranks of the given nodes at one moment, then wipes their stores.
lose_nodes() {
  local pids node tenths code=0
  mapfile -t pids < <(ranks_of_nodes "$@")
  [[ ${#pids[@]} -eq $(($# * node_size)) ]] || fail_with_log "found ${#pids[@]} ranks on nodes $*, not $(($# * node_size))"
  kill -KILL "${pids[@]}"
  for ((tenths = 0; tenths < 600; ++tenths)); do
    kill -0 "$runner" 2>/dev/null || break
    sleep 0.1
  done
  ((tenths < 600)) || fail_with_log "mpirun did not end within a minute of the strike"
  end_run || code=$?
  [[ $code -ne 0 ]] || fail_with_log "the run was struck and ended well all the same"
  for node in "$@"; do
    rm -rf "${local:?}/$(node_names "$node")"
  done
}

# A number in a line of the run's log: number_in PATTERN, with one group.
number_in() { sed -nE "s/^heat: .*$1.*/\1/p" "$log" | sed -n 1p; }

# check_return LEVEL VERSION NODES...: the restart found VERSION or newer, missed exactly NODES, and took their ranks'
# shards from LEVEL or a cheaper copy, nothing from a dearer one, and all other shards from where they were.
check_return() {
  local level=$1 version=$2 found lost expected rank source
  shift 2
  found=$(number_in 'version ([0-9]+) of incarnation')
  [[ -n $found ]] || fail_with_log "the restart did not say which version it found"
  ((found >= version)) || fail_with_log "the restart found version $found; $level held $version"

  lost=$(sed -n 's/^heat: lost nodes: //p' "$log")
  expected=$(printf 'node %d\n' "$@" | sort -V | paste -sd ' ')
  [[ $lost == "$expected" ]] || fail_with_log "nodes found lost: '$lost'; struck were '$expected'"

  [[ $(number_in "ranks from .*$level: ([0-9]+)") -gt 0 ]] || fail_with_log "no rank came back from $level"
  for ((rank = 0; rank < nodes * (node_size - 1); ++rank)); do
    source=$(sed -nE "s/^heat: rank $rank from (L[1-4]).*/\1/p" "$log")
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

# strike LEVEL WHAT NODES...: while the run is under way.
strike() {
  local level=$1 what=$2 version delay
  shift 2
  version=$(wait_until_safe "$level" "$restored")
  delay=$(printf '0.%03d' $((RANDOM % 1000)))
  sleep "$delay"
  title "strike: $what: all ranks of $(node_names "$@") killed, their stores wiped"
  say "$level held version $version, $delay s ago"
  lose_nodes "$@"
  say "the last it said: $(grep '^heat: .* steps' "$log" | tail -n 1)"
  say "what is left:"
  ckpt_tool list || die "ckpt-tool list failed"

  title "the same command again"
  start_run heat $pause_ms
  wait_for_return
  check_return "$level" "$version" "$@"
  show_log
  say "back from $level, at version $restored"
}

# Until the run under way has told where every rank came from.
wait_for_return() {
  local deadline=$((SECONDS + 120)) last=$((nodes * (node_size - 1) - 1))
  until grep -q "^heat: rank $last from" "$log"; do
    kill -0 "$runner" 2>/dev/null || fail_with_log "the restart failed"
    ((SECONDS < deadline)) || fail_with_log "the restart took more than 120 s"
    sleep 0.1
  done
}

prepare

title "a run that nobody disturbs, to compare with"
start_run reference 0
end_run || fail_with_log "the undisturbed run failed"
show_log

title "the run that will be struck: $((nodes * node_size)) ranks on $nodes nodes"
restored=0
start_run heat $pause_ms
one=$((RANDOM % nodes))
two=$((RANDOM % nodes))
strike L2 "one node" $one
strike L3 "two neighbours in the partner ring" $two $(((two + 1) % nodes))
strike L4 "all nodes" $(seq 0 $((nodes - 1)))
end_run || fail_with_log "the last life of the run failed"
say "and it ran to its end:"
grep '^heat: ' "$log" | tail -n 4 | sed 's/^/    /'

title "results"
cmp "$demo/reference.plate" "$demo/heat.plate" || die "the plate differs from that of the undisturbed run"
say "three times struck, and the plate is bit for bit that of the undisturbed run"
ckpt_tool list || die "ckpt-tool list failed"
ckpt_tool verify || die "ckpt-tool verify found damage"
"$bin/plate-png" "$demo/heat.plate" "$demo/plate.png"
say "a picture of the plate: build/demo/plate.png"
say "snapshots stay in $local and build/demo/global until the next demo"
