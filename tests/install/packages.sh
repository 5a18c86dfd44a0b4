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
suite=$(this_debian)

# As in README.md, but below this build.
cmake -S "$top" --preset deb -B "$build"
rm -f "$build"/*.deb
timeout -s KILL 1200 cmake --build "$build" --target package
lintian --allow-root --fail-on error --tag-display-limit 0 "$build"/*.deb

fresh_debian_root "$suite"
trap 'rm -rf --one-file-system "$fresh" "$kept/packages"' EXIT
rm -rf "$kept/packages"
mkdir "$kept/packages"
cp "$build"/*.deb "$kept/packages"
in_debian_root "$fresh" "$kept" timeout -s KILL 900 /cairn/tests/install/use_packages.sh
