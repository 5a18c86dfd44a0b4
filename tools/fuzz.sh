#!/usr/bin/env bash
# Looks for inputs that break what reads bytes from outside (tests/fuzz), with libFuzzer, Clang and its sanitizers:
#
#   tools/fuzz.sh [--minutes M | --same] [--target NAME] [--keep]
#
# M minutes in all (10), divided among the targets, as many at once as there are processors. What is found is kept in
# build/fuzz and is where the next run begins. --same tries as many inputs of each target, and the same ones each time that
# the code is the same, so that a change fails only where its author has seen it fail. --keep takes the fewest small inputs
# that reach most of the code into tests/fuzz/corpus, where they are tests. An input that breaks a promise is named with the command that plays it again.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top"

work=$top/build/fuzz
fuzz=$top/build/fuzzer/bin/fuzz
minutes=10 same='' chosen='' keep=''
limits=(-timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=512 -max_len=4096)

# Of one target with --same: a quarter of a minute, or less.
runs_of() {
  case $1 in
    config) echo 3000 ;;
    shard | parity_file | layout | global_manifest | command_line | node_file) echo 20000 ;;
    node_manifest | run_record | chain_mark | pins | costs | domains | traces | measured) echo 60000 ;;
    *) echo 300000 ;;
  esac
}

# fuzz_one TARGET SECONDS: fuzzes one target, says in a line what came of it, and fails where a promise broke. Without
# seconds: with --same.
fuzz_one() {
  local target=$1 seconds=$2 here=$work/$1 code=0 last limit
  limit=(-max_total_time="$seconds")
  if [[ -z $seconds ]]; then
    here=$work/same/$1 limit=(-runs="$(runs_of "$target")" -seed=1 -reload=0)
    rm -rf "$here"
  fi
  mkdir -p "$here"/{found,seeds} "tests/fuzz/corpus/$target"
  "$fuzz" --target="$target" --seeds="$here/seeds"
  at_fixed_addresses "$fuzz" --target="$target" "${limits[@]}" "${limit[@]}" -close_fd_mask=1 -print_final_stats=1 -print_funcs=0 \
    -artifact_prefix="$here/broken-" "$here/found" "tests/fuzz/corpus/$target" "$here/seeds" >"$here/log" 2>&1 || code=$?
  last=$(grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' "$here/log" | tail -n 1) || true
  say "$(printf '%-16s %9s runs, %s' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$here/log")" \
    "${last:-nothing reached}")"
  [[ $code -ne 0 ]] || return 0
  grep -E 'broken promise|what\(\):|runtime error|^==.*ERROR|^SUMMARY' "$here/log" | head -n 4 || true
  say "$target BROKEN; to play it again: $(sed -n "s|.*Test unit written to \(.*\)|$fuzz --target=$target \1|p" "$here/log")"
  return 1
}

# Prints, of the inputs that a merge has looked at, the few that reach most edges: each time the one that adds most.
few_of() {
  python3 - "$1" <<'PYTHON'
import sys
most = 16
lines = open(sys.argv[1]).read().split("\n")
names = lines[2:2 + int(lines[0])]
edges = {names[int(line.split()[1])]: set(line.split()[2:]) for line in lines if line.startswith("FT ")}
reached = set()
for _ in range(most):
    best = max(sorted(edges), key=lambda name: len(edges[name] - reached))
    if edges[best] <= reached:
        break
    reached |= edges[best]
    print(best)
PYTHON
}

# keep_one TARGET: the corpus becomes the few inputs that reach most of what is reached now.
keep_one() {
  local target=$1 here=$work/$1 corpus=tests/fuzz/corpus/$1
  rm -rf "$here"/{merged,kept,merge-control} && mkdir -p "$here"/{merged,kept}
  "$fuzz" --target="$target" "${limits[@]}" -merge=1 -use_counters=0 -close_fd_mask=1 -merge_control_file="$here/merge-control" \
    "$here/merged" "$corpus" "$here/found" >"$here/merge-log" 2>&1
  few_of "$here/merge-control" | xargs -I '{}' cp '{}' "$here/kept"
  rm -rf "$corpus" && cp -r "$here/kept" "$corpus"
  say "$(printf '%-16s %4s inputs' "$target" "$(find "$corpus" -type f | wc -l)")"
}

# Called by this script itself, for several at once.
if [[ ${1:-} == --one ]]; then
  fuzz_one "$2" "${3:-}"
  exit
fi

while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) minutes=${2:-} && shift 2 ;;
    --same) same=yes && shift ;;
    --target) chosen=${2:-} && shift 2 ;;
    --keep) keep=yes && shift ;;
    *) die "usage: tools/fuzz.sh [--minutes M | --same] [--target NAME] [--keep]" ;;
  esac
done
[[ $minutes =~ ^[0-9]+$ ]] || die "--minutes $minutes: not a whole number"

{ cmake --preset fuzzer && cmake --build --preset fuzzer -j "$(processors)" --target fuzz; } >&2 || die "it does not build"
mapfile -t targets < <("$fuzz" --list)
if [[ -n $chosen ]]; then
  [[ " ${targets[*]} " == *" $chosen "* ]] || die "no target '$chosen'; there are ${targets[*]}"
  targets=("$chosen")
fi

seconds=$((minutes * 60 / ${#targets[@]}))
each=("$((seconds > 0 ? seconds : 1))")
[[ -z $same ]] || each=()
code=0
printf '%s\n' "${targets[@]}" | xargs -P "$(processors)" -I '{}' "$top/tools/fuzz.sh" --one '{}' "${each[@]}" || code=1
if [[ $code -eq 0 && -n $keep ]]; then
  for target in "${targets[@]}"; do keep_one "$target"; done
fi
exit $code
