#!/usr/bin/env python3
"""tools/bench.sh runs from end to end, and what it writes has the figures that the headline case is about.

    bench_smoke.py BENCH_SH DIRECTORY_OF_PROGRAMS

With states of 64 KiB: this looks at no time.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FIGURES = {
    "limits": ["copy, 1 core", "copy with CRC-32C, all ranks", "SHA-256, 1 core", "encode, 2 + 2, 1 core",
               "node store, new file, all ranks", "node store, overwrite, all ranks",
               "global store, new file, synced, all ranks"],
    "headline": [*(f"L{level} visible" for level in (1, 2, 3, 4)), *(f"L{level} until safe" for level in (1, 2, 3)),
                 "L4 until synced", "L4 until safe", "L1 visible, first five snapshots", "restart from L1",
                 "restart from L2, a node lost", "restart from L3, 2 of 4 nodes lost",
                 "restart from L4, all nodes lost", "first snapshot of a run", "second snapshot of a run",
                 "memory of heads, restart from L2, a node lost"],
    "regions": [f"10,000 regions of 1 KiB: {what}"
                for what in ("protect", "fresh start", "L1 visible", "restore from L1")],
    "opening": ["opening a session"],
    "idle": ["an idle head, the busiest"],
    "slow-down": ["heat on a full node, snapshots at L1"],
}  # fmt: skip


def main():
    bench, programs = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as scratch:
        written = Path(scratch) / "bench.json"
        run = subprocess.run([bench, "--quick", "--size", "65536", "--bin", programs, "--json", written],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        if run.returncode != 0:
            sys.exit(f"bench_smoke: bench.sh ended with {run.returncode}\n{run.stdout}")
        document = json.loads(written.read_text())
    found = {(figure["group"], figure["figure"]) for figure in document["figures"] if figure["values"]}
    missing = [f"{group}: {name}" for group, names in FIGURES.items() for name in names if (group, name) not in found]
    missing += [name for name in ("cpu", "cores", "kernel", "mpi", "date") if not document["machine"].get(name)]
    missing += [f"{name} in the table" for names in FIGURES.values() for name in names if name not in run.stdout]
    missing += [f"processor time of {figure['figure']}" for figure in document["figures"]
                if figure["group"] == "headline" and figure["figure"].endswith("until safe")
                and not figure.get("cpu_median")]  # fmt: skip
    if missing:
        sys.exit("bench_smoke: not there: " + "; ".join(missing) + "\n" + run.stdout)


if __name__ == "__main__":
    main()
