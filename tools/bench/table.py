#!/usr/bin/env python3
"""Makes the table of a benchmark run from its records.

    table.py [--json FILE] [--size BYTES] RECORDS

RECORDS has one figure in each line, as JSON: group, figure, unit, values, and where it is measured against something,
limit with limit_values. Lines that differ in nothing but values are repetitions of one figure. Columns that are not
known here are shown as they are.
"""

import argparse
import collections
import datetime
import json
import os
import platform
import statistics
import subprocess
from pathlib import Path

# What the headline case is to reach: (at most or at least, of the ratio or of the value itself).
GOALS = {
    **{f"L{level} visible": ("<=", 1.0, "ratio") for level in (1, 2, 3, 4)},
    **{f"L{level} visible, at an interval": ("<=", 1.0, "ratio") for level in (1, 2, 3, 4)},
    "L2 until safe": ("<=", 6.0, "ratio"),
    "L3 until safe": ("<=", 9.0, "ratio"),
    "L4 until synced": (">=", 0.8, "ratio"),
    "restart from L1": ("<=", 2.5, "ratio"),
    "restart from L3, 2 of 4 nodes lost": ("<=", 10.0, "ratio"),
    "an idle head, the busiest": ("<=", 0.01, "value"),
}
SMALL_GOAL = ("<=", 50e-6, "value")  # L1 visible of 1 KiB

# A shorter limit is timed too badly to be divided by.
LEAST_LIMIT_S = 50e-6

# How a figure is told apart: all but what was measured.
MEASURED = ("values", "limit_values", "interval_s")
# Shown in a place of their own, not as facts of the case.
SHOWN = {"group", "figure", "unit", "limit", "ratio_of", "series", "goal", *MEASURED}


def read(path):
    """Records, in order, with repetitions put together."""
    figures = collections.OrderedDict()
    for line in Path(path).read_text().splitlines():
        record = json.loads(line)
        identity = json.dumps({k: v for k, v in record.items() if k not in MEASURED}, sort_keys=True)
        known = figures.setdefault(identity, {**record, "values": [], "limit_values": []})
        known["values"] += record["values"]
        known["limit_values"] += record.get("limit_values", [])
    return list(figures.values())


def limit_of(record, records):
    """The limit's values: measured with the figure, or else in this run at the same size."""
    if record["limit_values"]:
        return record["limit_values"]
    for other in records:
        same = all(other.get(k) == record.get(k) for k in ("bytes_per_rank", "ranks"))
        if other["group"] == "limits" and other["figure"] == record.get("limit") and same:
            return other["values"]
    return []


def summarize(record, records):
    values = record["values"]
    if not values:
        return
    record.update(median=statistics.median(values), min=min(values), max=max(values))
    limit = limit_of(record, records) if record.get("limit") else []
    if limit:
        record["limit_median"] = statistics.median(limit)
        if record["unit"] == "s" and record["limit_median"] < LEAST_LIMIT_S:
            return
        above, below = record["median"], record["limit_median"]
        # Of values in seconds a rate is the inverse.
        if record.get("ratio_of") == "rate" and record["unit"] == "s":
            above, below = below, above
        record["ratio"] = above / below if below else None


def set_goal(record, size):
    if "goal" in record or record["group"] not in ("headline", "idle"):
        return
    goal = GOALS.get(record["figure"])
    if record["group"] == "headline" and record.get("bytes_per_rank") != size:
        goal = SMALL_GOAL if record["figure"] == "L1 visible" else None
    if goal:
        sign, bound, record["goal_of"] = goal
        record["goal"] = f"{sign} {text(bound, record['unit'] if record['goal_of'] == 'value' else '')}"


def scaled(value, steps):
    for factor, name in steps:
        if abs(value) >= factor:
            return f"{value / factor:.3g} {name}"
    return f"{value / steps[-1][0]:.3g} {steps[-1][1]}"


