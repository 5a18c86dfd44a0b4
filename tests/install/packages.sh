#!/usr/bin/env bash
# The Debian packages as their users meet them: makes them, runs lintian, and has use_packages.sh install and use them.
#
#   packages.sh BUILD
#
# They are installed in a fresh root of the Debian release that this machine runs, since packages are for the release that
# they are built on. The minimal system that the root is copied from, and the archives that apt fetches, are kept in
# ${XDG_CACHE_HOME:-$HOME/.cache}/cairn. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
. "$here/../../tools/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../support/debian_root.sh
. "$here/../support/debian_root.sh"
[[ $# -eq 1 ]] || die "usage: packages.sh BUILD"
for program in lintian dpkg-shlibdeps file; do
  command -v $program >/dev/null || die "$program is missing: tools/install-packages.sh"
done

build=$1/deb
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[[ -n $suite ]] || die "/etc/os-release names no release of Debian"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cairn
base=$cache/$suite-base
fresh=$cache/$suite-fresh
kept=$cache/$suite-kept

# As in README.md, but below this build.
cmake -S "$top" --preset deb -B "$build"
rm -f "$build"/*.deb
timeout -s KILL 1200 cmake --build "$build" --target package
lintian --allow-root --fail-on error --tag-display-limit 0 "$build"/*.deb

# One run at a time. A run that was killed leaves its root.
mkdir -p "$cache" "$kept"
exec {lock}>"$cache/$suite.lock"
timeout 900 flock "$lock" || die "another test holds $cache/$suite.lock"
rm -rf --one-file-system "$fresh"
trap 'rm -rf --one-file-system "$fresh" "$kept/packages"' EXIT
if [[ ! -d $base ]]; then
  make_debian_root "$suite" "$base" >"$cache/$suite-base.log" 2>&1 ||
    die "no root of $suite could be made: $cache/$suite-base.log"
fi
cp -a "$base" "$fresh"
cp /etc/resolv.conf "$fresh/etc/resolv.conf"
# Without these names, each mpirun would wait ten seconds for the network.
printf '127.0.0.1 localhost %s\n' "$(uname -n)" >"$fresh/etc/hosts"
rm -rf "$kept/packages"
mkdir "$kept/packages"
cp "$build"/*.deb "$kept/packages"
in_debian_root "$fresh" "$kept" timeout -s KILL 900 /cairn/tests/install/use_packages.sh
