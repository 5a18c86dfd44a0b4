#!/usr/bin/env python3
"""ckpt-run brings jobs of a real Slurm through failures: started by srun itself, and in an allocation of two nodes.

    slurm.py BIN CKPT_RUN

BIN has the examples, built with Debian's Open MPI, which srun starts by PMIx. Slurm is Debian's, with three nodes of
one machine, in namespaces of the test's own: its daemons, its files and its network are gone with the test, however
that ends. Needs root.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from any_launcher import (RANKS, STEPS, STRIKES, Jobs, ends_a_launcher_that_stays, play, strike,
                          wait_until_a_node_may_be_lost)  # fmt: skip
from ckpt_run import fail

FRONT = "s0"  # ckpt-run runs here, beside the first slurmd: srun's tasks are no children of srun there
NODES = [FRONT, "s1", "s2"]
DOMAIN = "cairn.test"  # in its host name, and not in what Slurm calls it
ADDRESS = "10.77.1.1"
ROOT = Path("/dev/shm/slurm")  # of the test's own namespace
LIMIT_S = 60
PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "salloc", "scancel", "sinfo", "squeue"]
NAMESPACES = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]

# A node is given to one job at a time: what is left of one is in the way of the next.
CONFIG = """ClusterName=cairn
SlurmctldHost={front}({address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/%n.log
TmpFS={root}/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MailProg=/bin/true
MpiDefault=none
KillWait=2
"""


def trouble():
    """Why this machine cannot have a Slurm, or nothing."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"{', '.join(missing)} not found: tools/install-packages.sh"
    made = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces can be made here: {made.stderr.strip()}" if made.returncode else ""


def play_in_namespaces():
    """Takes the place of this process: whoever kills it kills all that is in there."""
    os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, __file__, "--inside", *sys.argv[1:]])