def text(value, unit):
    """A value for a person: three digits, with a unit that suits it."""
    if value is None:
        return ""
    if unit == "s":
        return scaled(value, [(1, "s"), (1e-3, "ms"), (1e-6, "µs")])
    if unit == "bytes/s":
        return scaled(value, [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")])
    if unit == "cores":
        return f"{value * 100:.2f} %"
    if isinstance(value, float) and value != int(value):
        return f"{value:.3g} {unit}".rstrip()
    return f"{int(value)} {unit}".rstrip()


def size_text(count):
    for factor, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor:
            return f"{count / factor:g} {name}"
    return f"{count:g} B"


def case_of(record):
    """The facts that figures of one part of the table have in common."""
    parts = []
    for key, value in sorted(record.items()):
        if key in SHOWN or key in ("median", "min", "max", "ratio", "limit_median", "goal_of"):
            continue
        if key == "bytes_per_rank":
            parts.append(f"{size_text(value)} a rank")
        elif key == "head":
            parts.append(f"head mode {value}")
        elif key in ("nodes", "ranks"):
            parts.append(f"{value:g} {key}")
        else:
            parts.append(f"{key} {value:g}" if isinstance(value, (int, float)) else f"{key} {value}")
    return ", ".join(parts)


def row(record):
    values, unit = record["values"], record["unit"]
    name = record["figure"]
    if record.get("interval_s"):
        name += f" (every {text(record['interval_s'], 's')})"
    if not values:
        return [name, "0", "", "", "", "", ""]
    if record.get("series"):
        return [name, str(len(values)), " ".join(text(v, unit) for v in values), "", "", "", ""]
    spread = f"{text(record['min'], unit)} – {text(record['max'], unit)}" if len(values) > 1 else ""
    ratio = f"{record['ratio']:.2f}" if record.get("ratio") is not None else ""
    against = ""
    if record.get("limit"):
        against = record["limit"] + (f", {text(record['limit_median'], unit)}" if "limit_median" in record else "")
        if record.get("ratio_of") == "rate":
            against += " (rates)"
    return [name, str(len(values)), text(record["median"], unit), spread, ratio, against, str(record.get("goal", ""))]


HEADINGS = ["figure", "n", "median", "min – max", "ratio", "to", "goal"]


def table(records):
    parts = collections.OrderedDict()
    for record in records:
        parts.setdefault((record["group"], case_of(record)), []).append(row(record))
    for (group, case), rows in parts.items():
        yield f"\n{group}: {case}" if case else f"\n{group}"
        # A series takes the place of several columns.
        widths = [max(len(r[i]) for r in [HEADINGS, *[r for r in rows if any(r[3:]) or i != 2]]) for i in range(7)]
        for cells in [HEADINGS, *rows]:
            aligned = [f"{c:<{w}}" if i in (0, 5, 6) else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths))]
            yield ("  " + "  ".join(aligned)).rstrip()


def first_line(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def machine():
    processors = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = [line.partition(":")[2].strip() for line in processors if line.startswith("model name")]
    return {
        "cpu": cpu[0] if cpu else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "mpi": first_line("mpirun", "--version"),
        "single_copy": os.environ.get("OMPI_MCA_btl_vader_single_copy_mechanism", "default"),
        "commit": first_line("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def main():
    parser = argparse.ArgumentParser(description="Makes the table of a benchmark run.")
    parser.add_argument("--json", help="file for one JSON document with everything")
    parser.add_argument("--size", type=int, default=64 << 20, help="bytes of a rank in the headline case")
    parser.add_argument("records")
    arguments = parser.parse_args()

    records = read(arguments.records)
    for record in records:
        summarize(record, records)
        set_goal(record, arguments.size)
    facts = machine()
    print("{cpu}, {cores} cores, Linux {kernel}, {mpi}, {date}".format(**facts))
    print("\n".join(table(records)))
    if arguments.json:
        document = json.dumps({"machine": facts, "figures": records}, indent=1, ensure_ascii=False)
        Path(arguments.json).write_text(document + "\n")


if __name__ == "__main__":
    main()
