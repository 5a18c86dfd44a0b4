#!/usr/bin/env bash
# packages.sh runs this in a fresh root of Debian. It installs the packages of /build/packages and compiles programs with
# one line each. The programs die and are restarted. Then it purges the packages.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
allow_mpi_here

ranks=4
names=(libcairn0.1 libcairn-dev cairn-tools python3-cairn)
work=/root/work
mkdir -p "$work" /build/archives/partial
cd "$work"

fails() {
  cat output >&2 2>/dev/null || true
  die "$*"
}

# Keeps the archives that it fetches for the next run.
apt() {
  timeout -s KILL 600 apt-get -qq -o Dir::Cache::archives=/build/archives -o APT::Keep-Downloaded-Packages=true "$@" \
    >output 2>&1 || fails "apt-get $*"
}

has_no_path() {
  ! readelf -d "$1" 2>/dev/null | grep -E 'R(UN)?PATH' || fails "$1 has a path of its own"
}

# Compilers come first. MPI and all else that Cairn needs has to come as dependencies of its packages.
installs() {
  apt update
  apt install --no-install-recommends g++ gfortran pkg-config cmake make man-db
  apt install --no-install-recommends /build/packages/*.deb
  apt check
  apt autoclean
  local name
  for name in "${names[@]}"; do
    dpkg -s "$name" | grep 'built with Open MPI [0-9]' >/dev/null || fails "$name does not say which MPI it is for"
    dpkg -L "$name" | grep -x "/usr/share/doc/$name/copyright" >/dev/null || fails "$name has no copyright"
    dpkg --verify "$name" | tee output
    [[ ! -s output ]] || fails "$name is not as it was packed"
  done
  dpkg -L "${names[@]}" | sort -u >files
  local modules
  modules=$(dirname "$(dpkg -L libopenmpi-dev | grep '/mpi_f08.mod$')")
  [[ -f ${modules%/*}/cairn/cairn.mod ]] || fails "cairn.mod is not where Debian has modules: ${modules%/*}"
  local file
  while read -r file; do
    if [[ -f $file && ! -L $file ]]; then has_no_path "$file"; fi
  done <files
  ckpt-run --help >output 2>&1 || fails "ckpt-run --help"
  ckpt-tool --help >output 2>&1 || fails "ckpt-tool --help"
  man -w ckpt-run ckpt-tool
  [[ -e /usr/share/bash-completion/completions/ckpt-run ]] || fails "no completion for ckpt-run"
}

# goes_on PROGRAM LAUNCHER...: starts the program, which dies, and restarts it with the launcher.
goes_on() {
  local program=$work/$1 directory=$work/run-${1##*/}
  shift
  rm -rf "$directory"
  mkdir "$directory"
  cd "$directory"
  printf '[storage]\nlocal = %s/local\nglobal = %s/global\n[levels]\nl1 = every 1\n[head]\nmode = rank\n' "$directory" \
    "$directory" >program.ini
  if timeout -s KILL 120 mpirun -n $ranks "$program" die >output 2>&1; then fails "$program did not die"; fi
  ! grep -q 'from ' output || fails "$program did not die"
  timeout -s KILL 120 "$@" "$program" >output 2>&1 || fails "$program, with $*"
  grep -q "from 5 to 10 on $((ranks - 1)) ranks" output || fails "$program did not go on where it was, with $*"
  ! grep -q 'MPI calls are not intercepted' output || fails "$program does not intercept MPI calls, with $*"
  cd "$work"
}

# As in README.md.
links_in_one_line() {
  local here=/cairn/tests/install program
  # shellcheck disable=SC2046 # words
  {
    mpicxx -std=c++20 $here/program.cpp $(pkg-config --cflags --libs cairn) -o of-cxx
    mpicc $here/program.c $(pkg-config --cflags --libs cairn-c) -o of-c
    mpifort $here/program.f90 $(pkg-config --cflags --libs cairn-fortran) -o of-fortran
  } >output 2>&1 || fails "a program could not be compiled"
  for program in of-cxx of-c of-fortran; do
    has_no_path $program
    goes_on $program mpirun -n $ranks
    goes_on $program ckpt-run --config program.ini -n $((ranks - 1)) --
    say "$program: died and went on"
  done
}

is_found_by_cmake() {
  cmake -S /cairn/tests/install/consumer -B consumer '-DLANGUAGES=C;CXX;Fortran' -DPROGRAMS=/cairn/tests/install \
    >output 2>&1 || fails "find_package(cairn)"
  timeout -s KILL 300 cmake --build consumer >output 2>&1 || fails "programs of find_package(cairn)"
  local language
  for language in C CXX Fortran; do
    goes_on consumer/program_$language mpirun -n $ranks
  done
  say "find_package: died and went on"
}

# As on the page, with Debian's own Python.
serves_python() {
  python3 -m cairn >output 2>&1 || fails "python3 -m cairn"
  printf '[job]\nname = heat\n[storage]\nlocal = %s/local-python\nglobal = %s/global-python\n[restart]\nat_end = continue\n' \
    "$work" "$work" >heat.ini
  local heat=/cairn/examples/python/heat.py
  timeout -s KILL 120 ckpt-run -n $((ranks - 1)) --config heat.ini -- python3 $heat heat.ini 50 >output 2>&1 || fails "$heat"
  timeout -s KILL 120 ckpt-run -n $((ranks - 1)) --config heat.ini -- python3 $heat heat.ini 80 >output 2>&1 || fails "$heat"
  grep -q 'continues at step 50' output || fails "$heat did not go on where it was"
  ! grep -q 'MPI calls are not intercepted' output || fails "$heat does not intercept MPI calls"
  mkdir home-python
  timeout -s KILL 300 python3 -B /cairn/tests/docs/run_pages.py --home home-python /cairn python.md >output 2>&1 ||
    fails "python.md with packages"
  say "python: went on, and the page is right"
}

is_purged() {
  apt purge "${names[@]}"
  local file
  while read -r file; do
    if [[ -L $file || -f $file ]]; then fails "$file is left"; fi
  done <files
  find / -xdev \( -path "$work" -o -path /cairn -o -path /build -o -path /tmp -o -path /proc \) -prune -o \
    \( -name '*cairn*' ! -name Pitcairn -o -name 'ckpt-*' \) -print >output
  [[ ! -s output ]] || fails "files are left"
  ! dpkg-query -W "${names[@]}" >output 2>/dev/null || fails "dpkg knows a package still"
}

installs
links_in_one_line
is_found_by_cmake
serves_python
is_purged
say "installed, used and purged: ${names[*]}"
