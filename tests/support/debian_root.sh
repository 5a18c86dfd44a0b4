# Roots of Debian that tests run in; to be sourced after tools/lib.sh. Needs root and debootstrap.
# shellcheck shell=bash disable=SC2154 # top is of tools/lib.sh
[[ $EUID -eq 0 ]] || die "a root for chroot can only be made and entered as root"
command -v debootstrap >/dev/null || die "debootstrap is missing: tools/install-packages.sh"

# make_debian_root SUITE ROOT: the minimal system of a release. Callers may have `set -e` off.
# If it is killed, no mount of debootstrap is left, which would keep the next call from beginning anew.
make_debian_root() {
  rm -rf --one-file-system "$2.part" &&
    timeout -s KILL 900 unshare --mount --propagation private debootstrap --variant=minbase "$1" "$2.part" &&
    # The root can be made again at any time: no need to wait for the disk after each package.
    echo force-unsafe-io >"$2.part/etc/dpkg/dpkg.cfg.d/unsafe-io" &&
    cp /etc/resolv.conf "$2.part/etc/resolv.conf" &&
    mv "$2.part" "$2"
}

# in_debian_root ROOT KEPT [NAME=VALUE...] COMMAND...: runs a command in a root, with the directory KEPT as /build, and this
# checkout, read-only, as /cairn. The namespaces end with the command or with this shell, and take mounts, processes and
# shared memory with them.
in_debian_root() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child --ipc --uts bash -euc '
    root=$1 kept=$2 top=$3
    shift 3
    mount --bind "$root" "$root" # namespaces of mounts can be made in it only if it is a mount itself
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o size=4g tmpfs "$root/dev/shm"
    mount -t tmpfs -o size=4g tmpfs "$root/tmp"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mkdir -p "$root/cairn" "$root/build" "$kept"
    mount --bind "$kept" "$root/build"
    mount --bind "$top" "$root/cairn"
    mount -o remount,bind,ro "$root/cairn"
    exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 DEBIAN_FRONTEND=noninteractive "$@"
  ' in_debian_root "$1" "$2" "$top" "${@:3}"
}

# fresh_debian_root SUITE: makes $fresh, a copy of the release's minimal system, which is kept, and $kept, a directory for
# archives of packages. One caller at a time; a caller that was killed leaves its root to the next. The caller removes $fresh.
fresh_debian_root() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/cairn suite=$1 lock
  local base=$cache/$suite-base
  fresh=$cache/$suite-fresh
  kept=$cache/$suite-kept
  mkdir -p "$cache" "$kept"
  exec {lock}>"$cache/$suite.lock"
  timeout 900 flock "$lock" || die "another test holds $cache/$suite.lock"
  rm -rf --one-file-system "$fresh"
  if [[ ! -d $base ]]; then
    make_debian_root "$suite" "$base" >"$cache/$suite-base.log" 2>&1 ||
      die "no root of $suite could be made: $cache/$suite-base.log"
  fi
  cp -a "$base" "$fresh"
  cp /etc/resolv.conf "$fresh/etc/resolv.conf"
  # Without these names, each mpirun would wait ten seconds for the network.
  printf '127.0.0.1 localhost %s\n' "$(uname -n)" >"$fresh/etc/hosts"
}

# The release that this machine runs.
this_debian() {
  local suite
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [[ -n $suite ]] || die "/etc/os-release names no release of Debian"
  echo "$suite"
}
