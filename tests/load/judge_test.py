#!/usr/bin/env python3
"""Samples of a job that is flat but for one measure: just that one is named."""

import sys

from samples import MEASURES, WARM_UP, judge

PROCESSES = 6
FLAT = {m.name: 1000 for m in MEASURES}


def grown(measure, growth):
    """Samples of which the last third has so much more than the first."""
    warm_up = [{name: 0 for name in FLAT}] * WARM_UP
    return warm_up + [FLAT] * 3 + [FLAT] * 3 + [FLAT | {measure.name: FLAT[measure.name] + growth}] * 3


def main():
    for m in MEASURES:
        bound = m.bound + m.per_process * PROCESSES + m.share * FLAT[m.name]
        for growth, expected in [(bound, []), (bound + 1, [m.name]), (-bound - 1, [])]:
            named = judge(grown(m, growth), MEASURES, PROCESSES)
            if named != expected:
                sys.exit(f"{m.name} grows by {growth}, the bound is {bound}: {named} is named")
    print("each measure is judged")


if __name__ == "__main__":
    main()
