"""The kinds of the Python package over real ranks, as those of C in kinds.c:

    python_kinds.py CONFIG STEP     STEP: of the snapshot, 0 for none; -1: the restore must be refused
"""

import sys

import numpy as np
from mpi4py import MPI

import cairn

IDS, TABLE, PLATE, ROWS = 11, 13, (7, 5), 9
config, step = sys.argv[1], int(sys.argv[2])


def share_of(whole, part, parts):
    first = whole * part // parts
    return first, whole * (part + 1) // parts - first


def expect(good, what):
    if not good:
        raise AssertionError(what)


def expect_error(call, *told):
    try:
        call()
    except (cairn.Error, TypeError) as error:
        expect(all(words in str(error) for words in told), f"{error}, should say {told}")
        return
    raise AssertionError(f"no error that says {told}")


def check_mistakes(session, plate):
    array = np.zeros(4)
    expect_error(lambda: session.protect("a", array, kind="sequence"), '"a"', "'sequence' is no kind")
    expect_error(lambda: session.protect("one", cairn.Value(1), kind=cairn.sequence), '"one" is one value')
    expect_error(lambda: session.protect("a", array, kind=cairn.like("a")), '"a"')
    expect_error(lambda: session.protect("plate", plate[0], plate[1], cairn.same), '"plate" is a part of a global array')
    expect_error(lambda: session.protect("plate", plate[0], cairn.Place(PLATE, (0, 0), (1,))), '"plate" has 2 dimensions')
    for name in ("a", "one"):
        session.unprotect(name)
    session.protect(*plate_arguments(*plate))


class SparseRows:
    """Rows of different lengths, end to end. Where a row begins is only known when its length is restored: the second
    restore() brings each row whole."""

    def __init__(self, session, step):
        self.session, self.comm = session, session.comm
        rank, size = self.comm.Get_rank(), self.comm.Get_size()
        first, rows = share_of(ROWS, rank, size)
        values = sum(row % 3 for row in range(first, first + rows))
        if step > 0:
            rows, values = session.stored("rows"), session.stored("values")
        self.lengths, self.values = np.zeros(rows, np.int32), np.zeros(values)
        session.protect("rows", self.lengths, kind=cairn.sequence)
        session.protect("values", self.values, kind=cairn.sequence)

    def restore_whole_rows(self):
        count = int(self.lengths.sum())
        first = sum(self.comm.allgather(count)[: self.comm.Get_rank()])
        self.values = np.zeros(count)
        self.session.protect("values", self.values, kind=cairn.sequence_part(first, count))
        self.session.restore()

    def wanted(self, step):
        rows = len(self.lengths)
        first = sum(self.comm.allgather(rows)[: self.comm.Get_rank()])
        lengths = np.arange(first, first + rows) % 3
        return lengths, np.repeat(np.arange(first, first + rows) + 1000 * step, lengths)

    def check(self, step):
        lengths, values = self.wanted(step)
        expect(np.array_equal(self.lengths, lengths) and np.array_equal(self.values, values), "sparse rows")

    def fill(self, step):
        self.lengths[:], self.values[:] = self.wanted(step)


def plate_arguments(plate, place):
    return "plate", plate, place


with cairn.Session(MPI.COMM_WORLD, config) as session:
    comm = session.comm
    rank, size = comm.Get_rank(), comm.Get_size()

    # On a fresh start the last rank has all ids but one of each other rank.
    count = 1 if rank + 1 < size else IDS - size + 1
    if step >= 0 and session.stored_total("ids") > 0:
        expect(session.stored_total("ids") == IDS and session.stored_total("nothing") == 0, "totals")
        count = session.stored("ids")
    # Not an equal share: the last rank gets most.
    part_first = TABLE * rank**2 // size**2
    part = part_first, TABLE * (rank + 1) ** 2 // size**2 - part_first
    first, rows = share_of(PLATE[0], rank, size)
    ids, x, table = np.zeros(count, np.uint64), np.zeros((count, 2)), np.zeros(part[1], np.int32)
    plate = np.zeros((rows + 2, PLATE[1] + 1))  # with a row of ghosts above and below, and a column at the left
    place = cairn.Place(PLATE, (first, 0), ghosts_before=(1, 1), ghosts_after=(1, 0))
    counter, notes = cairn.Value(0), np.zeros(3, np.complex64)
    session.protect("step", counter, kind=cairn.same)
    session.protect("ids", ids, kind=cairn.sequence)
    session.protect("x", x, kind=cairn.like("ids"))
    session.protect("table", table, kind=cairn.sequence_part(*part))
    session.protect("plate", plate, place)
    if rank == 0:
        session.protect("notes", notes, kind=cairn.of_rank(0))
    session.protect("ids", ids)  # it keeps its kind

    before = sum(comm.allgather(count)[:rank])
    wanted = {
        "ids": lambda step: np.arange(count) + before + 1000 * step,
        "x": lambda step: np.arange(2 * count).reshape(count, 2) + 2 * before + 1000 * step,
        "table": lambda step: np.arange(part[1]) + part[0] + 1000 * step,
        "plate": lambda step: np.arange(rows * PLATE[1]).reshape(rows, PLATE[1]) + first * PLATE[1] + 1000 * step,
    }
    own = {"ids": ids, "x": x, "table": table, "plate": plate[1:-1, 1:]}

    sparse = SparseRows(session, step)
    if step < 0:
        expect_error(session.restore, "set [restart] elastic = on")
        sys.stdout.flush()
    else:
        check_mistakes(session, (plate, place))
        report = session.restore()
        expect((report is not None) == (step > 0) and (report is None or report.old_ranks > 0), "the report")
        expect(report is None or (report.bytes_moved > 0) == (size > 2), "the bytes between nodes")
        if step > 0:
            sparse.restore_whole_rows()
            sparse.check(step)
            expect(counter.value == step, "step")
            for name, array in own.items():
                expect(np.array_equal(array, wanted[name](step)), name)
            expect(not plate[:, 0].any(), "ghosts outside the plate stay as they are")
            if rank > 0:
                expect(plate[0, 1] == 1000 * step + (first - 1) * PLATE[1], "ghosts")
            if rank == 0:
                expect((notes == 1j * step).all(), "notes")
        counter.value = step + 1
        plate[:] = -1  # ghosts are rubbish
        for name, array in own.items():
            array[:] = wanted[name](step + 1)
        notes[:] = 1j * (step + 1)
        sparse.fill(step + 1)
        session.snapshot()
