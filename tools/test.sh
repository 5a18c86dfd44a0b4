#!/usr/bin/env bash
# Runs the tests:
#
#   tools/test.sh                     what a user runs: ten minutes on a machine with two cores where nothing is installed
#   tools/test.sh --all               everything that must hold before a change is good
#   tools/test.sh --only build,ctest  steps of --all
#
# Without --all, tests of the kinds unit, contract, cluster, golden, tool and mpi are built and run. Tests with the label
# `root` or `long` are left out, and so are those that need more than the group test of tools/packages.txt.
#
# Steps of --all:
#
#   packages   what is missing of tools/packages.txt is installed
#   layers     rooms include only rooms below them
#   format     clang-format has nothing to change
#   prose      text for users has no long sentences, spelling mistakes or idioms
#   build      everything, Release, GCC, warnings as errors, into build/
#   ctest      all tests
#   asan       tests of one process, and what they need, with Clang, warnings as errors, under the address and
#              undefined-behaviour sanitizers
#   tsan       tests with threads under the thread sanitizer
#   mpich      jobs of MPICH, which ckpt-run starts again, with a build of their own
#   ulfm       recovery inside a running job, on Open MPI 5 in a Debian 13 root of its own (needs root; made when missing);
#              there each file is also compiled alone, to see that it includes what it uses
#   tidy       clang-tidy over lib/, tools/ and examples/
#   fuzz       some minutes of fuzzing, with the sanitizers' build: the same inputs each time
#
# Each step's output goes to build/test-logs/ and is shown where it matters. Ends with ctest's summary, the last words of
# steps that failed, and a line that names them.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1

steps=(packages layers format prose build asan tsan tidy ulfm mpich fuzz ctest)
logs=$top/build/test-logs
failed=()

usage() { die "usage: tools/test.sh [--all | --only STEP,STEP…]; steps: ${steps[*]}"; }

# What a user runs.
quick_kinds=(unit contract cluster golden tool mpi)
quick_build() { build_into "$top/build" -DCAIRN_PRECOMPILE=ON "${quick_kinds[@]/#/cairn_tests_}"; }
quick_ctest() {
  local kinds
  kinds=$(IFS='|' && echo "${quick_kinds[*]}")
  ctest --test-dir build --output-on-failure --no-tests=error -j "$(($(processors) + 1))" -L "^($kinds)\$" -LE '^(root|long)$'
}
quick() {
  local summary
  tools/install-packages.sh test || exit
  quietly "building" "$logs/build.log" quick_build || exit
  quietly "testing" "$logs/ctest.log" quick_ctest || exit
  summary=$(grep 'tests passed' "$logs/ctest.log")
  say "$summary ($SECONDS s); tools/test.sh --all runs everything"
}

run_packages() { tools/install-packages.sh && use_compiler_cache; }
run_layers() { tools/check-layers.py --self-test && tools/check-layers.py; }
run_format() { tools/check-format.sh; }
run_prose() { tools/check-prose.py --self-test && tools/check-prose.py; }
# The root for `ulfm` is made meanwhile, which is mostly waiting.
run_build() {
  local code=0
  if [[ " ${chosen[*]} " == *" ulfm "* ]]; then tests/ulfm/make-root.sh & fi
  build_into "$top/build" -DCAIRN_PRECOMPILE=ON -DCAIRN_FORTRAN=ON || code=1
  # CMake leaves Fortran out where it finds no compiler, and its tests with it.
  grep -q '^CAIRN_FORTRAN:BOOL=ON' build/CMakeCache.txt || { echo "no Fortran compiler was found" && code=1; }
  wait || true
  return $code
}
# One more than there are processors: some tests mostly wait.
run_ctest() { ctest --test-dir build --output-on-failure -j "$(($(processors) + 1))"; }

# sanitized NAME PATTERN BUT TARGETS...: builds these targets by the preset NAME and runs its tests whose names match
# PATTERN, but not those that match BUT.
sanitized() {
  local preset=$1 pattern=$2 but=$3
  shift 3
  # A kernel that shuffles addresses widely leaves the thread sanitizer no room for its shadow.
  cmake --preset "$preset" &&
    at_fixed_addresses cmake --build --preset "$preset" -j "$(processors)" --target "$@" &&
    at_fixed_addresses ctest --preset "$preset" -j "$(($(processors) + 1))" --no-tests=error -R "$pattern" -E "$but"
}
# But for the property that plays thousands of plans through, what only counts, and jobs of MPI.
run_asan() { sanitized asan . '^cluster_plan/PlanProperty|^cluster_scaling/|^torture/of_processes' cairn_tests_{unit,contract,cluster,golden,fuzz,torture}; }
# Whole jobs and the ports. Sweeps over losses and crashes run the same code many times more, too long for here.
run_tsan() { sanitized tsan '^(contract_|cluster_(job|faults|runs|stop)/|torture/few)' '^$' cairn_tests_contract cluster_{job,faults,runs,stop} torture; }
run_ulfm() { tests/ulfm/run.sh; }
run_mpich() { tests/mpi/mpich.sh "$top/build"; }
run_fuzz() { nice -n 19 tools/fuzz.sh --same; }
# The precompiled headers are in the compile commands.
run_tidy() { cmake --preset asan && cmake --build --preset asan -j "$(processors)" --target room_base && tools/check-tidy.sh build/asan; }

# Runs one step, and shows why it failed.
run_step() {
  local step=$1 started=$SECONDS log=$logs/$1.log code
  say "$step ..."
  if [[ $step == ctest ]]; then
    run_ctest 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
  else
    "run_$step" >"$log" 2>&1
    code=$?
  fi
  if [[ $code -eq 0 ]]; then
    say "$step ok, $((SECONDS - started)) s"
    return
  fi
  [[ $step == ctest ]] || tail -n 60 "$log"
  say "$step FAILED after $((SECONDS - started)) s; all of it: ${log#"$top"/}" >&2
  return 1
}

chosen=("${steps[@]}")
case $#${1:-} in
  0 | 1--all) ;;
  2--only)
    IFS=, read -ra chosen <<<"$2"
    for step in "${chosen[@]}"; do
      [[ " ${steps[*]} " == *" $step "* ]] || die "no step '$step'; there are ${steps[*]}"
    done
    ;;
  *) usage ;;
esac
mkdir -p "$logs"
allow_mpi_here
if [[ $# -eq 0 ]]; then
  quick
  exit
fi

# A step that leaves the processors to others can run beside the one before it: jobs of `ulfm` mostly wait, and the
# fuzzer takes what jobs of `mpich` leave.
declare -A companion=([tidy]=ulfm [mpich]=fuzz)

beside=''
for step in "${chosen[@]}"; do
  if [[ $step == ctest && " ${failed[*]} " == *" build "* ]]; then
    say "ctest not run: there is no build"
    continue
  fi
  if [[ -n $beside ]]; then
    wait "$beside" || failed+=("$step")
    beside=''
    continue
  fi
  with=${companion[$step]:-none}
  if [[ " ${chosen[*]} " == *" $step $with "* ]]; then
    run_step "$with" &
    beside=$!
  fi
  run_step "$step" || failed+=("$step")
done
# Where only the end of the output is kept, it has to say why.
for step in "${failed[@]}"; do
  [[ $step == ctest || ! -f $logs/$step.log ]] && continue
  say "the end of ${logs#"$top"/}/$step.log:"
  tail -n 30 "$logs/$step.log" | cut -c1-300
done
if [[ ${#failed[@]} -gt 0 ]]; then
  die "failed: ${failed[*]} (${SECONDS} s)"
fi
say "all is well: ${chosen[*]} (${SECONDS} s)"
