# What the scripts in tools/ share; to be sourced. Sets `top`, the root of the working tree.
# shellcheck shell=bash
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Builds use a compiler cache where there is one. A clone in another place finds what GCC compiled in this one; and
# precompiled headers are told apart by what is in them, not by when they were written.
use_compiler_cache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
}
use_compiler_cache

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
die() {
  say "$*" >&2
  exit 1
}

# What the end of a log of ninja or ctest says of how far it is: "41 of 74".
progress_in() {
  tail -c 4000 "$1" 2>/dev/null | sed -nE 's,^(\[| *)([0-9]+)/([0-9]+)(\]| Test).*,\2 of \3,p' | tail -n 1
}

# Until it is killed: each second in one line on a terminal, elsewhere a line every half minute.
show_progress() {
  local what=$1 log=$2 seconds far
  for ((seconds = 1; ; ++seconds)); do
    # The last sleep outlives this function, and must not keep a pipe open.
    sleep 1 >/dev/null 2>&1
    kill -0 $$ 2>/dev/null || return 0
    if [[ -t 1 ]]; then
      far=$(progress_in "$log")
      printf '\r\033[K%s' "$(say "$what: ${far:+$far, }$seconds s")"
    elif ((seconds % 30 == 0)); then
      far=$(progress_in "$log")
      say "$what: ${far:+$far, }$seconds s"
    fi
  done
}

# quietly WHAT LOG COMMAND...: runs the command with its output in LOG, and shows how far it is. When it fails, shows the
# end of LOG, and returns its code. The command is in the foreground, so that Ctrl-C ends it.
quietly() {
  local what=$1 log=$2 started=$SECONDS code=0 watcher
  shift 2
  [[ -t 1 ]] || say "$what; output in ${log#"$top"/}"
  : >"$log"
  show_progress "$what" "$log" &
  watcher=$!
  "$@" >"$log" 2>&1 || code=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
  if [[ $code -eq 0 ]]; then
    say "$what: done, $((SECONDS - started)) s"
    return 0
  fi
  tail -n 40 "$log" >&2
  say "$what: FAILED after $((SECONDS - started)) s; all output is in ${log#"$top"/}" >&2
  return "$code"
}

# Processors that this process may use.
processors() { nproc; }

# Lets Open MPI run more ranks than there are cores, in a container, and as root where we are root.
allow_mpi_here() {
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_base_warn_component_unused=0
  # The default, treematch, may block in MPI_Dist_graph_create: four ranks on two busy cores, 400 calls, in half of the runs.
  export OMPI_MCA_topo=basic
  if [[ $EUID -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}

# at_fixed_addresses COMMAND...: where the container allows it.
at_fixed_addresses() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# build_for_bench TARGET...: what a benchmark needs, in build.
build_for_bench() {
  local log=$top/build/bench-build.log
  mkdir -p "$top/build"
  build_into "$top/build" "$@" >"$log" 2>&1 && return
  tail -n 40 "$log" >&2
  die "the build failed; all of it is in ${log#"$top"/}"
}

# build_into DIRECTORY [-DOPTION...] [TARGET...]: an optimised build of everything, or of some targets. The demo's build
# lies in the same directory, and may have no tests.
build_into() {
  local directory=$1 options=(-DCAIRN_BUILD_TESTS=ON)
  shift
  while [[ ${1:-} == -D* ]]; do options+=("$1") && shift; done
  cmake -S "$top" -B "$directory" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" &&
    cmake --build "$directory" -j "$(processors)" ${1:+--target "$@"}
}
