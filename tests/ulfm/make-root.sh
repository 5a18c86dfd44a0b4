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

cache=${XDG_CACHE_HOME:-$HOME/.cache}/cairn
root=$cache/trixie
build=$cache/ulfm-build
# Each checkout has a tree of its own: make goes by times of files, which say nothing between two.
tree=/build/tree-$(printf %s "$top" | cksum | cut -d' ' -f1)

[[ $EUID -eq 0 ]] || die "a root for chroot can only be made and entered as root"
command -v debootstrap >/dev/null || die "debootstrap is missing: tools/install-packages.sh"

# in_root COMMAND...: the namespaces end with the command, and take mounts, processes and shared memory with them.
in_root() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --propagation private --pid --fork --kill-child --ipc --uts bash -euc '
    root=$1 top=$2 build=$3 tree=$4
    shift 4
    mount --bind "$root" "$root" # namespaces of mounts can be made in it only if it is a mount itself
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o size=4g tmpfs "$root/dev/shm"
    mount -t tmpfs -o size=4g tmpfs "$root/tmp"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mkdir -p "$root/cairn" "$root/build" "$build"
    mount --bind "$build" "$root/build"
    mount --bind "$top" "$root/cairn"
    mount -o remount,bind,ro "$root/cairn"
    exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 BUILD_TREE="$tree" CCACHE_DIR=/build/ccache \
      CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache DEBIAN_FRONTEND=noninteractive "$@"
  ' in_root "$root" "$top" "$build" "$tree" "$@"
}

mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$here/packages.txt")

# Called where `set -e` does not hold.
make_base() {
  rm -rf --one-file-system "$root.part" &&
    timeout -s KILL 900 debootstrap --variant=minbase trixie "$root.part" &&
    # The root can be made again at any time: no need to wait for the disk after each package.
    echo force-unsafe-io >"$root.part/etc/dpkg/dpkg.cfg.d/unsafe-io" &&
    cp /etc/resolv.conf "$root.part/etc/resolv.conf" &&
    mv "$root.part" "$root"
}

# What is shown on the terminal is where the root is, or why there is none.
update() {
  local wanted=$root/etc/cairn-packages log=$cache/trixie.log
  mkdir -p "$cache"
  if cmp -s "$here/packages.txt" "$wanted"; then return; fi
  if ! {
    { [[ -d $root ]] || make_base; } && in_root timeout -s KILL 300 apt-get update -qq &&
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
