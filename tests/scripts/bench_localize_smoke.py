#!/usr/bin/env python3
"""tools/bench.sh localize runs from end to end: its programs sort and transform rightly, and heads count their time.

    bench_localize_smoke.py BENCH_SH DIRECTORY_OF_PROGRAMS

This looks at no time. Heads count it once a second: the runs are as long as it takes for two counts.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS = 4


def main():
    bench, programs = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as scratch:
        written = Path(scratch) / "localize.json"
        run = subprocess.run([bench, "localize", "--bin", programs, "--ranks", str(RANKS), "--pairs", "1",
                              "--seconds", "6", "--json", written], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)  # fmt: skip
        if run.returncode != 0:
            sys.exit(f"bench_localize_smoke: bench.sh ended with {run.returncode}\n{run.stdout}")
        records = json.loads(written.read_text())
    wrong = []
    for kernel in ("ft", "is"):
        found = [record for record in records if (record["kernel"], record["ranks"]) == (kernel, RANKS)]
        if len(found) != 1 or not found[0]["shares"] or min(found[0]["shares"]) <= 0:
            wrong.append(f"{kernel}: the time of heads")
        elif not sum(found[0]["analyses"]):
            wrong.append(f"{kernel}: analyses")
        if kernel not in run.stdout:
            wrong.append(f"{kernel} in the table")
    if wrong:
        sys.exit("bench_localize_smoke: not there: " + "; ".join(wrong) + "\n" + run.stdout)


if __name__ == "__main__":
    main()
