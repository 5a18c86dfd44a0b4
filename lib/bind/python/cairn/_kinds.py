"""Kinds: what a protected region is to the whole job. They tell which elements go to which rank if a job has another
number of ranks than its snapshot, and [restart] elastic = on.

    session.protect("step", step, kind=cairn.same)
    session.protect("ids", ids, kind=cairn.sequence)
    session.protect("x", x, kind=cairn.like("ids"))  # x[i] belongs to ids[i]
"""

from dataclasses import dataclass
from typing import NamedTuple, Optional, Sequence, Tuple, Union

from ._arguments import text_of, whole_of
from ._errors import UsageError


@dataclass(frozen=True)
class Kind:
    """What a region is to the whole job: same, sequence, or what sequence_part(), like() and of_rank() return."""

    call: str  # of the C API
    arguments: tuple = ()


# One value, which all ranks have, such as a step counter. restore() compares the values of all old ranks.
same = Kind("cairn_kind_same")

# The elements of all ranks, in the order of ranks, are one sequence, such as particles. An element is one step in the
# slowest dimension. On another number of ranks, each rank gets an equal share.
sequence = Kind("cairn_kind_sequence")


def sequence_part(first: int, count: int) -> Kind:
    """A sequence of which this rank gets `count` elements, from `first` on. The parts cover each element once."""
    return Kind("cairn_kind_sequence_part", (whole_of("first", first, 64), whole_of("count", count, 64)))


def like(region: str) -> Kind:
    """A sequence that is cut where the sequence `region` is. On each old rank it is k times as long, with one k."""
    return Kind("cairn_kind_like", (text_of("the name of a region", region),))


def of_rank(rank: int) -> Kind:
    """What one old rank had. Other old ranks need not have it."""
    return Kind("cairn_kind_of_rank", (whole_of("rank", rank),))


class Place(NamedTuple):
    """Where a region lies in a global array that spans ranks. Each member has one number per dimension.

    Ghosts are elements around the rank's own ones, which are part of the region. If elements move between ranks, they
    are filled with the elements that their owners get; ghosts outside the global array stay as they are.
    """

    shape: Sequence[int]  # of the global array
    offset: Sequence[int]  # of the region's first own element
    ghosts_before: Optional[Sequence[int]] = None  # in the region, before its own elements; None: none
    ghosts_after: Optional[Sequence[int]] = None  # the same after them


AnyPlace = Union[Place, Tuple[Sequence[int], Sequence[int]]]


def place_of(name, dimensions, place):
    """What a program passes as the place of a region, checked."""
    write = "write place=(global_shape, offset), or cairn.Place with ghosts"
    try:
        named = Place(*place)
        lengths = [None if numbers is None else len(numbers) for numbers in named]
    except TypeError:
        raise TypeError(f'region "{name}": {place!r} is no place; {write}, each with a number for each dimension') from None
    if lengths[:2] != [dimensions] * 2 or any(length not in (None, dimensions) for length in lengths):
        has = ", ".join("none" if length is None else str(length) for length in lengths)
        raise UsageError(f'region "{name}" has {dimensions} dimensions, and its place {has}: {write}')
    of_what = [f'region "{name}": {what} in its place' for what in ("a length", "an offset", "a ghost", "a ghost")]
    return Place(*(None if numbers is None else tuple(whole_of(what, number, 64) for number in numbers)
                   for what, numbers in zip(of_what, named)))  # fmt: skip
