"""One run of heat under Open MPI 5 with ULFM, and what can be done to it: for the tests beside this file.

A Job is started in a directory of its own. It follows the job's output, so that it knows at any time which process is
what, and when the application goes on after a failure. Nothing outlives close().
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from processes import descendants, is_alive, send  # noqa: E402

SIZE = ["--size", "61", "--width", "47"]  # neither is a multiple of a number of ranks

FLAGS = ["--with-ft", "ulfm", "--oversubscribe", "--bind-to", "none",
         "--mca", "coll", "self,basic,tuned,libnbc,inter,ftagree",
         "--mca", "async_mpi_finalize", "1", "--mca", "mpi_yield_when_idle", "1",
         "--prtemca", "state_base_recoverable", "1"]  # fmt: skip
SPAWNS = ["--mca", "btl", "self,sm,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "btl_tcp_flags", "9"]
TRANSPORT = {"spares": ["--mca", "btl", "self,sm"], "respawn": SPAWNS, "restart": SPAWNS}

CONFIG = """[storage]
local = {local}
global = {directory}/global
[levels]
l1 = {l1}
l2 = {l2}
l3 = off
l4 = {l4}
{head}[topology]
node_size = {node_size}
[recovery]
mode = {mode}
spares = {spares}
{more}
[log]
level = debug
"""

ROLE = re.compile(r"process (\d+) is (a spare|head|rank \d+) on node (\S+) after (\d+) repairs")
ENTERS = re.compile(r"(?:exchanges|gradient|guarded|heat|swing|trouble|residual|world): (?:starts at step 0|continues at step \d+:)")


class Failed(Exception):
    pass


class MpirunCrashed(Failed):
    """Nothing that Cairn could do about: the job is over, and to be started again."""


class OverTooSoon(Failed):
    """The job came to its end before it was struck: to be played again, slower."""


class Job:
    running = []  # those that were not closed

    def __init__(self, heat, directory, mode, ranks, spares, node_size="0", steps=60, pause_ms=0, l1="every 5", l2="off",
                 l4="off", more="", program=None, arguments=None, launcher=None, local=None, options=()):  # fmt: skip
        self.mode = mode
        self.directory = Path(directory)
        self.directory.mkdir(exist_ok=True)
        self.plate = self.directory / "plate.bin"
        self.lock = threading.Condition(threading.RLock())
        self.roles = {}  # process → (role, node)
        self.lines = []
        self.entered = []  # when the application began, and when it went on after failures
        config = self.directory / "heat.ini"
        config.write_text(CONFIG.format(directory=directory, local=local or f"{directory}/local", mode=mode, spares=spares,
                                        node_size=node_size, l1=l1, l2=l2, l4=l4, more=more,
                                        head="" if launcher or "[head]" in more else "[head]\nmode = rank\n"))  # fmt: skip
        start = [*launcher, str(config), "--"] if launcher else [
            "mpirun", *FLAGS, *TRANSPORT[mode], *options, "-n", str(ranks + spares)]  # fmt: skip
        if arguments is None:
            arguments = ["--steps", str(steps), "--config", str(config), "--output", str(self.plate), "--pause-ms", str(pause_ms)]
        command = [*start, *(program or [heat, *SIZE]), *arguments]
        self.supervised = launcher is not None  # by ckpt-run, which starts it again when all its processes are gone
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                        cwd=directory)  # fmt: skip
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()
        Job.running.append(self)

    def follow(self):
        for line in self.process.stdout:
            with self.lock:
                now = time.monotonic()
                self.lines.append(f"{now:.3f} {line.rstrip()}")
                if found := ROLE.search(line):
                    self.learn(int(found[1]), found[2], found[3])
                if ENTERS.search(line):
                    self.entered.append(now)
                self.lock.notify_all()

    def learn(self, number, role, node):
        """What a process has said of itself."""
        self.roles[number] = (role, node)

    def wait_for(self, what, condition, limit_s=30):
        """Until the condition holds; False if the job ends before."""
        deadline = time.monotonic() + limit_s
        with self.lock:
            while not condition():
                if self.process.poll() == -signal.SIGSEGV:
                    raise MpirunCrashed("mpirun crashed")
                if self.is_through():
                    return condition()
                if time.monotonic() > deadline:
                    raise Failed(f"{what} took more than {limit_s} s")
                self.lock.wait(0.05)
        return True

    def wait_for_start(self):
        self.wait_for("the start", lambda: self.entered)

    def wait_for_entry_after(self, at):
        """Until the application goes on, after something that was done at that time."""
        return self.wait_for("to go on after a failure", lambda: self.entered and self.entered[-1] > at)

    def expect_entry_after(self, at):
        """The application goes on, after something that was done at that time."""
        if not self.wait_for_entry_after(at):
            raise self.ended("it did not go on")

    def ended(self, otherwise):
        """What to say of a job that ended before something was seen of it."""
        if self.plate.exists():
            return OverTooSoon("it was over before it was struck")
        return Failed(f"{otherwise}\n{self.output()}")

    def workers(self):
        """Live processes that are not spares."""
        with self.lock:
            return [pid for pid, (role, _) in self.roles.items() if role != "a spare" and is_alive(pid)]

    def says(self, text):
        with self.lock:
            return any(text in line for line in self.lines)

    def restarts(self):
        """By ckpt-run."""
        with self.lock:
            return sum("ckpt-run:" in line and "; restart " in line for line in self.lines)

    def output(self, last=120):
        with self.lock:
            return "\n".join(self.lines[-last:])

    def stacks(self):
        """Where its processes are, if there is a gdb here: for one that hangs."""
        text = subprocess.run(["ps", "-eo", "pid,ppid,stat,etimes,args"], stdout=subprocess.PIPE, text=True).stdout + "\n"
        live = {pid for pid in [*self.roles, *descendants(self.process.pid)] if is_alive(pid)}
        for pid in live if shutil.which("gdb") else []:
            done = subprocess.run(["timeout", "20", "gdb", "-batch", "-p", str(pid), "-ex", "bt 25"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
            frames = [line for line in done.stdout.splitlines() if line.startswith("#")]
            text += f"process {pid}, {self.roles.get(pid, ['no role'])[0]}:\n" + "\n".join(frames) + "\n"
        return text

    def is_through(self):
        """All of its processes have come to their end. mpirun of Open MPI 5.0 may stay after some had died."""
        with self.lock:
            if self.process.poll() is not None:
                return True
            return not self.supervised and bool(self.roles) and not any(is_alive(pid) for pid in self.roles)

    def finish(self, limit_s=120, patience_s=2):
        """Waits for the end, and so long for mpirun to see it. Beware: the plate need not be there."""
        self.wait_for("the end of the job", self.is_through, limit_s)
        if self.process.poll() == -signal.SIGSEGV and not self.plate.exists():
            raise MpirunCrashed("mpirun crashed")
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.close()
        self.reader.join(5)

    def find(self, role):
        """The process that has a role, as its log says it: "head", "rank 3"."""
        def found():
            return [pid for pid, (is_role, _) in self.roles.items() if is_role == role and is_alive(pid)]

        with self.lock:
            if not self.wait_for(f"{role} to say so", found):
                raise self.ended(f"there is no {role}")
            return found()[0]

    def close(self):
        if self in Job.running:
            Job.running.remove(self)
        if self.process.poll() is None:
            for pid in [*self.roles, *descendants(self.process.pid)]:
                send(pid, signal.SIGKILL)
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.reader.join(5)


def reference_plate(heat, directory, steps):
    """The plate of a run that nothing happens to."""
    directory = Path(directory)
    directory.mkdir()
    plate = directory / "plate.bin"
    config = directory / "heat.ini"
    config.write_text(f"[storage]\nlocal = {directory}/local\nglobal = {directory}/global\n[levels]\nl4 = off\n[head]\nmode = rank\n")
    subprocess.run(["timeout", "-s", "KILL", "60", "mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3", heat,
                    *SIZE, "--steps", str(steps), "--config", str(config), "--output", str(plate)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    return plate.read_bytes()


def report_sick(tool, job, what):
    """As an operator does who knows more than Cairn."""
    subprocess.run([tool, "health", "--config", str(job.directory / "heat.ini"), "--report", what, "its fan is loud"],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip


def kill_some(job, random_source: random.Random, count):
    """SIGKILL of `count` application ranks or heads at once; their number."""
    victims = job.workers()
    random_source.shuffle(victims)
    for pid in victims[:count]:
        send(pid, signal.SIGKILL)
    return len(victims[:count])
