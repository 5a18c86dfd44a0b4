#!/usr/bin/env python3
"""The example of cairn.hpp goes through a full disk, a deleted store and two deaths to its right result.

    header_example.py PROGRAM CKPT_RUN

Node stores are on a small file system in memory, in a mount namespace of the test's own: it is gone with the test,
however that ends. Needs root.
"""

import errno
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from any_launcher import wait_until_a_node_may_be_lost
from ckpt_run import Job, fail, kill

RANKS = 4  # two nodes of two ranks and a head each
NAMESPACE = ["unshare", "--mount", "--propagation", "private"]


class Program(Job):
    """The program, started in its directory, where its heat.ini is."""

    def begin(self, pause_ms):
        os.chdir(self.directory)
        os.environ["EXAMPLE_PAUSE_MS"] = str(pause_ms)
        return self.start("--config", str(self.config), "--grace", "1s", ranks=RANKS)

    def results(self):
        return [(self.directory / f"result.{rank}").read_bytes() for rank in range(RANKS)]

    def newest(self, node):
        """The newest snapshot of which a node has copies of its partner's shards, too."""
        copies = glob.glob(f"{self.directory}/local/node{node:04d}/*/v*/*.copy")
        return max((Path(path).parent.name for path in copies), default="")

    def wait_until(self, what, is_so):
        while not is_so():
            if self.run.poll() is not None or time.monotonic() > self.deadline:
                fail(f"waited for {what}", self.output)
            time.sleep(0.02)

    def wait_for_newer(self, node):
        before = self.newest(node)
        self.wait_until(f"a newer snapshot than {before} on node {node}", lambda: self.newest(node) > before)

    def wait_for_steps(self, since=None):
        self.wait_for("^relaxed ", len(self.lines) if since is None else since)

    def lose_a_rank(self):
        seen = len(self.lines)
        kill([self.ranks()[1]])
        self.wait_for_steps(self.wait_for("ckpt-run: .*; restart", seen))


def fill(path):
    with open(path, "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def fill_until_a_snapshot_fails(job, filler):
    """With what the job gives back meanwhile."""

    def has_failed():
        fill(filler)
        return "No space left on device" in job.output

    job.wait_until("a snapshot that fails on a full disk", has_failed)


def delete(directory):
    """Also what is written there meanwhile."""
    while directory.exists():
        shutil.rmtree(directory, ignore_errors=True)


def goes_through_all_of_it(job):
    local = job.directory / "local"
    local.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(local)], check=True)
    try:
        job.begin(pause_ms=20)
        wait_until_a_node_may_be_lost(job)
        fill_until_a_snapshot_fails(job, local / "filler")
        job.wait_for_steps()
        (local / "filler").unlink()
        job.wait_for_newer(1)
        job.lose_a_rank()
        job.wait_for_newer(1)
        delete(local / "node0001")
        job.wait_for_newer(1)
        job.lose_a_rank()
        return job.end(0, "ckpt-run: finished after 2 restarts")
    finally:
        job.stop_all()
        subprocess.run(["umount", "--lazy", str(local)], check=True)


def play(program, ckpt_run):
    with tempfile.TemporaryDirectory(prefix="cairn-readme-") as name:
        jobs = [Program(Path(name), job, (program, ckpt_run)) for job in ("calm", "troubled")]
        for job in jobs:
            job.command = lambda *_: [program]
        calm, troubled = jobs
        try:
            calm.begin(pause_ms=0).end(0)
            output = goes_through_all_of_it(troubled)
        finally:
            os.chdir("/")
            calm.stop_all()
        if troubled.results() != calm.results():
            fail("the result differs from that of the job that nothing happened to", output)
    print("same result after a full disk, a deleted store and two deaths")


def main():
    if sys.argv[1] == "--inside":
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
        play(*(os.path.realpath(path) for path in sys.argv[2:]))
        return
    made = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"this test mounts a file system and must run as root where that is permitted: {made.stderr}")
    os.execvp(NAMESPACE[0], [*NAMESPACE, sys.executable, __file__, "--inside", *sys.argv[1:]])


if __name__ == "__main__":
    main()
