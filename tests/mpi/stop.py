#!/usr/bin/env python3
"""The stop signal ends a job, and kills none of its processes: neither heads nor ranks without a session.

    stop.py CKPT_RUN DIRECTORY

DIRECTORY has the programs `stop`, and `stop_unheard`, whose MPI calls are not intercepted.
"""

import os
import re
import signal
import sys
import tempfile
from pathlib import Path

from ckpt_run import LIMIT_S, Job, fail, was_restarted

CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 1
l2 = off
l3 = off
l4 = off
[topology]
node_size = 3
[restart]
stop_signal = {stop_signal}
"""


MORE = 20  # steps of a run that goes on
LONG = 400  # so many that a signal reaches it before its end


def start(root, ckpt_run, program, how, stop_signal="on", more=MORE):
    name = f"{program.name}-{how}-{stop_signal}"
    job = Job(root, name, (program, ckpt_run), command=lambda *_: [str(program), how, str(job.config), str(more)])
    job.config.write_text(CONFIG.format(directory=job.directory, stop_signal=stop_signal))
    job.start("--grace", "1s")
    job.wait_for("stop: step 10")
    return job


def stops_and_goes_on(job):
    """Its last step is that of the snapshot, from which the same command goes on."""
    output = job.end(0, "stopped on request")
    ends = re.findall(r"stop: ends at step (\d+)", output)
    if was_restarted(output) or len(ends) != 1:
        fail(f"{job.directory.name}: it should have stopped once", output)
    output = job.start("--grace", "1s").end(0)
    if f"stop: begins at step {ends[0]}" not in output or f"stop: ends at step {int(ends[0]) + MORE}" not in output:
        fail(f"{job.directory.name}: it should have gone on from step {ends[0]}", output)


def main():
    ckpt_run, directory = sys.argv[1], Path(sys.argv[2])
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    with tempfile.TemporaryDirectory(prefix="cairn-stop-") as name:
        root = Path(name)
        for how in ("half", "order"):
            job = start(root, ckpt_run, directory / "stop", how)
            job.run.send_signal(signal.SIGUSR1)
            stops_and_goes_on(job)
            print(f"{how}: stopped", flush=True)

        # The application's own signal reaches each rank once, and no head is killed by it.
        for stop_signal in ("SIGUSR2", "off"):
            job = start(root, ckpt_run, directory / "stop", "handles", stop_signal)
            job.run.send_signal(signal.SIGUSR1)
            seen = 0
            for _ in range(4):
                seen = job.wait_for("stop: rank . has handled SIGUSR1", seen)
            if stop_signal == "off":
                job.run.send_signal(signal.SIGINT)
                job.end(130)
            else:
                job.run.send_signal(signal.SIGUSR2)
                stops_and_goes_on(job)
            if job.output.count("has handled SIGUSR1") > 4:
                fail("the application should get its signal once", job.output)
            print(f"handles, {stop_signal}: stopped", flush=True)

        # Cairn cannot protect ranks whose MPI_Init it does not intercept. The job is asked twice, and then goes on, unless
        # the other ranks are faster than the launcher, which ends them.
        job = start(root, ckpt_run, directory / "stop_unheard", "half", more=LONG)
        job.run.send_signal(signal.SIGUSR1)
        if job.run.wait(LIMIT_S) == 138:
            job.end(138, "stopped on request", "code 138", "cairn-tap")
        else:
            output = job.end(0, "restart 2", "cairn-tap")
            if output.count("ended with code 138") != 2 or "stop: ends at step" not in output:
                fail("two runs should be ended by the signal, and the third should come to its end", output)
        print("unheard: was ended by the signal", flush=True)


if __name__ == "__main__":
    main()
