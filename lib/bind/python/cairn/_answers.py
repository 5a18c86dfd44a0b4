"""What a session answers."""

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True)
class Restored:
    """What restore() did."""

    version: int  # of the snapshot
    incarnation: int  # number of the run that took it
    ranks_from: tuple  # application ranks of the job whose data came from L1, L2, L3, L4
    my_level: int  # the level from which this rank's data came
    lost_nodes: int  # nodes that took part in the snapshot, and whose store is missing
    seconds: float  # that it took
    old_ranks: int  # application ranks of the job that took the snapshot
    bytes_moved: int  # between nodes, of the whole job; reads of L4 do not count
    label: str  # of the snapshot; "" if it has none


class State(IntEnum):
    """How this process entered the application; the numbers are those of the C API."""

    FRESH = 0  # the job has just started
    SURVIVOR = 1  # after a failure: it was an application rank before
    REPLACEMENT = 2  # it takes the place of a rank that died
