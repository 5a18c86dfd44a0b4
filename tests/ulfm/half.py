"""Programs of tests play half of what they have, where time is short."""

import random


def add_half(parser):
    parser.add_argument("--half", metavar="SEED", help="play half of all, which the seed draws")


def half_of(names, seed, title):
    """Half of the names, in their order; all without a seed. Tells which are left out."""
    names = list(names)
    if seed is None:
        return names
    drawn = set(random.Random(f"{title} {seed}").sample(names, (len(names) + 1) // 2))
    print(f"{title}: not drawn: {', '.join(name for name in names if name not in drawn)}", flush=True)
    return [name for name in names if name in drawn]
