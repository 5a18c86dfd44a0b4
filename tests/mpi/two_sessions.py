#!/usr/bin/env python3
"""ckpt-run brings two jobs of one program to their end: the first that finishes is not the end of the other.

    two_sessions.py PROGRAM CKPT_RUN

A rank of the second job dies after the first has finished. The next life goes on with both: the first from its last
snapshot, so that nothing is computed again.
"""

import os
import sys
import tempfile
from pathlib import Path

from ckpt_run import Job, fail

CONFIG = """[job]
name = {name}
[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 1
[head]
mode = inline
[topology]
node_size = 2
"""


def main():
    program, ckpt_run = sys.argv[1:3]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    with tempfile.TemporaryDirectory(prefix="cairn-two-") as name:
        job = Job(Path(name), "two", (program, ckpt_run), command=lambda *_: [program, str(job.directory)])
        for each in ("first", "second"):
            (job.directory / f"{each}.ini").write_text(CONFIG.format(name=each, directory=job.directory))
        try:
            job.start("--config", str(job.directory / "first.ini"), "--grace", "1s")
            output = job.end(0, "ckpt-run: finished after 1 restart")
        finally:
            job.stop_all()
        log = sorted((job.directory / "log").read_text().splitlines())
        if log != ["first continues at 0", "first continues at 10", "second continues at 0", "second continues at 5"]:
            fail(f"each job should go on from its last step: {log}", output)
    print("both jobs came to their end")


if __name__ == "__main__":
    main()
