#!/usr/bin/env bash
# Says which C++ files clang-format would change. With --fix it changes them.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top"

how=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && how=(-i)

mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.c' '*.h' |
  while read -r file; do [[ -e $file ]] && echo "$file"; done)
[[ ${#files[@]} -gt 0 ]] || die "no C++ files found under $top"
printf '%s\n' "${files[@]}" | xargs -P "$(processors)" -n 16 clang-format --style=file "${how[@]}"
say "${#files[@]} files are in order"
