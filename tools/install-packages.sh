#!/usr/bin/env bash
# Installs the packages of tools/packages.txt that are missing, and nothing else.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

mapfile -t wanted < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$top/tools/packages.txt")

if ! command -v apt-get >/dev/null; then
  say "no apt-get here; see that these are installed: ${wanted[*]}"
  exit 0
fi

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/ installed$//p') || true
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  say "all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || die "not root, and no sudo here; as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
say "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
