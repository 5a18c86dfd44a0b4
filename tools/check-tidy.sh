#!/usr/bin/env bash
# Runs clang-tidy on lib/, tools/ and examples/: tools/check-tidy.sh [BUILD] [PATTERN]. BUILD is a directory with
# compile_commands.json of a Clang build (default build/asan); PATTERN picks files by a regular expression.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=${1:-$top/build/asan}
pattern=${2:-.}
database=$build/compile_commands.json
[[ -e $database ]] || die "$database is not there; first: cmake --preset asan"

mapfile -t files < <(python3 - "$database" "$top" "$pattern" <<'PYTHON'
import json, re, sys
database, top, pattern = sys.argv[1:]
ours = re.compile(re.escape(top) + r"/(lib|tools|examples)/.*\.cpp$")
files = {entry["file"] for entry in json.load(open(database))}
print("\n".join(sorted(f for f in files if ours.match(f) and re.search(pattern, f))))
PYTHON
)
[[ ${#files[@]} -gt 0 && -n ${files[0]} ]] || die "no file in $database matches '$pattern'"

# A summary of suppressed warnings is printed for every file; what remains is what matters.
printf '%s\n' "${files[@]}" | xargs -P "$(processors)" -n 1 clang-tidy -p "$build" --quiet 2>&1 |
  { grep -vE '^[0-9]+ warnings? (generated|treated)|^[0-9]+ warnings? and' || true; }
say "${#files[@]} files are in order"
