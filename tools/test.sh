#!/usr/bin/env bash
# Runs the tests:
#
#   tools/test.sh                     what a user runs: 20 minutes on a machine with two cores where nothing is installed
#   tools/test.sh --gate              what must hold before a change is merged: what the build machine runs
#   tools/test.sh --all               more of it, for changes that could lose data (see .github/CONTRIBUTING.md): hours
#   tools/test.sh [--gate] --only build,ctest   these steps, of --all unless --gate is given
#
# Without an argument, tests of the kinds unit, contract, cluster, golden, tool and mpi are built and run. Tests with the
# label `root`, `long` or `judged` are left out, and so are those that need more than the group test of tools/packages.txt.
#
# Steps:
#
#   packages   what is missing of tools/packages.txt is installed
#   layers     rooms include only rooms below them; no class has too many methods or members
#   format     clang-format has nothing to change
#   prose      text for users has no long sentences, spelling mistakes or idioms
#   build      everything, Release, GCC, warnings as errors, into build/
#   judged     tests in which heads judge by the time that something takes what is sick; before others load the machine
#   ctest      all other tests; with --gate those without the label `long`
#   asan       tests of one process, with --gate some of them, and jobs of MPI that need no failure, with Clang, warnings as
#              errors, under the address and undefined-behaviour sanitizers
#   tsan       tests with threads, with --gate some of them, under the thread sanitizer
#   tidy       clang-tidy over lib/, tools/ and examples/
#   ulfm       recovery inside a running job, on Open MPI 5 in a Debian 13 root of its own (needs root; made when missing);
#              with --gate half of the scenarios, and one kill of each sweep
#   mpich      jobs of MPICH, which ckpt-run starts again, with a build of their own
#   without    --all only: a build without local rollback, and its tests of one process
#   fuzz       --all only: ten minutes of fuzzing, with a build of its own
#   torture    --all only: ten minutes of random jobs
#
# A seed draws where ulfm kills, and what torture plays: with --gate it is made of the commit, else it is drawn. `--seed N`
# gives it. With --gate it also draws one of asan, tsan and tidy; --only runs each step that it names. Each step's output
# goes to build/test-logs/ and is shown where it matters. Ends with ctest's summary, the last words of steps that failed, and
# a line that names them.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=test-steps.sh
. "$(dirname "$0")/test-steps.sh"
cd "$top" || exit 1

first=(packages layers format prose build judged)
# Steps of different lanes run side by side: some mostly compile, and the jobs of others mostly wait. Ranks of MPI that wait
# look again and again whether something has come, for as long as they get a processor, so that nothing gives way to them.
lanes=("ctest" "mpich tidy asan tsan" "ulfm")
last=(without fuzz torture)
# shellcheck disable=SC2206 # lanes are lists of words
gate_steps=("${first[@]}" ${lanes[*]})
all_steps=("${gate_steps[@]}" "${last[@]}")
logs=$top/build/test-logs

usage() { die "usage: tools/test.sh [--gate | --all] [--only STEP,STEP…] [--seed N]; steps: ${all_steps[*]}"; }

quick() {
  local summary
  tools/install-packages.sh test || exit
  quietly "building" "$logs/build.log" quick_build || exit
  quietly "testing" "$logs/ctest.log" quick_ctest || exit
  summary=$(grep 'tests passed' "$logs/ctest.log")
  say "$summary ($SECONDS s); tools/test.sh --gate runs what the build machine runs"
}

# Runs one step; shows why it failed, and leaves a mark of that.
run_step() {
  local step=$1 log=$logs/$1.log used=$logs/$1.time TIMEFORMAT='%0R s, and %0U + %0S s of processor time' code=0
  say "$step ..."
  # In a shell of its own, which counts only its own children.
  if [[ $step == ctest ]]; then
    (time run_ctest 2>&1 | tee "$log" >&3) 3>&1 2>"$used" || code=$?
  else
    (time "run_$step" >"$log" 2>&1) 2>"$used" || code=$?
  fi
  if [[ $code -eq 0 ]]; then
    say "$step ok, $(<"$used")"
    return
  fi
  touch "$logs/$step.failed"
  [[ $step == ctest ]] || tail -n 60 "$log"
  say "$step FAILED after $(<"$used"); all of it: ${log#"$top"/}" >&2
}

depth=all only='' seed=''
[[ $# -gt 0 ]] || depth=quick
while [[ $# -gt 0 ]]; do
  case $1 in
    --gate | --all) depth=${1#--} && shift ;;
    --only | --seed)
      [[ $# -ge 2 ]] || usage
      declare "${1#--}=$2" && shift 2
      ;;
    *) usage ;;
  esac
done
mkdir -p "$logs"
allow_mpi_here
if [[ $depth == quick ]]; then
  quick
  exit
fi
[[ $depth == all ]] || all_steps=("${gate_steps[@]}")
chosen=("${all_steps[@]}")
if [[ -n $only ]]; then
  IFS=, read -ra chosen <<<"$only"
  for step in "${chosen[@]}"; do
    [[ " ${all_steps[*]} " == *" $step "* ]] || die "no step '$step'; there are ${all_steps[*]}"
  done
fi
commit=$(git rev-parse HEAD 2>/dev/null) || commit=0
drawn=$((RANDOM * 32768 + RANDOM))
[[ $depth == all ]] || drawn=$((16#${commit:0:7}))
seed=${seed:-$drawn}
[[ $seed =~ ^[0-9]+$ ]] || die "--seed $seed: not a whole number"
say "seed $seed"

# These three would take a third of the gate's time.
if [[ $depth == gate && -z $only ]]; then
  drawn_steps=(asan tsan tidy)
  unset "drawn_steps[$((seed % 3))]"
  chosen=()
  for step in "${all_steps[@]}"; do [[ " ${drawn_steps[*]} " == *" $step "* ]] || chosen+=("$step"); done
  say "not drawn: tools/test.sh --gate --only $(IFS=, && echo "${drawn_steps[*]}")"
fi

is_chosen() { [[ " ${chosen[*]} " == *" $1 "* ]]; }
run_steps() {
  local step
  for step in "$@"; do
    if ! is_chosen "$step"; then
      continue
    elif [[ $step =~ ^(judged|ctest|mpich)$ && -f $logs/build.failed ]]; then
      say "$step not run: there is no build"
    else
      run_step "$step"
    fi
  done
}

rm -f "$logs"/*.failed
run_steps "${first[@]}"
# shellcheck disable=SC2086 # lanes are lists of words
for lane in "${lanes[@]}"; do run_steps $lane & done
wait
run_steps "${last[@]}"
# Where only the end of the output is kept, it has to say why.
failed=()
for step in "${chosen[@]}"; do
  [[ -f $logs/$step.failed ]] || continue
  failed+=("$step")
  [[ $step != ctest ]] || continue
  say "the end of ${logs#"$top"/}/$step.log:"
  tail -n 30 "$logs/$step.log" | cut -c1-300
done
if is_chosen ctest && [[ -f $logs/ctest.log ]]; then
  say "ctest:"
  sed -n '/ tests passed, /,$p' "$logs/ctest.log"
fi
if [[ ${#failed[@]} -gt 0 ]]; then
  die "failed: ${failed[*]} (${SECONDS} s)"
fi
say "all is well: ${chosen[*]} (${SECONDS} s)"
