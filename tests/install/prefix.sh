#!/usr/bin/env bash
# The Python package from a prefix, on a system that has nothing: installs BUILD as the quick start does, into the home of a
# fresh root of the Debian release that this machine runs, and does what python.md says, with Debian's Python.
#
#   prefix.sh BUILD
#
# What is kept: see packages.sh. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
. "$here/../../tools/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../support/debian_root.sh
. "$here/../support/debian_root.sh"
[[ $# -eq 1 ]] || die "usage: prefix.sh BUILD"

suite=$(this_debian)
fresh_debian_root "$suite"
trap 'rm -rf --one-file-system "$fresh"' EXIT
cmake --install "$1" --prefix "$fresh/root/.local/cairn" >"$fresh/root/install.log" || {
  cat "$fresh/root/install.log" >&2
  die "the build cannot be installed"
}
mkdir -p "$kept/archives/partial"
# Keeps the archives that apt fetches for the next run.
printf 'Dir::Cache::archives "/build/archives";\nAPT::Keep-Downloaded-Packages "true";\n' >"$fresh/etc/apt/apt.conf.d/90kept"
# As on the pages: what the quick start installs, and what python.md names.
# shellcheck disable=SC2016 # expanded in the root
in_debian_root "$fresh" "$kept" timeout -s KILL 900 bash -euc '
  quietly() { "$@" >/root/output 2>&1 || { cat /root/output >&2; exit 1; }; }
  quietly /cairn/tools/install-packages.sh demo
  quietly apt-get install -qq --no-install-recommends python3-mpi4py python3-numpy
  timeout -s KILL 300 python3 -B /cairn/tests/docs/run_pages.py --home /root /cairn python.md
'
say "python.md is right on a fresh system"
