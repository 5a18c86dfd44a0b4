#!/usr/bin/env bash
# Measures Cairn against what this machine can do: tools/bench.sh [--quick] [--json FILE] [--size BYTES] [--bin DIR]
# and how long a job takes to come back after a failure: tools/bench.sh recovery [--quick] [--bin DIR]
# and what local rollback saves: tools/bench.sh replay [--quick] [--bin DIR]
# and what fault localization costs: tools/bench.sh localize [--quick] [--bin DIR]
# and what a restore on another number of ranks costs: tools/bench.sh elastic [--quick] [--bin DIR]
#
#   --quick       the headline case only, with fewer repetitions: about a minute and a half; all of it takes up to ten
#   --json FILE   all figures with all repetitions, and what machine it was
#   --size BYTES  a rank's state in the headline case (64 MiB)
#   --bin DIR     programs that are built already; otherwise builds, Release, into build/
#
# The headline case is 4 simulated nodes of one application rank and one head, node stores in memory. Figures are
# divided by a limit that was measured in the same run: those of snapshots and restarts, in the same job, by a copy of
# the same bytes that as many ranks make at once as the application has. Before each snapshot and each such copy the
# whole state is rewritten, and other memory displaces it from the caches; neither is timed. A snapshot's processor time
# is that of all processes.
#
# Prints a table: medians, smallest and largest, ratios, goals, and what other libraries reached on such a machine
# (bench/others.json). The exit code says only whether it ran.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

if [[ ${1:-} == recovery ]]; then
  shift
  exec "$top/tools/bench/recovery.sh" "$@"
fi
if [[ ${1:-} == replay ]]; then
  shift
  exec "$top/tools/bench/replay.sh" "$@"
fi
if [[ ${1:-} == localize ]]; then
  shift
  exec "$top/tools/bench/localize.sh" "$@"
fi
if [[ ${1:-} == elastic ]]; then
  shift
  exec "$top/tools/bench/elastic.sh" "$@"
fi

