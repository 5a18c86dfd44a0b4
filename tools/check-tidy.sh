#!/usr/bin/env bash
# Runs clang-tidy on lib/, tools/ and examples/: tools/check-tidy.sh [BUILD] [PATTERN]. BUILD is a directory with
# compile_commands.json of a Clang build (default build/asan); PATTERN picks targets by a regular expression: room_engine.
# Where BUILD compiles each target as one file (CAIRN_UNITY, as the preset asan does), so does clang-tidy: most of its
# time goes into headers.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=${1:-$top/build/asan}
pattern=${2:-.}
database=$build/compile_commands.json
[[ -e $database ]] || die "$database is not there; first: cmake --preset asan"

mapfile -t files < <(python3 - "$database" "$top" "$pattern" <<'PYTHON'
import json, os, re, sys
database, top, pattern = sys.argv[1:]
places = "|".join(map(re.escape, (top, os.path.dirname(os.path.realpath(database)))))
ours = re.compile(rf"({places})/(lib|tools|examples)/.*\.(cpp|cxx)$")
of_target = re.compile(r"CMakeFiles/(.*)\.dir/")
entries = [entry for entry in json.load(open(database)) if ours.match(entry["file"])]
chosen = {entry["file"] for entry in entries if re.search(pattern, of_target.search(entry["command"])[1])}
print("\n".join(sorted(chosen, key=lambda file: (-os.path.getsize(file), file))))
PYTHON
)
[[ ${#files[@]} -gt 0 && -n ${files[0]} ]] || die "no target in $database matches '$pattern'"

# A file that stands for a target includes .cpp. A summary of suppressed warnings is printed for every file; what
# remains is what matters.
printf '%s\n' "${files[@]}" | xargs -P "$(processors)" -n 1 clang-tidy -p "$build" --quiet --checks=-bugprone-suspicious-include 2>&1 |
  { grep -vE '^[0-9]+ warnings? (generated|treated)|^[0-9]+ warnings? and' || true; }
say "${#files[@]} files are in order"
