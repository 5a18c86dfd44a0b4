#!/usr/bin/env python3
"""A node of a real job dies slowly. A snapshot that all ranks take because of the first signs saves their work.

    slow_death.py PROGRAM CKPT_TOOL MPIEXEC

PROGRAM is that of hang.py. The first sign is a report of an operator. Then all processes of the node are killed, and
its store is lost. What is compared are versions, never times.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from health import CONFIG, LIMIT_S, Job  # noqa: E402
from processes import send  # noqa: E402

SETTINGS = CONFIG.replace("l2 = off", "l1 = every 1\nl2 = every 1000000000")
SICK_NODE = 1


class DyingJob(Job):
    def __init__(self, programs, act):
        super().__init__(programs, "snapshots_when_due")
        self.config.write_text(SETTINGS.format(directory=self.directory.name) + f"act = {act}\n")

    def printed(self, what):
        """The numbers of the lines that begin with that word."""
        lines = [line.split() for line in self.output.read_text().splitlines()]
        return [int(line[1]) for line in lines if len(line) == 2 and line[0] == what]

    def lose_node(self):
        processes = self.processes()
        for rank in range(3 * SICK_NODE, 3 * SICK_NODE + 3):
            send(processes[rank], signal.SIGKILL)  # mpirun may have been faster
        self.run.wait(LIMIT_S)
        shutil.rmtree(Path(self.directory.name, f"local/node{SICK_NODE:04}"))

    def restored_after_the_loss(self):
        self.lose_node()
        self.__enter__()  # again, in the same directory
        return self.until(lambda: self.printed("restored"), "nothing is restored")[0]

    def report_node(self):
        self.until(lambda: self.printed("partner"), "the first snapshot does not reach the partner")
        self.tell("--report", f"node:{SICK_NODE}", "ECC errors in the log")
        self.expect(fault="undetermined", node=SICK_NODE)


def with_a_snapshot(programs):
    with DyingJob(programs, "snapshot") as job:
        job.start()
        job.report_node()
        first, second = job.until(lambda: job.printed("partner")[1:] and job.printed("partner"), "no other snapshot")
        restored = job.restored_after_the_loss()
        if first >= second or restored != second:
            raise AssertionError(f"{restored} is restored, and not {second} after {first}")


def without_one(programs):
    with DyingJob(programs, "tell") as job:
        job.start()
        job.report_node()
        begun = job.calls(0)
        job.until(lambda: job.calls(0) >= begun + 100, "the ranks do not go on")
        [first] = job.printed("partner")
        restored = job.restored_after_the_loss()
        if restored != first:
            raise AssertionError(f"{restored} is restored, and not {first}")


def main():
    programs = [*sys.argv[1:4], None]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    for play in [with_a_snapshot, without_one]:
        start = time.monotonic()
        play(programs)
        print(f"{play.__name__}: as it should be, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