mib=$((1024 * 1024))
quick=no json='' size=$((64 * mib)) bin=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=yes && shift ;;
    --json | --size | --bin)
      [[ $# -ge 2 ]] || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    *) die "usage: tools/bench.sh [--quick] [--json FILE] [--size BYTES] [--bin DIR]" ;;
  esac
done
if [[ -n $bin ]]; then
  [[ -x $bin/bench-snapshot ]] || die "--bin $bin: there is no bench-snapshot; build the target bench-snapshot first"
  bin=$(cd "$bin" && pwd)
fi
[[ $size =~ ^[0-9]+$ && $size -ge 1024 ]] || die "--size $size: write a number of bytes, 1024 or more"

here=         # scratch on the disk: the global store, records, logs
memory=       # scratch in memory where there is some: node stores, and what MPI's ranks share
job_limit=180 # seconds; then all its ranks are killed
runner=       # process id of the job under way
failed=()     # parts of the measurement
clean_up() {
  # mpirun takes its ranks along.
  if [[ -n $runner ]]; then
    kill -TERM "$runner" 2>/dev/null || true
    wait "$runner" || true
  fi
  rm -rf ${here:+"$here"} ${memory:+"$memory"}
}
trap clean_up EXIT
trap 'exit 130' INT TERM

prepare() {
  if [[ -z $bin ]]; then
    bin=$top/build/bin
    build_for_bench bench-{limits,snapshot,restart,regions,open,idle,slowdown,scaling,tap}
  fi
  mkdir -p "$top/build"
  here=$(mktemp -d "$top/build/bench-XXXXXX")
  memory=$here/memory
  if [[ -w /dev/shm ]]; then memory=$(mktemp -d /dev/shm/cairn-bench-XXXXXX); fi
  local=$memory/stores
  mkdir -p "$local" "$memory/mpi"
  records=$here/records.jsonl
  : >"$records"
  allow_mpi_here
  # Else a job that is killed leaves its segments in /dev/shm.
  export OMPI_MCA_btl_vader_backing_directory=$memory/mpi
  if can_read_each_other; then export OMPI_MCA_btl_vader_single_copy_mechanism=cma; fi
}

# Whether processes of this user may copy from each other's memory, as Open MPI does for large messages when told so.
can_read_each_other() {
  python3 - <<'PYTHON'
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
private = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(private))
told, wait = os.pipe(), os.pipe()
owner = os.fork()
if owner == 0:
    private[:5] = b"cairn"
    os.write(told[1], b"x")
    os.read(wait[0], 1)
    os._exit(0)
os.read(told[0], 1)
# A sibling reads, not the parent: ranks are siblings, and a parent may where they may not.
reader = os.fork()
if reader == 0:
    into = ctypes.create_string_buffer(5)
    mine, theirs = Piece(ctypes.addressof(into), 5), Piece(address, 5)
    libc.process_vm_readv(owner, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    os._exit(0 if into.raw == b"cairn" else 1)
status = os.waitpid(reader, 0)[1]
os.write(wait[1], b"x")
os.waitpid(owner, 0)
sys.exit(1 if status else 0)
PYTHON
}

# choose NODES [MODE [RANKS]]: simulated nodes, who heads them, and the application ranks of each. Sets what job() and
# write_ini() use.
choose() {
  nodes=$1 mode=${2:-rank}
  node_size=${3:-1} more=()
  if [[ $mode == rank ]]; then node_size=$((node_size + 1)); fi
  if [[ $mode == thread ]]; then more=(--threads); fi
}

# write_ini LEVELS: these levels are there, and come when they are asked for; L1 at every snapshot.
write_ini() {
  local level parity=2
  if ((nodes < 4)); then parity=1; fi
  rm -rf "${local:?}"/* "$here/global"
  mkdir -p "$here/global"
  {
    printf '[job]\nname = bench\n[storage]\nlocal = %s\nglobal = %s\n' "$local" "$here/global"
    printf '[levels]\nl1 = every 1\n'
    for level in 2 3 4; do
      if [[ $1 == *$level* ]]; then echo "l$level = every 1000000000"; else echo "l$level = off"; fi
    done
    printf '[head]\nmode = %s\n[erasure]\ngroup = 4\nparity = %d\n' "$mode" $parity
    printf '[topology]\nnode_size = %d\n[log]\nlevel = warning\n' "$node_size"
  } >"$here/bench.ini"
}

# bounded WHAT COMMAND...: what the command says goes to a log that is shown if it fails.
bounded() {
  local what=$1 code=0
  shift
  timeout -s KILL "$job_limit" "$@" >"$here/log" 2>&1 &
  runner=$!
  # Waited for, not run: a signal then ends this script at once.
  wait "$runner" || code=$?
  runner=
  [[ $code -ne 0 ]] || return 0
  tail -n 40 "$here/log" >&2
  say "$what ended with $code" >&2
  return 1
}

# measure PART ARGUMENTS...: a part that fails is told of at the end; the rest is measured all the same.
measure() { "$@" || failed+=("$*"); }

# launch RANKS PROGRAM ARGUMENTS...: one MPI job.
launch() {
  local ranks=$1 program=$2
  shift 2
  bounded "$program $*" mpirun -n "$ranks" "$bin/$program" --records "$records" "$@"
}

# job PROGRAM ARGUMENTS...: on the nodes that were chosen.
job() {
  local program=$1
  shift
  launch $((nodes * node_size)) "$program" --config "$here/bench.ini" --tag "nodes=$nodes" --tag "head=$mode" \
    "${more[@]}" "$@"
}

limits() {
  say "limits, $1 bytes a rank"
  launch 4 bench-limits --bytes "$1" --repetitions "$2" --node-store "$local" --global-store "$here"
}

# snapshots GROUP LEVELS BYTES REPETITIONS [ARGUMENTS...]
snapshots() {
  local group=$1 levels=$2 bytes=$3 repetitions=$4
  shift 4
  say "snapshots: $nodes nodes, head mode $mode, L$levels, $bytes bytes a rank"
  write_ini "$levels"
  job bench-snapshot --group "$group" --levels "$levels" --bytes "$bytes" --repetitions "$repetitions" \
    --plain "$here" "$@"
}

# firsts REPETITIONS: of new jobs.
firsts() {
  local i
  say "the first two snapshots of a run: $1 runs"
  for ((i = 0; i < $1; ++i)); do
    write_ini 1
    job bench-snapshot --group headline --levels 1 --bytes "$size" --plain "$here" --only-first || return
  done
}

lose() {
  local node
  for node in "$@"; do rm -rf "${local:?}/$(printf 'node%04d' "$node")"; done
}

# restarts GROUP FIGURE LEVEL REPETITIONS LOST... [-- ARGUMENTS...]: snapshots at LEVEL, then lives that each find the
# stores of the LOST nodes gone. A life ends when what was lost is rebuilt.
restarts() {
  local group=$1 figure=$2 level=$3 repetitions=$4 lost=() i
  shift 4
  while [[ $# -gt 0 && $1 != -- ]]; do lost+=("$1") && shift; done
  shift $(($# > 0))
  say "$figure: $repetitions lives"
  write_ini "$level"
  job bench-restart --leave "$level" --bytes "$size" --ranks "$nodes" || return
  for ((i = 0; i < repetitions; ++i)); do
    lose "${lost[@]}"
    job bench-restart --group "$group" --figure "$figure" --expect "$level" --bytes "$size" --ranks "$nodes" "$@" ||
      return
  done
}

idle() {
  say "idle heads: head mode $mode"
  write_ini 1
  job bench-idle --seconds "$1" --repetitions "$2"
}

# opening REPETITIONS: of new jobs.
opening() {
  local i
  say "opening a session: $nodes nodes of $node_size ranks, head mode $mode"
  for ((i = 0; i < $1; ++i)); do
    write_ini 1,2,3,4
    job bench-open || return
  done
}

# hearing REPETITIONS
hearing() {
  say "calls of MPI that Cairn hears"
  write_ini 1
  job bench-tap --repetitions "$1"
}

# regions SNAPSHOTS RESTARTS
regions() {
  local i
  say "10,000 regions of 1 KiB: one rank and its head"
  for ((i = 0; i < $2; ++i)); do
    write_ini 1
    job bench-regions --figure "10,000 regions of 1 KiB" --fresh || return
  done
  write_ini 1
  job bench-regions --figure "10,000 regions of 1 KiB" --leave "$1" || return
  for ((i = 0; i < $2; ++i)); do
    job bench-regions --figure "10,000 regions of 1 KiB" || return
  done
}

# slow_down FIGURE LEVELS REPETITIONS SNAPSHOTS: a snapshot each half second.
slow_down() {
  say "an application's slow-down: $1, L$2"
  write_ini "$2"
  job bench-slowdown --tag "cores=$(processors)" --figure "$1" --levels "$2" --bytes "$size" --repetitions "$3" \
    --snapshots "$4" --interval 0.5
}

free_mib() { awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo; }

# slow_down_node WHAT RANKS REPETITIONS SNAPSHOTS: an application of that many ranks on one node, and the node's head.
slow_down_node() {
  local what=$1 ranks=$2
  shift 2
  ((ranks > 0)) || return 0
  # Cells, the next cells, coefficients, the copy's target, slots.
  if (($(free_mib) < 16 * ranks * (size / mib))); then
    say "left out for want of memory: heat on a $what node, $ranks ranks of $size bytes"
    return 0
  fi
  choose 1 rank "$ranks"
  slow_down "heat on a $what node" 1 "$@"
}

scaling() {
  say "scaling, counted"
  bounded bench-scaling "$bin/bench-scaling" "$records"
}

# The case that has goals. headline SNAPSHOTS RESTARTS
headline() {
  choose 4
  measure snapshots headline 1,2,3,4 "$size" "$1"
  measure snapshots headline 1 1024 100 --no-streams
  measure firsts "$2"
  measure restarts headline "restart from L1" 1 "$2"
  measure restarts headline "restart from L2, a node lost" 2 "$2" 1
  measure restarts headline "restart from L3, 2 of 4 nodes lost" 3 "$2" 0 2
  measure restarts headline "restart from L4, all nodes lost" 4 "$2" 0 1 2 3
  choose 1
  measure regions $((3 * $1)) "$2"
  measure hearing "$1"
  for mode in inline rank; do
    choose 4 "$mode"
    measure opening "$2"
  done
}

# slow_downs REPETITIONS SNAPSHOTS: with an application rank on each core, and on half of the cores.
slow_downs() {
  measure slow_down_node full "$(processors)" "$@"
  measure slow_down_node half-full $(($(processors) / 2)) "$@"
}

everything() {
  local bytes nodes_now
  for bytes in 1024 $mib "$size"; do measure limits "$bytes" 7; done
  measure limits $((4 * size)) 3
  headline 9 5
  choose 4
  measure restarts restart "restart from L3, 2 of 4 nodes lost, told so" 3 5 0 2 -- --told 0,2

  measure snapshots sizes 1,2,3,4 1024 21
  measure snapshots sizes 1,2,3,4 $mib 21
  # Slots, copies, code, and the application's own.
  if (($(free_mib) > 192 * (size / mib))); then
    measure snapshots sizes 1,2,3,4 $((4 * size)) 3 --no-streams
  else
    say "left out for want of memory: $((4 * size)) bytes a rank"
  fi
  for nodes_now in 1:1,4 2:1,2,3,4 3:1,2,3,4 8:1,2,3,4; do
    choose "${nodes_now%%:*}"
    measure snapshots nodes "${nodes_now#*:}" $((size / 4)) 5
  done
  for mode in thread inline; do
    choose 4 $mode
    measure snapshots "head modes" 1,2,3,4 "$size" 5
  done
  for mode in rank thread; do
    choose 4 $mode
    measure idle 3 3
  done
  slow_downs 3 8
  choose 4
  measure slow_down "heat on 4 nodes" 1,3 1 6
  measure scaling
}

prepare
say "node stores in $local, the global store in ${here#"$top"/}; Open MPI copies between ranks by" \
  "${OMPI_MCA_btl_vader_single_copy_mechanism/none/shared memory}"
if [[ $quick == yes ]]; then
  measure limits "$size" 3
  headline 3 3
  choose 4
  measure idle 2 1
  slow_downs 1 5
else
  everything
fi
"$top/tools/bench/table.py" ${json:+--json "$json"} --size "$size" "$records"
[[ ${#failed[@]} -eq 0 ]] || die "not measured: $(printf '%s; ' "${failed[@]}")$SECONDS s"
say "$SECONDS s"
