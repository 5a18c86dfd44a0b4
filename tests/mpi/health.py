#!/usr/bin/env python3
"""The heads of real jobs find out what is sick, and ckpt-tool health shows it.

    health.py PROGRAM CKPT_TOOL MPIEXEC FAILING_STORE CKPT_RUN [PLAY...]

PROGRAM is that of hang.py, FAILING_STORE a library that makes writes fail. Each job has two nodes of two ranks and a
head. The tool is asked again and again until it says what it should; nothing here depends on how fast the machine is.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from processes import descendants, environment_of, left_of, program_of, send  # noqa: E402

LIMIT_S = 120  # until it is said; a verdict is confirmed again, or withdrawn, after 30 s
# mpirun leaves the other ranks alone when one of them dies.
SURVIVORS = ["--mca", "orte_enable_recovery", "1", "--mca", "orte_abort_on_non_zero_status", "0"]

CONFIG = """[job]
name = sick
[storage]
local = {directory}/local
global = {directory}/global
[levels]
l2 = off
l3 = off
l4 = off
[topology]
node_size = 3
[head]
mode = rank
[localize]
stuck_after = 4s
"""


class Job:
    def __init__(self, programs, kind, options=(), variables=None):
        self.program, self.tool, self.mpiexec = programs[:3]
        self.kind = kind
        self.directory = tempfile.TemporaryDirectory(prefix="cairn-health-")
        self.config = Path(self.directory.name, "sick.ini")
        self.config.write_text(CONFIG.format(directory=self.directory.name))
        self.output = Path(self.directory.name, "output")
        self.variables = {**os.environ, **(variables(self) if variables else {})}
        forwarded = [word for name in self.variables if name not in os.environ for word in ("-x", name)]
        # --foreground is left out: timeout then kills its whole process group.
        self.command = ["timeout", "-s", "KILL", str(4 * LIMIT_S), self.mpiexec, "--oversubscribe", "--bind-to", "none",
                        *options, *forwarded, "-n", "6", self.program, str(self.config), kind]  # fmt: skip

    def __enter__(self):
        with self.output.open("w") as output:
            self.run = subprocess.Popen(self.command, stdout=output, stderr=output, start_new_session=True,
                                        env=self.variables)  # fmt: skip
        return self

    def __exit__(self, *failure):
        ranks = list(self.processes().values())
        for pid in ranks:
            send(pid, signal.SIGCONT)
            send(pid, signal.SIGKILL)
        self.run.terminate()  # timeout sends it on to mpiexec
        try:
            self.run.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.run.pid, signal.SIGKILL)
            self.run.wait()
        left = left_of(ranks, LIMIT_S)
        self.directory.cleanup()
        if left and not any(failure):
            raise AssertionError(f"processes are left: {left}")

    def processes(self):
        """By world rank."""
        found = [pid for pid in descendants(self.run.pid) if program_of(pid) == os.path.realpath(self.program)]
        return {int(environment_of(pid).get("OMPI_COMM_WORLD_RANK", -1)): pid for pid in found}

    def until(self, wanted, what):
        """The answer of a function, once it has one."""
        deadline = time.monotonic() + LIMIT_S
        while not (found := wanted()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.kind}: {what}\n{self.tell()}\n{self.output.read_text()}")
            time.sleep(0.1)
        return found

    def start(self):
        """Until all ranks work: their calls are recorded once the session is open."""
        calls = [Path(self.directory.name, f"local/node000{node}/sick/calls/rank{rank:06}.calls")
                 for rank, node in enumerate([0, 0, 1, 1])]  # fmt: skip
        self.until(lambda: all(path.exists() for path in calls), "the session is not open")
        return self.processes()

    def calls(self, rank):
        """How many MPI calls it has ended."""
        file = Path(self.directory.name, f"local/node{rank // 2:04}/sick/calls/rank{rank:06}.calls")
        return struct.unpack_from("Q", file.read_bytes(), 40)[0]

    def tell(self, *options):
        return subprocess.run([self.tool, "health", "--config", str(self.config), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S).stdout  # fmt: skip

    def verdicts(self):
        asked = subprocess.run([self.tool, "health", "--config", str(self.config), "--json"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, timeout=LIMIT_S)  # fmt: skip
        return json.loads(asked.stdout)["verdicts"] if asked.returncode in (0, 1) else []

    def watch(self):
        """What the tool says of the heads, once the calls of ranks are recorded."""
        said = json.loads(self.tell("--json") or "{}").get("watch", {})
        return said if said.get("watched") and said["calls"] else None

    def expect(self, **wanted):
        """One verdict that has these values."""

        def is_there():
            said = self.verdicts()
            return said if len(said) == 1 and wanted.items() <= said[0].items() else None

        return self.until(is_there, f"{wanted} is not found")[0]


class MemoryLimit:
    """A control group whose processes may have 400 MiB."""

    def __enter__(self):
        self.group = Path(f"/sys/fs/cgroup/memory/cairn-health-{os.getpid()}")
        self.group.mkdir()
        Path(self.group, "memory.limit_in_bytes").write_text(str(400 << 20))
        return self

    def take(self, pid):
        Path(self.group, "cgroup.procs").write_text(str(pid))

    def __exit__(self, *_):
        for _ in range(100):  # until its processes are gone
            try:
                return self.group.rmdir()
            except OSError:
                time.sleep(0.1)


def stop_and_die(programs):
    """A rank is stopped, goes on, and is killed."""
    with Job(programs, "exchange", SURVIVORS) as job:
        pid = job.start()[4]
        os.kill(pid, signal.SIGSTOP)
        job.expect(fault="process_stopped", node=1, rank=3)
        os.kill(pid, signal.SIGCONT)
        job.until(lambda: not job.verdicts(), "the verdict is not withdrawn")
        os.kill(pid, signal.SIGKILL)
        verdict = job.expect(fault="process_dead", node=1, rank=3)
        if [seen["symptom"] for seen in verdict["evidence"]] != ["process_failed"]:
            raise AssertionError(verdict)
        if verdict["text"] not in job.output.read_text():
            raise AssertionError(f"the log does not say it: {job.output.read_text()}")


def go_mute(programs):
    """A rank spins while the others wait for it, and goes on."""
    with Job(programs, "mute") as job:
        pid = job.start()[3]
        verdict = job.expect(fault="rank_stuck", node=1, rank=2)
        calls = verdict["calls"]
        wanted = {"state": "computes", "call": "MPI_Alltoall", "awaited": "MPI_Alltoall", "waiting": 3, "likely": True,
                  "unseen": 0, "silent": []}  # fmt: skip
        if not wanted.items() <= calls.items() or min(calls["seconds"], calls["waited_seconds"]) < 4:
            raise AssertionError(verdict)
        os.kill(pid, signal.SIGUSR1)
        job.until(lambda: not job.verdicts(), "the verdict is not withdrawn")


def fall_asleep(programs):
    """A rank sleeps while the others wait for it, and is then stopped."""
    with Job(programs, "asleep") as job:
        pid = job.start()[3]
        verdict = job.expect(fault="rank_stuck", node=1, rank=2)
        if verdict["calls"]["state"] != "idles" or verdict["calls"]["awaited"] != "MPI_Allreduce":
            raise AssertionError(verdict)
        os.kill(pid, signal.SIGSTOP)
        job.until(lambda: [one["fault"] for one in job.verdicts()] == ["process_stopped"], "it is not called stopped")


def hang(programs):
    """Ranks wait for each other: that is certain long before others would be suspected."""
    job = Job(programs, "left_out_collective")
    job.config.write_text(job.config.read_text().replace("stuck_after = 4s", "stuck_after = off"))
    with job:
        job.start()
        verdict = job.expect(fault="deadlock")
        if verdict["calls"]["ranks"] != [0, 3] or not verdict["calls"]["likely"]:
            raise AssertionError(verdict)


def compute(programs):
    """All ranks compute for long: nothing is sick. A rank that dies then is found, so they do look."""
    with Job(programs, "computes_at_the_same_time", SURVIVORS) as job:
        pid = job.start()[3]
        begun = job.calls(2)
        job.until(lambda: job.calls(2) >= begun + 2, "the ranks do not go on")
        if said := job.verdicts():
            raise AssertionError(said)
        watch = job.until(job.watch, "the job is not watched")
        if not {"heads": 2, "watching": 2, "run": 1, "calls": True}.items() <= watch.items():
            raise AssertionError(watch)
        os.kill(pid, signal.SIGKILL)
        job.expect(fault="process_dead", node=1, rank=2)


def fails_store(programs):
    """The variables by which writes to the store of node 1 fail with EIO."""
    return lambda job: {"LD_PRELOAD": programs[3], "FAILING_STORE": f"{job.directory.name}/local/node0001",
                        "FAILING_STORE_NOW": f"{job.directory.name}/now"}  # fmt: skip


class RunJob(Job):
    """Under ckpt-run, which does not start it again."""

    def __init__(self, programs, kind, variables=None):
        super().__init__(programs, kind, variables=variables)
        forwarded = [f"-x {name}" for name in self.variables if name not in os.environ]
        self.command = ["timeout", "-s", "KILL", str(4 * LIMIT_S), programs[4], "--launcher", self.mpiexec,
                        "--mpi-options", " ".join(["--oversubscribe", "--bind-to none", *forwarded]), "-n", "4",
                        "--max-restarts", "0", "--config", str(self.config), "--", self.program, str(self.config),
                        kind]  # fmt: skip


def end_by_mpi(programs):
    """A process is killed, and MPI ends the job, before its heads have found out whose store fails."""
    job = RunJob(programs, "snapshots", fails_store(programs))
    rules = Path(job.directory.name, "sick.rules")
    right = job.tell("--default-rules")
    weight = "weight store_error 1.5"
    if weight not in right:
        raise AssertionError(right)
    # Too little for heads; until they read the rules again, which they do every 10 seconds.
    rules.write_text(right.replace(weight, "weight store_error 0.1"))
    job.config.write_text(job.config.read_text() + f"rules = {rules}\n")
    with job:
        job.start()
        Path(job.directory.name, "now").touch()
        spool = Path(job.directory.name, "local/node0000/sick/symptoms.json")
        job.until(lambda: spool.exists() and json.loads(spool.read_text())["symptoms"][0]["count"] > 1,
                  "no symptoms are kept")  # fmt: skip
        # MPI may take seconds to end the heads, which must not read the rules meanwhile.
        pids = job.processes()
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        rules.write_text(right)
        os.kill(pids[0], signal.SIGKILL)
        job.until(lambda: job.run.poll() is not None, "ckpt-run does not end")
        # The heads may have found out about the process.
        verdicts = [one for one in job.verdicts() if one["fault"] != "process_dead"]
        if [(one["fault"], one["node"], one["run"]) for one in verdicts] != [("undetermined", 1, 1)]:
            raise AssertionError(f"{verdicts}\n{job.output.read_text()}")
        if [seen["symptom"] for seen in verdicts[0]["evidence"]] != ["store_error"]:
            raise AssertionError(verdicts)
        if f"ckpt-run: {verdicts[0]['text']}" not in job.output.read_text():
            raise AssertionError(job.output.read_text())


def fail_store(programs):
    """Writes to the store of node 1 fail with EIO."""
    with Job(programs, "snapshots", variables=fails_store(programs)) as job:
        job.start()
        Path(job.directory.name, "now").touch()
        verdict = job.expect(fault="store_failing", node=1)
        if not verdict["probes"].get("state.store_failed", 0) > 0:
            raise AssertionError(verdict)
        job.tell("--clear")
        if job.verdicts():
            raise AssertionError("the verdicts are not forgotten")


def report(programs):
    """An operator reports a rank, in which no probe finds anything."""
    with Job(programs, "exchange") as job:
        job.start()
        job.tell("--report", "rank:2", "ECC errors in the log")
        verdict = job.expect(fault="undetermined", node=1, rank=2)
        if [seen.get("note") for seen in verdict["evidence"]] != ["ECC errors in the log"]:
            raise AssertionError(verdict)


def slow_down(programs):
    """A rank is stopped and continued all the time, as cpulimit does."""
    with Job(programs, "exchange") as job:
        pid = job.start()[4]
        over = threading.Event()

        def limit():
            while not over.wait(0.3):
                send(pid, signal.SIGSTOP)
                over.wait(0.3)
                send(pid, signal.SIGCONT)

        limiter = threading.Thread(target=limit)
        limiter.start()
        try:
            verdict = job.expect(fault="rank_slow", node=1, rank=3)
        finally:
            over.set()
            limiter.join()
        if verdict["probes"].get("log.held", 0) < 0.2:
            raise AssertionError(verdict)


def fill_store(programs):
    """The store of node 1 is small, and snapshots grow."""
    if os.geteuid() != 0:
        return print("fill_store: left out, since only root mounts a small file system")
    job = Job(programs, "growing_snapshots")
    place = Path(job.directory.name, "local", "node0001")
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], check=True)
    with job:
        try:
            verdict = job.expect(fault="store_full", node=1)
        finally:
            # Its processes still use it, but its directory can be removed.
            subprocess.run(["umount", "-l", place], check=True)
        if verdict["probes"].get("state.store_refused", 0) < 1:
            raise AssertionError(verdict)


def run_out_of_memory(programs):
    """The kernel ends a rank, since it takes too much memory."""
    if os.geteuid() != 0 or not Path("/sys/fs/cgroup/memory/cgroup.procs").exists():
        return print("run_out_of_memory: left out, since it needs root and control groups of version 1")
    with MemoryLimit() as limit, Job(programs, "hungry", SURVIVORS) as job:
        pid = job.start()[3]
        limit.take(pid)
        os.kill(pid, signal.SIGUSR1)
        verdict = job.expect(fault="process_dead", node=1, rank=2)
        if verdict["probes"].get("response.oom_kills", 0) < 1:
            raise AssertionError(verdict)


def silence_head(programs):
    """The head of node 1 is stopped, and goes on. Nobody can tell whether the node is down."""
    job = Job(programs, "exchange")
    job.config.write_text(job.config.read_text() + "silent_after = 5s\n")
    with job:
        pid = job.start()[5]
        os.kill(pid, signal.SIGSTOP)
        verdict = job.expect(fault="node_down", node=1)
        if verdict["probes"].get("response.answers") != 0:
            raise AssertionError(verdict)
        os.kill(pid, signal.SIGCONT)
        job.until(lambda: "node_down" not in [one["fault"] for one in job.verdicts()], "it is not withdrawn")


PLAYS = [stop_and_die, fail_store, end_by_mpi, go_mute, fall_asleep, hang, compute, report, slow_down, fill_store,
         run_out_of_memory, silence_head]  # fmt: skip


def main():
    programs, wanted = sys.argv[1:6], sys.argv[6:]
    names = [play.__name__ for play in PLAYS]
    if unknown := [name for name in wanted if name not in names]:
        sys.exit(f"health: no play {', '.join(unknown)}; there are {', '.join(names)}")
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    for play in PLAYS:
        if wanted and play.__name__ not in wanted:
            continue
        start = time.monotonic()
        play(programs)
        print(f"{play.__name__}: as it should be, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
