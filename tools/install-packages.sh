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
# MPICH lies beside Open MPI, which everything but its own tests uses by the names without a suffix.
check_default_mpi() {
  [[ $(mpirun --version 2>&1) == *"Open MPI"* && $(mpicc --showme:version 2>&1) == *"Open MPI"* ]] ||
    die "mpirun and mpicc have to be Open MPI's: update-alternatives --auto mpi; update-alternatives --auto mpirun"
}

if [[ ${#missing[@]} -eq 0 ]]; then
  check_default_mpi
  say "all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || die "not root, and no sudo here; as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

# Services would start at once where nothing forbids it, or fail to, in a container, and the installation with them.
forbid_services() {
  local policy=/usr/sbin/policy-rc.d
  [[ ! -e $policy ]] || return 0
  # shellcheck disable=SC2064 # as it is here
  trap "${as_root[*]} rm -f $policy" EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
}

say "installing ${missing[*]}"
forbid_services
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
check_default_mpi
