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

from goals import OTHERS, set_goal, set_others

# A shorter limit is too short to be divided by: much of it is how long ranks take to start at the same time.
LEAST_LIMIT_S = 50e-6

# Put together where a figure was measured several times.
LISTS = ("values", "limit_values", "cpu_values", "limit_cpu_values")
# How a figure is told apart: all but what was measured.
MEASURED = (*LISTS, "interval_s", "copy_s", "steps_per_interval")
# Worked out here.
DERIVED = ("median", "min", "max", "ratio", "limit_median", "cpu_median", "cpu_ratio", "goal", "goal_of", "goal_met",
           "best_other", "others", "behind")  # fmt: skip
# Shown in a place of their own, not as facts of the case.
SHOWN = {"group", "figure", "unit", "limit", "ratio_of", "series", "snapshots", *MEASURED, *DERIVED}


def read(path):
    """Records, in order, with repetitions put together."""
    figures = collections.OrderedDict()
    for line in Path(path).read_text().splitlines():
        record = json.loads(line)
        identity = json.dumps({k: v for k, v in record.items() if k not in MEASURED}, sort_keys=True)
        known = figures.setdefault(identity, {**record, **{name: [] for name in LISTS}})
        for name in LISTS:
            known[name] += record.get(name, [])
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
        if record["unit"] == "s" and min(limit) < LEAST_LIMIT_S:
            return
        above, below = record["median"], record["limit_median"]
        # Of values in seconds a rate is the inverse.
        if record.get("ratio_of") == "rate" and record["unit"] == "s":
            above, below = below, above
        record["ratio"] = above / below if below else None


def summarize_cpu(record):
    if not record["cpu_values"]:
        return
    record["cpu_median"] = statistics.median(record["cpu_values"])
    if record["limit_cpu_values"] and "ratio" in record:
        record["cpu_ratio"] = record["cpu_median"] / statistics.median(record["limit_cpu_values"])


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
        return scaled(value, [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
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
        if key in SHOWN:
            continue
        if key == "bytes_per_rank":
            parts.append(f"{size_text(value)} a rank")
        elif key == "region_bytes":
            parts.append(f"{size_text(value)} a region")
        elif key == "head":
            parts.append(f"head mode {value}")
        elif key in ("nodes", "ranks", "cores", "regions"):
            parts.append(f"{value:g} {key if value != 1 else key[:-1]}")
        else:
            parts.append(f"{key} {value:g}" if isinstance(value, (int, float)) else f"{key} {value}")
    return ", ".join(parts)


def row(record):
    """The cells of a figure's row, by their columns."""
    values, unit = record["values"], record["unit"]
    cells = {"figure": record["figure"], "n": str(len(values))}
    if record.get("interval_s"):
        cells["figure"] += f" (every {text(record['interval_s'], 's')})"
    if not values:
        return cells
    if record.get("series"):
        return {**cells, "series": " ".join(text(v, unit) for v in values)}
    cells["median"] = text(record["median"], unit)
    if len(values) > 1:
        cells["min – max"] = f"{text(record['min'], unit)} – {text(record['max'], unit)}"
    if record.get("ratio") is not None:
        cells["ratio"] = f"{record['ratio']:.2f}"
    if record.get("limit"):
        cells["to"] = record["limit"] + (f", {text(record['limit_median'], unit)}" if "limit_median" in record else "")
        if record.get("ratio_of") == "rate":
            cells["to"] += " (rates)"
    if "cpu_median" in record:
        cells["cpu"] = text(record["cpu_median"], "s")
        cells["cpu ratio"] = f"{record['cpu_ratio']:.2f}" if "cpu_ratio" in record else ""
    cells["goal"] = str(record.get("goal", ""))
    cells[""] = {True: "met", False: "missed"}.get(record.get("goal_met"), "")
    cells["best other"] = record.get("best_other", "")
    if record.get("behind"):
        cells["behind"] = "behind " + ", ".join(record["behind"])
    return cells


COLUMNS = ["figure", "n", "median", "min – max", "ratio", "to", "cpu", "cpu ratio", "goal", "", "best other", "behind"]
TO_THE_LEFT = {"figure", "to", "goal", "", "best other", "behind"}


def part_of_table(rows):
    """Lines with the columns that are not empty. A series takes the place of the columns from the median on."""
    used = [c for c in COLUMNS if c in ("figure", "n", "median") or any(row.get(c) for row in rows)]
    widths = {c: max(len(c), *(len(row.get(c, "")) for row in rows)) for c in used}
    headings = {c: "" if c == "behind" else c for c in used}
    for row in [headings, *rows]:
        columns = used[:2] if "series" in row else used
        cells = [f"{row.get(c, ''):{'<' if c in TO_THE_LEFT else '>'}{widths[c]}}" for c in columns]
        yield ("  " + "  ".join([*cells, row.get("series", "")])).rstrip()


def table(records):
    parts = collections.OrderedDict()
    for record in records:
        parts.setdefault((record["group"], case_of(record)), []).append(row(record))
    for (group, case), rows in parts.items():
        yield f"\n{group}: {case}" if case else f"\n{group}"
        yield from part_of_table(rows)
    if any("cpu_median" in record for record in records):
        yield ("\ncpu: processor time of all processes, ranks and heads, for one snapshot until it is safe; ranks that "
               "wait for that poll")  # fmt: skip
    if any("best_other" in record for record in records):
        yield (f"best other: medians of {OTHERS['measured']}: {OTHERS['where']}; "
               f"ratios to a copy by 4 ranks, {text(OTHERS['copy_s'], 's')}")  # fmt: skip


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
        summarize_cpu(record)
        set_goal(record, arguments.size, text)
        set_others(record, arguments.size, text)
    facts = machine()
    print("{cpu}, {cores} cores, Linux {kernel}, {mpi}, {date}".format(**facts))
    print("\n".join(table(records)))
    if arguments.json:
        document = json.dumps({"machine": facts, "others": OTHERS, "figures": records}, indent=1, ensure_ascii=False)
        Path(arguments.json).write_text(document + "\n")


if __name__ == "__main__":
    main()
