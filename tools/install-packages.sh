#!/usr/bin/env bash
# Installs the packages of tools/packages.txt that are missing: tools/install-packages.sh [demo|test|all]. A group brings
# those before it; without an argument, all. It writes nothing into the clone, which may belong to another user than root.
# When apt-get fails, its output stays in a file of the directory for temporary files.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

group=${1:-all}
[[ $# -le 1 && $group =~ ^(demo|test|all)$ ]] || die "usage: tools/install-packages.sh [demo|test|all]"

# Packages of the group and of those before it.
packages_of() {
  awk -v last="[$1]" '{ sub(/#.*/, "") } /^\[/ { if (over) exit; over = ($1 == last); next } NF { print $1 }' \
    "$top/tools/packages.txt"
}
mapfile -t wanted < <(packages_of "$group")
[[ ${#wanted[@]} -gt 0 ]] || die "tools/packages.txt has no packages for $group"

if ! command -v apt-get >/dev/null; then
  say "apt-get is missing; make sure that these packages, or their equivalents, are installed: ${wanted[*]}"
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
    die "mpirun and mpicc must be those of Open MPI: update-alternatives --auto mpi; update-alternatives --auto mpirun"
}

if [[ ${#missing[@]} -eq 0 ]]; then
  check_default_mpi
  say "all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null ||
    die "${#missing[@]} packages are missing, and only root may install them: apt-get update && apt-get install ${missing[*]}"
  as_root=(sudo)
fi

# Services would start at once where nothing forbids it. In a container they would fail to, and the installation with them.
forbid_services() {
  local policy=/usr/sbin/policy-rc.d
  [[ ! -e $policy ]] || return 0
  # shellcheck disable=SC2064 # as it is here
  trap "${as_root[*]} rm -f $policy" EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
}

apt_install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" "${missing[@]}"
}

install_missing() {
  local fast=() plan
  "${as_root[@]}" apt-get update -qq && plan=$(apt_install --simulate) || return
  # dpkg waits for the disk after each new file, for most of the time. A package that was not there before needs that only
  # once, at the end; one that is upgraded needs it each time.
  if ! grep -q '^Inst [^ ]* \[' <<<"$plan"; then fast=(-o Dpkg::Options::=--force-unsafe-io); fi
  apt_install "${fast[@]}" || return
  sync
}

log=$(mktemp "${TMPDIR:-/tmp}/cairn-packages.XXXXXX")
forbid_services
quietly "installing ${#missing[@]} packages, and those that they need" "$log" install_missing ||
  die "these packages are missing: ${missing[*]}"
rm -f "$log"
check_default_mpi