class Slurm:
    """In namespaces that hold nothing else. Stops only with them."""

    def __init__(self):
        run("mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && "
            f"ip address add {ADDRESS}/32 dev lo && hostname {FRONT}.{DOMAIN}")  # fmt: skip
        for directory in ["state", *NODES]:
            (ROOT / directory).mkdir(parents=True)
        (ROOT / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {FRONT}.{DOMAIN} {' '.join(NODES)}\n")
        run(f"mount --bind {ROOT}/hosts /etc/hosts")
        key = ROOT / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        (ROOT / "slurm.conf").write_text(self.config())
        os.environ.update(SLURM_CONF=f"{ROOT}/slurm.conf", TMPDIR=str(ROOT), OMPI_MCA_btl_tcp_if_include="lo",
                          OMPI_MCA_mpi_yield_when_idle="1")  # fmt: skip
        self.log = open(ROOT / "daemons.log", "w", encoding="utf-8")
        self.daemons = []
        self.start("munged", "--foreground", f"--key-file={key}", f"--socket={ROOT}/munge.socket",
                   f"--pid-file={ROOT}/munged.pid", f"--seed-file={ROOT}/munged.seed", f"--log-file={ROOT}/munged.log")  # fmt: skip
        self.wait_for("munged's socket", (ROOT / "munge.socket").exists)
        self.start("slurmctld", "-D")
        for node in NODES:
            name = f"{node}.{DOMAIN}" if node == FRONT else node
            self.start("unshare", "--uts", "sh", "-c", f"hostname {name} && exec slurmd -D -N {node}")
        self.wait_until_idle()

    @staticmethod
    def config():
        lines = [CONFIG.format(root=ROOT, front=FRONT, address=ADDRESS)]
        for port, node in enumerate(NODES, start=17001):
            lines.append(f"NodeName={node} NodeHostname={node} NodeAddr={ADDRESS} Port={port} CPUs=1\n")
        lines.append(f"PartitionName=all Nodes={','.join(NODES)} Default=YES\n")
        return "".join(lines)

    def start(self, *command):
        self.daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log))

    def wait_until_idle(self):
        """Also: nobody has left an allocation behind."""
        states = ["sinfo", "--noheader", "--Node", "--format=%T"]
        self.wait_for("all nodes to be idle", lambda: answer(states).split() == ["idle"] * len(NODES))
        if queue := answer(["squeue", "--noheader"]):
            fail(f"jobs of Slurm are left: {queue}")

    def wait_for(self, what, is_there):
        deadline = time.monotonic() + LIMIT_S
        while not is_there():
            ended = [daemon.args for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "".join(f"{log.name}:\n{log.read_text()[-2000:]}" for log in ROOT.glob("*.log"))
                fail(f"waited for {what}; ended: {ended}", f"{answer(['sinfo'])}\n{answer(['squeue'])}\n{logs}")
            time.sleep(0.05)


def run(command):
    subprocess.run(["sh", "-c", command], check=True, timeout=LIMIT_S)


def answer(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False).stdout.strip()


def is_not_ended_at_the_start_limit(job):
    job.start("--start-limit", "5s", ranks=RANKS, pause_ms=7000 // STEPS)
    if "restart" in job.end(0):
        fail("a healthy job was ended", job.output)
    print("a healthy job outlived the start limit", flush=True)


def survives_in_an_allocation(make_job):
    front = ["salloc", "--quiet", "--nodelist=s1,s2"]
    calm = make_job("calm in an allocation", front=front).start(ranks=RANKS, pause_ms=0)
    calm.end(0)
    job = make_job("a node of an allocation", front=front).start("--grace", "1s", ranks=RANKS, pause_ms=10)
    strike(job, *STRIKES["a node, with its store"])
    output = job.end_of_second_life("on 2 simulated nodes of 2 hosts")
    if "lost:" in output or job.plate.read_bytes() != calm.plate.read_bytes():
        fail("the plate differs, or a host was taken for lost", output)
    ends_a_launcher_that_stays(make_job("stays in an allocation", front=front))
    print("same plate after the loss of a node in an allocation", flush=True)


def continues_on_the_nodes_that_are_left(slurm, make_job):
    """Slurm takes a node away, and ckpt-run has no spare one."""
    calm = make_job("calm with a range of ranks").start(ranks=RANKS, pause_ms=0)
    calm.end(0)
    front = ["salloc", "--quiet", "--no-kill", "--nodelist=s1,s2"]
    job = make_job("fewer ranks", front=front)
    job.start("--grace", "1s", "--agent-limit", "5s", ranks=f"2:{RANKS}", pause_ms=20)
    wait_until_a_node_may_be_lost(job)
    run("scontrol update NodeName=s2 State=DOWN Reason=test")
    shutil.rmtree(job.directory / "local" / "node0001", ignore_errors=True)
    job.end_of_second_life("lost: s2; restart 1: 2 application ranks", f"of {RANKS} ranks restored on 2")
    if job.plate.read_bytes() != calm.plate.read_bytes():
        fail("the plate of fewer ranks differs", job.output)
    run("scontrol update NodeName=s2 State=RESUME")
    slurm.wait_until_idle()
    print("same plate on the nodes that were left", flush=True)


def play_inside(bin_directory, ckpt_run):
    slurm = Slurm()
    heat = Path(bin_directory) / "heat"
    options = ["--launcher", "srun", "--mpi-options", "--mpi=pmix"]
    plugins = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    if "pmix" not in (plugins.stdout + plugins.stderr).split():
        fail("this Slurm has no plugin for PMIx, by which Open MPI is started", plugins.stdout + plugins.stderr)
    with Jobs(ROOT, heat, ckpt_run, options) as make_job:
        play(bin_directory, make_job, ["the node of the first rank, with its store"])
        is_not_ended_at_the_start_limit(make_job("healthy"))
        survives_in_an_allocation(make_job)
        continues_on_the_nodes_that_are_left(slurm, make_job)
    slurm.wait_until_idle()


def main():
    start = time.monotonic()
    if sys.argv[1] == "--inside":
        play_inside(*[str(Path(name).resolve()) for name in sys.argv[2:]])
        print(f"slurm: {time.monotonic() - start:.0f} s")
    elif why := trouble():
        print(f"slurm: NOT TESTED: {why}", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") else 77)
    else:
        play_in_namespaces()


if __name__ == "__main__":
    main()
