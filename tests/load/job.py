"""A job of load_program: its directories, its processes, one life at a time. Everything is removed with it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from processes import descendants, is_alive, program_of, send  # noqa: E402

SPARE_S = 1800  # that a life may take beyond its pauses
CONFIG = """[job]
name = load
[storage]
local = {local}
global = {globe}
keep_local = {keep}
keep_global = {keep}
[levels]
l1 = every {l1}
l2 = every {l2}
l3 = every {l3}
l4 = every {l4}
[head]
mode = rank
[partner]
rotation = {keep}
[erasure]
group = 4
parity = 1
[topology]
node_size = {sizes}
"""


class Job:
    def __init__(self, program, mpiexec, scenario):
        self.program = str(Path(program).resolve())
        self.mpiexec = mpiexec
        self.scenario = scenario
        self.launcher = None
        self.log = None
        self.scratch = Path(tempfile.mkdtemp(prefix="cairn-load-"))
        shared = Path("/dev/shm")
        self.memory = Path(tempfile.mkdtemp(prefix="cairn-load-", dir=shared if os.access(shared, os.W_OK) else None))
        self.local = (self.scratch if scenario.on_disk else self.memory) / "local"
        self.globe = self.scratch / "global"
        self.mpi = self.memory / "mpi"
        self.mpi.mkdir()
        self.config = self.scratch / "load.ini"
        self.config.write_text(CONFIG.format(local=self.local, globe=self.globe, keep=scenario.keep, **scenario.levels,
                                             sizes=",".join(map(str, scenario.sizes))))  # fmt: skip

    def start(self, expect, end):
        """A life, in which the step `expect` is to be restored, or none where it is 0."""
        for path in [self.scratch / "at", self.scratch / "said", *self.scratch.glob("go*")]:
            path.unlink(missing_ok=True)
        scenario = self.scenario
        limit = SPARE_S + 2 * scenario.steps * scenario.pause_ms // 1000
        command = ["timeout", "-s", "KILL", str(limit), self.mpiexec, "--oversubscribe", "--bind-to", "none",
                   "-n", str(sum(scenario.sizes)), self.program, "--config", str(self.config),
                   "--directory", str(self.scratch), "--steps", str(scenario.steps),
                   "--sample-every", str(scenario.sample_every), "--pause-ms", str(scenario.pause_ms),
                   "--expect", str(expect), "--end", end, *scenario.arguments]  # fmt: skip
        # What a killed job leaves of MPI's shall lie where it is removed.
        environment = dict(os.environ, TMPDIR=str(self.mpi), OMPI_MCA_btl_vader_backing_directory=str(self.mpi),
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_mpi_yield_when_idle="1")  # fmt: skip
        self.log = open(self.scratch / "log", "w+b")
        self.launcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
                                         env=environment, start_new_session=True)  # fmt: skip

    def processes(self):
        return sorted(pid for pid in descendants(self.launcher.pid) if program_of(pid) == self.program)

    def ranks(self):
        """Its processes, heads included, which must all be there."""
        pids = self.processes()
        if len(pids) != sum(self.scenario.sizes):
            raise RuntimeError(f"{len(pids)} processes of the job are there, should be {sum(self.scenario.sizes)}")
        return pids

    def wait_for_standstill(self):
        """What the ranks say; None once the job has ended."""
        while self.launcher.poll() is None:
            try:
                text = (self.scratch / "at").read_text()
                (self.scratch / "at").unlink()
                return text.split()
            except FileNotFoundError:
                time.sleep(0.005)
        return None

    def let_go(self, step):
        (self.scratch / f"go{step - self.scenario.sample_every}").unlink(missing_ok=True)
        (self.scratch / f"go{step}").touch()

    def said(self):
        """Lines of the first rank; and the end of what the job has printed."""
        path = self.scratch / "said"
        return path.read_text().splitlines() if path.exists() else []

    def printed(self):
        return (self.scratch / "log").read_text(errors="replace")[-4000:]

    def lose(self, nodes, copies_of):
        """Whole node stores; and, of other nodes, the copies that they hold for them."""
        for node in nodes:
            shutil.rmtree(self.local / f"node{node:04}")
        for node in copies_of:
            copies = list(self.local.glob(f"node*/load/v*/node{node:04}.rank*.copy"))
            if not copies:
                raise RuntimeError(f"there are no copies of node {node} to lose")
            for path in copies:
                path.unlink()

    def snapshots_left(self):
        """Directories of snapshots in node stores and in the global store."""
        return len(list(self.local.glob("node*/load/v*"))), len(list(self.globe.glob("load/v*")))

    def end(self):
        """Ends what is left of it."""
        if self.launcher is None:
            return
        left = [self.launcher.pid, *descendants(self.launcher.pid)]
        for pid in left:
            send(pid, signal.SIGTERM)  # mpirun ends its ranks, and removes what it has made
        deadline = time.monotonic() + 10
        while self.launcher.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in filter(is_alive, left):
            send(pid, signal.SIGKILL)
        self.launcher.wait()
        self.log.close()
        self.launcher = None

    def remove(self):
        self.end()
        for directory in (self.scratch, self.memory):
            shutil.rmtree(directory, ignore_errors=True)
