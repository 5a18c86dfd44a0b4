#!/usr/bin/env python3
"""ckpt-run brings jobs of any MPI through failures: the examples in C++, C and Fortran, by the launcher that is named.

    any_launcher.py BIN CKPT_RUN LAUNCHER [OPTION…]

BIN has the examples, built with that launcher's MPI; OPTIONs go to ckpt-run in every life. A rank, a head, and a whole
node with its store are lost; what comes out must be what comes out of a job that nothing happened to, byte for byte.
Whatever happens, nothing of a job is left.
"""

import glob
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from ckpt_run import SIZE, Job, ends_when_interrupted, fail, kill

STEPS = 60
RANKS = 4  # two nodes of two ranks and a head each
STRIKES = {  # world ranks that are killed, and the node whose store goes with them
    "a rank": ([1], None),
    "a head": ([2], None),
    "the node of the first rank, with its store": ([0, 1, 2], 0),
    "a node, with its store": ([3, 4, 5], 1),
}


def result_of(job, output):
    """What the job has computed: the file it wrote, and the line in which it says a sum or a norm."""
    plate = job.plate.read_bytes() if job.plate.exists() else None
    found = re.search(r"(?:wave|gradient): after \d+ steps the .* is ([^;\n]*)", output)
    number = found and found.group(1)
    return (plate, number) if plate or number else fail("no result", output)


def strike(job, ranks, node):
    wait_until_a_node_may_be_lost(job)
    found = job.ranks()
    if missing := [rank for rank in ranks if rank not in found]:
        fail(f"{job.directory.name}: no processes of ranks {missing}, only {found}", job.output)
    kill([found[rank] for rank in ranks])
    if node is not None:
        shutil.rmtree(job.directory / "local" / f"node{node:04d}")


def wait_until_a_node_may_be_lost(job):
    """Until both nodes have had a partner's shards of two snapshots: those of the first are whole then."""
    seen = {0: set(), 1: set()}
    while min(map(len, seen.values())) < 2:
        for node, snapshots in seen.items():
            # Not Path.glob, which fails when a snapshot is retired meanwhile.
            copies = glob.glob(f"{job.directory}/local/node{node:04d}/*/v*/*.copy")
            snapshots.update(Path(path).parent.name for path in copies)
        if job.run.poll() is not None or time.monotonic() > job.deadline:
            fail(f"{job.directory.name}: no copies", job.output)
        time.sleep(0.02)


def survives(make_job, name, command, strikes, came_back):
    reference = make_job(f"calm {name}", command=command)
    output = reference.start(ranks=RANKS, pause_ms=0).end(0)
    wanted = result_of(reference, output)
    for what in strikes:
        ranks, node = STRIKES[what]
        job = make_job(f"{name}, {what}", command=command)
        job.start("--grace", "1s", ranks=RANKS, pause_ms=10)
        strike(job, ranks, node)
        output = job.end_of_second_life()
        if not re.search(rf"^{name}: .*{came_back} [1-9]", output, re.MULTILINE):
            fail(f"{name} did not come back to where it was", output)
        if result_of(job, output) != wanted:
            fail(f"{name} lost {what}: the result differs from that of the job that nothing happened to", output)
        print(f"{name}: same result after the loss of {what}", flush=True)


def survives_a_death_before_there_is_a_session(job):
    """A launcher's code is all that tells such a death from a program that cannot start."""
    heat = job.command
    script = 'mkdir "$0" 2>/dev/null && kill -KILL $$; exec "$@"'  # of those that come, the first
    job.command = lambda *how: ["sh", "-c", script, str(job.directory / "struck"), *heat(*how)]
    job.start("--grace", "1s", ranks=RANKS, pause_ms=0).end(0, "restart 1")
    print("came back from a death before there was a session", flush=True)


def ends_a_launcher_that_stays(job):
    """It is stopped, and its ranks are gone: nobody but ckpt-run can end it."""
    job.start("--grace", "1s", ranks=RANKS, pause_ms=10)
    wait_until_a_node_may_be_lost(job)
    ranks = job.ranks()
    job.stop_launcher(ranks)
    kill(ranks.values())
    job.end_of_second_life("heat: continues at step")
    print("ended a launcher that stayed", flush=True)


class Jobs:
    """Makes jobs below a directory, and leaves none of their processes."""

    def __init__(self, root, heat, ckpt_run, options):
        self.root = root
        self.programs = (str(heat), str(ckpt_run))
        self.options = options
        self.jobs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for job in self.jobs:
            job.stop_all()

    def __call__(self, name, **settings):
        job = Job(self.root, name.replace(" ", "-"), self.programs, options=self.options, **settings)
        job.steps = STEPS
        if make := settings.get("command"):
            job.command = lambda pause_ms, size: make(job, pause_ms)
        self.jobs.append(job)
        return job


def play(bin_directory, make_job, strikes=tuple(STRIKES)):
    start = time.monotonic()
    wave_program = Path(bin_directory) / "wave"

    def gradient(job, pause_ms):
        return [str(Path(bin_directory) / "gradient"), *job.heat_command(pause_ms, SIZE)[1:]]

    def swing(job, pause_ms):
        return [str(Path(bin_directory) / "swing"), "--steps", str(STEPS), "--pause-ms", str(pause_ms), "--config",
                str(job.config), "--output", str(job.plate)]  # fmt: skip

    def wave(job, _):
        return [str(wave_program), str(job.config), "400"]

    survives(make_job, "heat", None, strikes, "continues at step")
    survives(make_job, "gradient", gradient, ["a rank"], "continues at step")
    survives(make_job, "swing", swing, ["a rank"], "continues at step")
    if wave_program.exists():
        survives(make_job, "wave", wave, ["a head"], "starts at step")
    ends_when_interrupted(make_job("ctrl-c"), signal.SIGINT, "")
    ends_when_interrupted(make_job("deaf"), signal.SIGTERM, "with a launcher that does not listen")
    ends_a_launcher_that_stays(make_job("stays"))
    survives_a_death_before_there_is_a_session(make_job("young"))
    print(f"any launcher: {time.monotonic() - start:.0f} s", flush=True)


def main():
    bin_directory, ckpt_run, launcher, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="cairn-run-") as root:
        with Jobs(Path(root), Path(bin_directory) / "heat", ckpt_run, ["--launcher", launcher, *options]) as make_job:
            play(bin_directory, make_job)


if __name__ == "__main__":
    main()
