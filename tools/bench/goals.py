"""What the figures of a benchmark run are judged by: Cairn's goals, and what other libraries reached.

A goal or another library's figure speaks of one of these of a figure: its value, its ratio to its limit, its processor
time (cpu), or by how much its value exceeds its limit's (excess).
"""

import json
from pathlib import Path

# At most or at least, how much, of what.
GOALS = {
    **{f"L{level} visible": ("<=", 1.2, "ratio") for level in (1, 2, 3, 4)},
    **{f"L{level} visible, at an interval": ("<=", 1.2, "ratio") for level in (1, 2, 3, 4)},
    "L1 until safe": ("<=", 0.070, "cpu"),
    "L2 until safe": ("<=", 4.0, "ratio"),
    "L3 until safe": ("<=", 7.0, "ratio"),
    "L4 until synced": (">=", 0.95, "ratio"),
    "restart from L1": ("<=", 2.0, "ratio"),
    "restart from L2, a node lost": ("<=", 4.0, "ratio"),
    "restart from L3, 2 of 4 nodes lost": ("<=", 6.0, "ratio"),
    "restart from L4, all nodes lost": ("<=", 6.0, "ratio"),
    "first snapshot of a run": ("<=", 80e-3, "value"),
    "second snapshot of a run": ("<=", 80e-3, "value"),
    "memory of heads, restart from L2, a node lost": ("<=", 200, "value"),
    "memory of heads, restart from L3, 2 of 4 nodes lost": ("<=", 200, "value"),
    "opening a session": ("<=", 5e-3, "value"),
    "10,000 regions of 1 KiB: protect": ("<=", 4e-3, "value"),
    "10,000 regions of 1 KiB: fresh start": ("<=", 1.5e-3, "value"),
    "10,000 regions of 1 KiB: L1 visible": ("<=", 7e-3, "value"),
    "10,000 regions of 1 KiB: restore from L1": ("<=", 20e-3, "value"),
    "an idle head, the busiest": ("<=", 0.01, "value"),
    "MPI_Wait of nothing, intercepted": ("<=", 50e-9, "excess"),
    "MPI_Barrier of one rank, intercepted": ("<=", 50e-9, "excess"),
    "heat on a full node, snapshots at L1": ("<=", 2.0, "excess"),
    "heat on a half-full node, snapshots at L1": ("<=", 2.0, "excess"),
}
SMALL = 1024
SMALL_GOAL = ("<=", 50e-6, "value")  # L1 visible of 1 KiB
GROUPS = ("headline", "opening", "regions", "idle", "slow-down", "tap")
OTHERS = json.loads((Path(__file__).parent / "others.json").read_text())


def part_of(record, what):
    """The part of a figure that a goal speaks of; None where it was not measured."""
    if what == "value":
        return record.get("median")
    if what == "cpu":
        return record.get("cpu_median")
    if what == "excess":
        return record["median"] - record["limit_median"] if "limit_median" in record else None
    return record.get("ratio")


def goal_of(record, size):
    if record["group"] not in GROUPS:
        return None
    if record.get("bytes_per_rank", size) == size:
        goal = GOALS.get(record["figure"])
        # Processor time depends on the size; ratios do not.
        return None if goal and goal[2] == "cpu" and size != OTHERS["bytes_per_rank"] else goal
    small = record["bytes_per_rank"] == SMALL and record["figure"] == "L1 visible"
    return SMALL_GOAL if small else None


def set_goal(record, size, text):
    """Writes the goal into the record, and whether it is met. `text` makes a value readable."""
    if "goal" in record:
        return
    goal = goal_of(record, size)
    if not goal:
        return
    sign, bound, what = goal
    unit = {"value": record["unit"], "cpu": "s"}.get(what, "")
    more = f"the copies + {bound:g} %" if record["unit"] == "%" else f"MPI alone + {text(bound, record['unit'])}"
    words = {"cpu": f"{sign} {text(bound, unit)} cpu", "excess": f"{sign} {more}"}
    record.update(goal=words.get(what, f"{sign} {text(bound, unit)}"), goal_of=what)
    reached = part_of(record, what)
    if reached is not None:
        record["goal_met"] = reached <= bound if sign == "<=" else reached >= bound


def set_others(record, size, text):
    """Writes what the best other library reached into the record, and which of them Cairn is behind."""
    known = OTHERS["figures"].get(record["figure"])
    if not known or record["group"] not in GROUPS or size != OTHERS["bytes_per_rank"]:
        return
    if record.get("bytes_per_rank", size) != size:
        return
    what = known["as"]
    divisor = OTHERS["copy_s"] if what == "ratio" else 1
    others = sorted((value / divisor, name, *remark) for name, value, *remark in known["of"])
    # Beside one that does less work for it, the best that does not.
    shown = others[: 1 + next((i for i, other in enumerate(others) if len(other) == 2), 0)]
    record["best_other"] = "; ".join(one_text(other, what, record["unit"], text) for other in shown)
    reached = part_of(record, what)
    if reached is not None:
        record["others"] = {name: value for value, name, *_ in others}
        record["behind"] = [name for value, name, *_ in others if value < reached]


def one_text(other, what, unit, text):
    value, name, *remark = other
    shown = f"{value:.1f}" if what == "ratio" else text(value, "s" if what == "cpu" else unit)
    return f"{name} {shown}" + (" cpu" if what == "cpu" else "") + "".join(f" ({r})" for r in remark)
