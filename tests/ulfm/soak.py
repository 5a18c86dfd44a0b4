#!/usr/bin/env python3
"""Kills processes of running jobs at random, and sees that every job comes to its end with the right plate.

    soak.py HEAT [--mode spares] [--supervised] [--failures 12] [--per-job 6] [--seed 1] [--limit 600]

Application ranks and heads are killed (SIGKILL) one, two or three at a time, some while the job repairs itself, until so
many have died in all. mpirun of Open MPI 5.0 was seen to crash when processes are replaced by new ones. Under ckpt-run
(--supervised; it lies beside HEAT) that is one more failure, which the job survives by a restart; started by mpirun
alone the job is over, which is counted, and another one is started. A job that does not go on within a minute counts as
hung, and the run has failed. Prints how long it took from a kill until the application went on.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import job as jobs

STEPS_PER_FAILURE = 60  # long enough for all that are to come
PAUSE_MS = 4


def disturb(job, random_source, failures):
    """Kills until so many have died, or the job is over. Returns how many, and times of going on after one blow."""
    killed = 0
    times = []
    job.wait_for_start()
    while killed < failures:
        time.sleep(random_source.uniform(0, 0.3))
        if job.is_through() or job.says("holds the plate"):
            break
        at = time.monotonic()
        killed += jobs.kill_some(job, random_source, min(random_source.choice([1, 1, 1, 2, 3]), failures - killed))
        twice = random_source.random() < 0.3 and killed < failures
        if twice:
            time.sleep(random_source.uniform(0, 0.15))
            at = time.monotonic()
            killed += jobs.kill_some(job, random_source, 1)
        if not job.wait_for_entry_after(at):
            break
        if not twice:
            times.append(1000 * (job.entered[-1] - at))
    return killed, times


def run_job(arguments, directory, number, random_source, failures, reference):
    shapes = [{"ranks": 4, "node_size": "0"},
              {"ranks": 6, "node_size": "3", "l2": "every 10", "l4": "every 10"}]  # fmt: skip
    shape = dict(shapes[number % len(shapes)])
    # Some to spare: once in many hundred failures a survivor crashes inside MPI, and is replaced like the others.
    spares = failures + 2 if arguments.mode == "spares" else 1
    if shape["node_size"] == "3" and arguments.mode == "spares":
        spares = -(-spares // 3) * 3
    if shape["node_size"] == "3" and arguments.mode == "respawn" and not arguments.supervised:
        shape["node_size"] = "3,3,1"
    launcher = None
    if arguments.supervised:
        heads = 1 if shape["node_size"] == "0" else shape["ranks"] // 3
        launcher = [str(Path(arguments.heat).with_name("ckpt-run")), "-n", str(shape["ranks"] - heads), "--spares", str(spares), "--config"]
    job = jobs.Job(arguments.heat, directory / f"job{number}", arguments.mode, spares=spares, steps=STEPS_PER_FAILURE * arguments.per_job,
                   pause_ms=PAUSE_MS, launcher=launcher, **shape)  # fmt: skip
    try:
        killed, times = disturb(job, random_source, failures)
        job.finish(patience_s=60 if launcher else 2)
        if not job.plate.exists():
            raise jobs.Failed(f"there is no plate; mpirun ended with {job.process.returncode}")
        if arguments.supervised and job.process.returncode != 0:
            raise jobs.Failed(f"ckpt-run ended with {job.process.returncode}")
        if job.plate.read_bytes() != reference:
            raise jobs.Failed("the plate differs from that of the run that nothing happened to")
    except jobs.MpirunCrashed:
        print(f"soak: job {number}: mpirun itself crashed", flush=True)
        return None
    except jobs.Failed as error:
        sys.exit(f"soak: seed {arguments.seed}, job {number}: {error}\n{job.output()}\n{job.stacks()}")
    finally:
        job.close()
    restarts = f", {job.restarts()} restarts" if launcher else ""
    print(f"soak: job {number}, {shape['ranks']} ranks and {spares} spares: {killed} killed{restarts}, the plate is right, "
          f"{job.process.returncode}", flush=True)  # fmt: skip
    return killed, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heat")
    parser.add_argument("--mode", choices=["spares", "respawn"], default="spares")
    parser.add_argument("--supervised", action="store_true", help="by ckpt-run")
    parser.add_argument("--failures", type=int, default=12)
    parser.add_argument("--per-job", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=600, help="seconds after which no further job is started")
    arguments = parser.parse_args()
    random_source = random.Random(arguments.seed)
    start = time.monotonic()
    killed = 0
    number = 0
    crashes = 0
    times = []
    with tempfile.TemporaryDirectory(prefix="cairn-ulfm-") as name:
        directory = Path(name)
        reference = jobs.reference_plate(arguments.heat, directory / "reference", STEPS_PER_FAILURE * arguments.per_job)
        while killed < arguments.failures:
            if time.monotonic() - start > arguments.limit:
                sys.exit(f"soak: {killed} of {arguments.failures} failures after {arguments.limit} s")
            failures = min(arguments.per_job, arguments.failures - killed)
            done = run_job(arguments, directory, number, random_source, failures, reference)
            number += 1
            if done is None:
                crashes += 1
                if crashes > arguments.failures / 10:
                    sys.exit(f"soak: mpirun crashed in {crashes} of {number} jobs")
                continue
            killed += done[0]
            times += done[1]
    print(f"soak: mode {arguments.mode}: {killed} processes killed in {number - crashes} jobs, no hang"
          f"{f', and mpirun crashed in {crashes} more' if crashes else ''}; from kill to going on: "
          f"median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms; "
          f"{time.monotonic() - start:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
