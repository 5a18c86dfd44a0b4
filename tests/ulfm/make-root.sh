#!/usr/bin/env bash
# Makes a Debian 13 root, which has Open MPI 5 with ULFM, for the tests of recovery inside a running job:
#
#   tests/ulfm/make-root.sh                  makes or updates it; prints where it is
#   tests/ulfm/make-root.sh run COMMAND...   then runs a command in it
#
# It lies in ${XDG_CACHE_HOME:-$HOME/.cache}/cairn/trixie and is used again. A command in it sees this checkout, read-only,
# as /cairn, and may build in $BUILD_TREE, which is kept too. It has processes, mounts and shared memory of its own: when
# the command ends, or is killed, nothing of them is left. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
. "$here/../../tools/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../support/debian_root.sh
. "$here/../support/debian_root.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/cairn
root=$cache/trixie
build=$cache/ulfm-build
# Each checkout has a tree of its own: make goes by times of files, which say nothing between two.
tree=/build/tree-$(printf %s "$top" | cksum | cut -d' ' -f1)

in_root() {
  in_debian_root "$root" "$build" BUILD_TREE="$tree" CCACHE_DIR=/build/ccache CMAKE_C_COMPILER_LAUNCHER=ccache \
    CMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
}

mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$here/packages.txt")

# What is shown on the terminal is where the root is, or why there is none.
update() {
  local wanted=$root/etc/cairn-packages log=$cache/trixie.log
  mkdir -p "$cache"
  if cmp -s "$here/packages.txt" "$wanted"; then return; fi
  if ! {
    { [[ -d $root ]] || make_debian_root trixie "$root"; } && in_root timeout -s KILL 300 apt-get update -qq &&
      in_root timeout -s KILL 900 apt-get install -y -qq --no-install-recommends "${packages[@]}" && in_root apt-get clean
  } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "no Debian 13 root with Open MPI 5 could be made; all of it: $log"
  fi
  cp "$here/packages.txt" "$wanted"
}

update
case ${1:-} in
  '') echo "$root" ;;
  run)
    shift
    in_root "$@"
    ;;
  *) die "usage: make-root.sh [run COMMAND...]" ;;
esac
