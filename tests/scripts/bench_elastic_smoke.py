#!/usr/bin/env python3
"""tools/bench.sh elastic runs from end to end: each source is restored on the same and on another number of ranks.

    bench_elastic_smoke.py BENCH_SH DIRECTORY_OF_PROGRAMS

This looks at no time.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    bench, programs = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as scratch:
        written = Path(scratch) / "elastic.json"
        run = subprocess.run([bench, "elastic", "--bin", programs, "--mib", "1", "--pairs", "1", "--json", written],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        if run.returncode != 0:
            sys.exit(f"bench_elastic_smoke: bench.sh ended with {run.returncode}\n{run.stdout}")
        records = json.loads(written.read_text())
    wrong = []
    for change in ("4 to 2", "4 to 3", "4 to 8", "8 to 4"):
        before, after = map(int, change.split(" to "))
        for source in ("L1", "L2", "L3", "L4"):
            pairs = [pair for record in records if (record["change"], record["source"]) == (change, source)
                     for pair in record["pairs"]]  # fmt: skip
            found = [[(run["old_ranks"], run["ranks"]) for run in pair] for pair in pairs]
            if found != [[(before, before), (before, after)]]:
                wrong.append(f"{change} from {source}: {found}")
    if wrong:
        sys.exit("bench_elastic_smoke: not there: " + "; ".join(wrong) + "\n" + run.stdout)


if __name__ == "__main__":
    main()
