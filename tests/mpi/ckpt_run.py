#!/usr/bin/env python3
"""ckpt-run brings heat through failures, and ends it when it should end.

    ckpt_run.py HEAT CKPT_RUN [SEED]

Ranks and heads are killed by their process ids, several at once, also while the job comes back; the plate at the end
must be that of a run that nothing happened to, byte for byte. Whatever happens, nothing of a job is left: no process,
no shared memory.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from facts import has_thing  # noqa: E402
from processes import environment_of, program_of, send  # noqa: E402

STEPS = 240
KILLS = 8
LIMIT_S = 200  # of one job; much more than it takes on a machine that is not busy
RANK_VARIABLES = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"]
SIZE = ["--size", "61", "--width", "47"]

CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 2
l2 = {l2}
l3 = off
l4 = off
[head]
mode = {mode}
[topology]
node_size = 3
[restart]
at_end = continue
"""


def fail(what, output=""):
    sys.exit(f"ckpt_run: {what}\n{output}")


class Job:
    """A directory with heat's configuration and its stores, and one ckpt-run at a time on them."""

    def __init__(self, root, name, programs, mode="rank", l2="every 4", options=(), command=None, front=()):
        self.heat, self.ckpt_run = programs
        self.options = list(options)  # ckpt-run's, in every life
        self.front = list(front)  # starts ckpt-run
        self.command = command or self.heat_command
        self.steps = STEPS
        self.directory = root / name
        self.directory.mkdir()
        self.config = self.directory / "heat.ini"
        self.config.write_text(CONFIG.format(directory=self.directory, mode=mode, l2=l2))
        self.plate = self.directory / "plate.bin"
        self.lines = []
        self.changed = threading.Condition()
        self.jobids = set()

    def heat_command(self, pause_ms, size):
        return [self.heat, *size, "--steps", str(self.steps), "--pause-ms", str(pause_ms), "--config",
                str(self.config), "--output", str(self.plate)]  # fmt: skip

    def start(self, *options, ranks=4, pause_ms=10, size=SIZE, stdin=subprocess.DEVNULL):
        environment = dict(os.environ, HEAT_TEST=str(self.directory))
        self.run = subprocess.Popen([*self.front, self.ckpt_run, "-n", str(ranks), *self.options, *options, "--",
                                     *self.command(pause_ms, size)], stdin=stdin, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, env=environment)  # fmt: skip
        self.lines = []
        self.deadline = time.monotonic() + LIMIT_S
        threading.Thread(target=self.read, args=[self.run], daemon=True).start()
        return self

    def read(self, run):
        for line in run.stdout:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    @property
    def output(self):
        return "".join(line for line in self.lines if line)

    def wait_for(self, pattern, since=0):
        """Number of lines up to the first that matches, from `since` on."""
        with self.changed:
            while True:
                for number in range(since, len(self.lines)):
                    if self.lines[number] is None:
                        fail(f"{self.directory.name}: ended before it said /{pattern}/", self.output)
                    if re.search(pattern, self.lines[number]):
                        return number + 1
                if not self.changed.wait(max(self.deadline - time.monotonic(), 0)):
                    fail(f"{self.directory.name}: did not say /{pattern}/ in {LIMIT_S} s", self.output)

    def processes(self):
        """All processes that come from this job's ckpt-run, wherever they hang in the tree."""
        pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        return [pid for pid in pids if pid != self.run.pid and
                environment_of(pid).get("HEAT_TEST") == str(self.directory)]  # fmt: skip

    def ranks(self):
        found = {}
        for pid in self.processes():
            environment = environment_of(pid)
            name = next((name for name in RANK_VARIABLES if name in environment), None)
            if name is None:
                continue
            found[int(environment[name])] = pid
            if "OMPI_MCA_ess_base_jobid" in environment:
                self.jobids.add(int(environment["OMPI_MCA_ess_base_jobid"]))
        return found

    def stop_launcher(self, ranks):
        """It listens to nobody any more, nor do its daemons."""
        for pid in self.processes():
            if pid not in ranks.values() and program_of(pid) != os.path.realpath(self.ckpt_run):
                send(pid, signal.SIGSTOP)

    def end(self, code, *named):
        """Waits for ckpt-run; it must end with `code`, have named all these things, and leave nothing."""
        try:
            self.run.wait(max(self.deadline - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            fail(f"{self.directory.name}: not ended after {LIMIT_S} s", self.output)
        self.wait_for_end_of_output()
        missing = [thing for thing in named if not has_thing(self.output, thing)]
        if self.run.returncode != code or missing:
            fail(f"{self.directory.name}: ended with {self.run.returncode}, not {code}; not named: {missing}", self.output)
        if left := self.processes():
            fail(f"{self.directory.name}: processes are left: {left}", self.output)
        shared = [path.name for path in Path("/dev/shm").glob("vader_segment.*")]
        if left := [name for name in shared if any(f".{jobid:x}." in name for jobid in self.jobids)]:
            fail(f"{self.directory.name}: shared memory is left: {left}", self.output)
        if left := list(self.directory.glob("global/.ckpt-run-*")):
            fail(f"{self.directory.name}: files are left: {left}", self.output)
        return self.output

    def end_of_second_life(self, *named):
        """As end(0). MPI itself may crash where it starts again just after a death, before there is a session: then the
        job is started once more."""
        output = self.end(0, *named)
        if (lives := len(re.findall(r"^cairn: job .*; incarnation \d", output, re.MULTILINE))) != 2:
            fail(f"{self.directory.name}: {lives} lives had a session, should be 2", output)
        return output

    def wait_for_end_of_output(self):
        with self.changed:
            while not self.lines or self.lines[-1] is not None:
                if not self.changed.wait(30):
                    fail(f"{self.directory.name}: somebody still holds its output", self.output)

    def stop_all(self):
        kill([*self.processes(), self.run.pid])


def kill(pids):
    return sum(send(pid, signal.SIGKILL) for pid in pids)


def some_of(ranks, random_):
    return random_.sample(sorted(ranks.values()), min(len(ranks), random_.choice([1, 2, 3])))


def survives_kills(job, random_, reference):
    """Every other strike comes while the job comes back from the one before."""
    job.start("--max-restarts", "50", "--grace", "1s", ranks=6)
    killed, seen = 0, 0
    while killed < KILLS:
        seen = job.wait_for(r"heat: \d+ of \d+ steps", seen)
        count = len(job.lines)
        killed += kill(some_of(job.ranks(), random_))
        seen = job.wait_for("ckpt-run: .*restart", count)
        if killed < KILLS and random_.random() < 0.6:
            # Ranks of the next life, in MPI_Init or later, as it comes.
            while not (ranks := job.ranks()):
                time.sleep(0.01)
            time.sleep(random_.uniform(0, 0.5))
            killed += kill(some_of(ranks, random_))
    output = job.end(0, "6 application ranks", "3 heads", "3 simulated nodes")
    if job.plate.read_bytes() != reference:
        fail("the plate differs from that of the run that nothing happened to", output)
    restarts = output.count("ckpt-run: mpirun ended")
    print(f"same plate: {killed} kills, {restarts} restarts", flush=True)


def was_restarted(output):
    return re.search(r"^ckpt-run: .*; restart \d", output, re.MULTILINE) is not None


def ends_when_interrupted(job, number, name):
    job.start("--grace", "1s", pause_ms=50)
    job.wait_for(r"heat: \d+ of \d+ steps")
    ranks = job.ranks()
    if name == "with a launcher that does not listen":
        job.stop_launcher(ranks)
    job.run.send_signal(number)
    job.end(130)
    print(f"everything ended: signal {number} {name}", flush=True)


def hands_on_the_code_that_comes_after_the_mark(job):
    heat = job.command
    job.command = lambda *how: ["sh", "-c", '"$@"; exit 7', "sh", *heat(*how)]
    output = job.start(pause_ms=0).end(7, "mpirun", "code 7")
    if was_restarted(output):
        fail("a job that had finished was started again", output)
    print("handed on the code after the mark", flush=True)


def reads_its_input_again_in_each_life(job):
    given = job.directory / "input"
    given.write_text("skipped\nread\n")
    heat = job.command
    # Rank 0 alone has it.
    script = 'test "$OMPI_COMM_WORLD_RANK" != 0 || { read line; echo "rank 0 has read $line"; }; exec "$@"'
    job.command = lambda *how: ["sh", "-c", script, "sh", *heat(*how)]
    with open(given, encoding="utf-8") as stdin:
        os.lseek(stdin.fileno(), len("skipped\n"), os.SEEK_SET)
        job.start(stdin=stdin)
        job.wait_for(r"heat: \d+ of \d+ steps")
        kill(list(job.ranks().values())[-1:])
        output = job.end(0, "restart 1")
    if output.count("rank 0 has read read") != 2:
        fail("each life should read the same input", output)
    print("read its input in each life", flush=True)


def gives_up_after_max_restarts(job):
    job.start("--max-restarts", "1", pause_ms=50)
    seen = 0
    for _ in range(2):
        seen = job.wait_for(r"heat: \d+ of \d+ steps", seen)
        kill(list(job.ranks().values())[:1])
    output = job.end(1, "--max-restarts", f"ckpt-tool list --config {job.config}")
    if output.count("starts at step 0") + output.count("continues at step") != 2:
        fail("--max-restarts 1 should give two lives", output)
    # The same command goes on.
    output = job.start().end(0, "heat: continues at step")
    print("gave up after --max-restarts; the same command went on", flush=True)


def chooses_a_version_once(job, reference):
    """The first life restores an older version. The second one restores what the first one has taken since."""
    job.start(pause_ms=20)
    job.wait_for(r"heat: \d+ of \d+ steps")
    job.run.send_signal(signal.SIGUSR1)
    job.end(0)
    output = job.start("--from", "4000").end(1, "no version 4000", "ckpt-tool list")
    if not (versions := re.search(r"recoverable are: ([\d, ]+)", output)):
        fail("--from 4000 should name the versions that there are", output)
    job.start("--from", versions[1].split(",")[0], pause_ms=20)
    job.wait_for(r"heat: \d+ of \d+ steps", job.wait_for("heat: continues at step"))
    kill(list(job.ranks().values())[:1])
    output = job.end(0, "was chosen", "restart 1")
    steps = [int(step) for step in re.findall(r"continues at step (\d+)", output)]
    if len(steps) != 2 or steps[0] >= steps[1]:
        fail("the second life should continue where the first one was", output)
    if job.plate.read_bytes() != reference:
        fail("the plate differs from that of the run that nothing happened to", output)
    print("chose a version once", flush=True)


def stops_as_asked(job):
    job.start(pause_ms=50)
    job.wait_for(r"heat: \d+ of \d+ steps")
    job.run.send_signal(signal.SIGUSR1)
    output = job.end(0)
    if job.plate.exists():
        fail("a job that was stopped should not have reached its end", output)
    if was_restarted(output):
        fail("a job that was stopped was started again", output)
    print("stopped by SIGUSR1", flush=True)


def stops_as_asked_also_after_a_failure(job):
    job.start(pause_ms=50)
    job.wait_for(r"heat: \d+ of \d+ steps")
    kill(list(job.ranks().values())[:1])
    job.run.send_signal(signal.SIGUSR1)
    output = job.end(0)
    if job.plate.exists():
        fail("a job that was to stop should not have reached its end", output)
    # If the job was quicker than the death of its rank, there was no restart.
    again = "once more, after a restart" if was_restarted(output) else "before a rank died"
    print(f"stopped by SIGUSR1 {again}", flush=True)


def ends_at_once_on_what_no_restart_mends(job):
    text = job.config.read_text()
    job.config.write_text(text.replace("node_size", "node_sise"))
    output = job.start().end(2, "heat.ini:12", "[topology] node_sise", "node_size")
    if output.count("\n") != 1:
        fail("a wrong configuration should be one line", output)

    # Only the application sees this one.
    other = job.directory / "other.ini"
    other.write_text(text)
    output = job.start("--config", str(other)).end(1, "[topology] node_sise", "node_size")
    if was_restarted(output):
        fail("a wrong configuration was tried again", output)

    # The application names an INI file of its own, in which nodes are larger.
    job.config.write_text(text)
    other.write_text(text.replace("node_size = 3", "node_size = 2"))
    output = job.start("--config", str(other)).end(1, "node_size = 2", "node_size = 3", "--config")
    if was_restarted(output) or "heat: starts" in output:
        fail("a job of another number of ranks was not refused at once", output)

    output = job.start(size=["--width", "9"]).end(1, "mpirun")
    if was_restarted(output):
        fail("a wrong command line was tried again", output)

    heat, job.heat = job.heat, "./heta"
    output = job.start().end(2, "./heta", "No such file or directory")
    if has_thing(output, "SIGILL"):
        fail("a program that is not there was told of as one that a signal has ended", output)
    job.heat = heat
    started = job.command
    job.command = lambda *_: ["sh", "-c", 'echo "no Cairn is in here"']
    output = job.start("--config", str(job.config)).end(0, "code 0", "session")
    if output.count("no Cairn is in here") != 6:
        fail("a program that does not use Cairn was started again", output)
    job.command = started

    job.start(pause_ms=50)
    job.wait_for(r"heat: \d+ of \d+ steps")
    job.run.send_signal(signal.SIGINT)
    job.end(130)
    output = job.start(size=["--size", "61", "--width", "53"]).end(1, "plate", "ckpt-tool list")
    if was_restarted(output) or output.count("cairn: error: ") != 1:
        fail("one process should report regions that do not match, and the job not be started again", output)

    shutil.rmtree(job.directory / "local" / "node0000")
    output = job.start().end(1, "node 0", "ckpt-tool list")
    if was_restarted(output) or output.count("cairn: error: ") != 1:
        fail("what cannot be restored should be told once, and the job not be started again", output)
    print("ended at once where no restart helps", flush=True)


def main():
    heat, ckpt_run = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    programs = (heat, ckpt_run)
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    start = time.monotonic()
    jobs = []

    def job(name, **settings):
        jobs.append(Job(root, name, programs, **settings))
        return jobs[-1]

    with tempfile.TemporaryDirectory(prefix="cairn-run-") as name:
        root = Path(name)
        try:
            calm = job("calm").start(pause_ms=0)
            calm.end(0)
            survives_kills(job("kills"), random.Random(seed), calm.plate.read_bytes())
            ends_when_interrupted(job("ctrl-c"), signal.SIGINT, "")
            ends_when_interrupted(job("deaf"), signal.SIGTERM, "with a launcher that does not listen")
            gives_up_after_max_restarts(job("restarts", mode="inline"))
            chooses_a_version_once(job("chosen"), calm.plate.read_bytes())
            stops_as_asked(job("stopped"))
            stops_as_asked_also_after_a_failure(job("stopped_late"))
            reads_its_input_again_in_each_life(job("input"))
            hands_on_the_code_that_comes_after_the_mark(job("code"))
            ends_at_once_on_what_no_restart_mends(job("hopeless", l2="off"))
        finally:
            for one in jobs:
                one.stop_all()
    print(f"seed {seed}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
