# What the steps of tools/test.sh do, each a function run_STEP that fails if its step does; to be sourced after tools/lib.sh.
# They read from test.sh: top and logs, directories; depth, gate or all; seed, a number; is_chosen STEP.
# shellcheck shell=bash disable=SC2154

# Two more than there are processors: jobs of MPI count as two, and mostly wait.
tests_of_build() {
  ctest --test-dir build --output-on-failure --no-tests=error -j "$(($(processors) + 2))" "$@"
}

# What a user runs.
quick_kinds=(unit contract cluster golden tool mpi)
quick_build() { build_into "$top/build" "${quick_kinds[@]/#/cairn_tests_}"; }
quick_ctest() {
  local kinds
  kinds=$(IFS='|' && echo "${quick_kinds[*]}")
  tests_of_build -L "^($kinds)\$" -LE '^(root|long|judged)$'
}
run_packages() { tools/install-packages.sh && use_compiler_cache; }
run_layers() {
  tools/check-layers.py --self-test && tools/check-layers.py && tools/check-classes.py --self-test && tools/check-classes.py
}
run_format() { tools/check-format.sh; }
run_prose() { tools/check-prose.py --self-test && tools/check-prose.py; }
# The root for `ulfm` is made meanwhile, which is mostly waiting. GCC saves no memory, for which it takes a tenth of its time.
run_build() {
  local code=0
  if is_chosen ulfm; then tests/ulfm/make-root.sh & fi
  build_into "$top/build" -DCAIRN_FORTRAN=ON -DCMAKE_CXX_FLAGS=--param=ggc-min-heapsize=2000000 || code=1
  # CMake leaves Fortran out where it finds no compiler, and its tests with it.
  grep -q '^CAIRN_FORTRAN:BOOL=ON' build/CMakeCache.txt || { echo "no Fortran compiler was found" && code=1; }
  grep -q '^CAIRN_PYTHON_FOR_TESTS:FILEPATH=/' build/CMakeCache.txt || { echo "no Python with mpi4py was found" && code=1; }
  wait || true
  return $code
}
run_judged() { tests_of_build -L '^judged$'; }
run_ctest() {
  local left_out='^(judged|long)$'
  [[ $depth == gate ]] || left_out='^judged$'
  tests_of_build -LE "$left_out"
}

# sanitized PRESET TARGETS PATTERNS BUT: builds these targets by the preset, and runs the tests whose names match one of the
# patterns and none of BUT. Each of the three is a list of words. A pattern that matches no test is an error: it would check
# nothing.
sanitized() {
  local preset=$1 targets patterns but words names pattern code=0
  for words in targets patterns but; do shift && read -ra "$words" -d '' <<<"$1"; done
  # A kernel that shuffles addresses widely leaves the thread sanitizer no room for its shadow.
  cmake --preset "$preset" && at_fixed_addresses cmake --build --preset "$preset" -j "$(processors)" --target "${targets[@]}" ||
    return
  names=$(ctest --preset "$preset" -N | sed -nE 's/^ *Test +#[0-9]+: //p')
  for pattern in "${patterns[@]}" "${but[@]}"; do
    grep -qE -- "$pattern" <<<"$names" || { echo "no test matches $pattern" && code=1; }
  done
  at_fixed_addresses ctest --preset "$preset" -j "$(($(processors) + 1))" --no-tests=error -R "$(any_of "${patterns[@]}")" \
    ${but[0]+-E "$(any_of "${but[@]}")"} && return "$code"
}
any_of() {
  local IFS='|'
  echo "$*"
}

# The gate plays what handles bytes of others, memory of others or threads, and random jobs, which run most of the rest;
# --all plays all tests of one process, but for what only counts. Open MPI 4.1 repairs nothing, so no sanitizer sees
# lib/repair at work, and none sees a race between processes. Five ranks show of collective calls what eight do.
of_processes='^contract_store/PosixPool.that_is_(cleaned|emptied_for_a_full_store)_'
run_asan() {
  local targets=contract tests='^contract_' but="$of_processes ^collectives/on_8\$"
  if [[ $depth == all ]]; then
    targets="contract cairn_tests_unit cairn_tests_cluster" tests='^contract_ ^unit_ ^cluster_'
    but+=' ^cluster_plan/PlanProperty ^cluster_scaling/ ^unit_sick_cluster/'
  fi
  sanitized asan \
    "cairn_tests_$targets cairn_tests_golden cairn_tests_fuzz cairn_tests_replay cairn_tests_torture cluster_stay
     mpi_comm tap observer carrier collectives channels part_collectives" \
    "$tests ^golden ^fuzz_corpus/ ^replay ^torture_judge/ ^torture/few_seeds$ ^cluster_stay/StaySeeds
     ^mpi_comm/ ^tap/on_ ^observer/ ^carrier/ ^collectives/ ^channels/ ^part_collectives/" \
    "$but"
}
run_tsan() {
  local clusters='' tests=''
  if [[ $depth == all ]]; then
    clusters="cluster_job cluster_faults cluster_runs cluster_stop" tests='^cluster_(job|faults|runs|stop)/'
  fi
  sanitized tsan \
    "cairn_tests_contract replay_spill replay_helpers replay_deadlock replay_exchange torture cluster_stay $clusters" \
    "^contract_ ^replay_[a-z]+/ ^torture/few_seeds$ ^cluster_stay/StaySeeds $tests" "$of_processes"
}
run_ulfm() { tests/ulfm/run.sh "$([[ $depth == all ]] && echo all || echo brief)" "$seed"; }
run_mpich() { tests/mpi/mpich.sh "$top/build"; }
run_without() {
  build_into "$top/build/without" -DCAIRN_LOCAL_ROLLBACK=OFF all cairn_tests_{unit,contract,cluster,golden} &&
    ctest --test-dir "$top/build/without" -j "$(processors)" --output-on-failure -L 'unit|contract|cluster|golden' \
      -LE 'long|root|judged'
}
run_fuzz() { tools/fuzz.sh --minutes 10; }
run_torture() { tools/torture.sh --from "$seed" --minutes 10; }
# The precompiled headers are in the compile commands.
run_tidy() {
  cmake --preset asan && cmake --build --preset asan -j "$(processors)" --target room_base && tools/check-tidy.sh build/asan
}
