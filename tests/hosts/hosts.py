"""Hosts on one machine, for tests that lose them.

Each host is a set of namespaces: its own name, network address, processes, shared memory and node-local directory
(/local, in memory). The other file systems are those of this machine, as a cluster shares them. Hosts are joined by a
bridge in a namespace of its own, so nothing of this machine's network is touched. Needs root.

    with Hosts(["n1", "n2"]) as hosts:
        hosts.run("n1", ["hostname"])             # in a host
        hosts.front(["mpirun", ...])              # arguments to run a command beside them, where jobs are started
        hosts.cut("n1")                           # its link goes down
        hosts.kill("n2")                          # all its processes die at once, and its memory is lost

Programs reach a host by `hosts.agent`, a command that takes ssh's arguments.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

NETWORK = "10.77.0"
SUBNET = NETWORK + ".0/24"
FRONT = "front"
LIMIT_S = 20

# The first process of a host. It must reap what is left behind, or dead daemons would look alive.
INIT = """
import os, signal, subprocess, sys
subprocess.run("mount --make-rprivate / && mount -t proc proc /proc && mkdir -p /local && mount -t tmpfs local /local"
               " && mount -t tmpfs shm /dev/shm", shell=True, check=True)
print("up", flush=True)
while True:
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        signal.sigtimedwait([signal.SIGCHLD], 1)
"""

# Like ssh: options, a host, a command. A host whose link is down does not answer.
AGENT = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -[bceiFIJlmOopQRSwW]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
pid=$(cat "{directory}/$host.pid" 2>/dev/null) || {{ echo "$host: no such host" >&2; exit 255; }}
# Nobody listens there, so a host that is up refuses at once.
case $(timeout 2 bash -c ": </dev/tcp/$(cat "{directory}/$host.address")/1" 2>&1) in
  *refused*) ;;
  *) echo "$host does not answer" >&2; exit 255 ;;
esac
exec nsenter -t "$pid" -r -w -m -u -i -n -p -- env TMPDIR=/dev/shm sh -c "$*"
"""


class Hosts:
    def __init__(self, names):
        self.names = list(names)
        self.directory = tempfile.mkdtemp(prefix="cairn-hosts-")
        self.agent = os.path.join(self.directory, "agent")
        self.processes = {}
        self.switch = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in [*self.processes.values(), self.switch]:
            if process is not None:
                process.kill()
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def address(self, name):
        return f"{NETWORK}.{1 + self.names.index(name) if name in self.names else 100}"

    def run(self, name, command, **options):
        """Runs a command in a host and returns what subprocess.run() does."""
        return subprocess.run(self._enter(name) + command, timeout=LIMIT_S, **options)

    def front(self, command):
        """The arguments that run a command on the front end, which has a network address and holds no ranks."""
        return self._enter(FRONT) + command

    def cut(self, name):
        self._in_switch(f"ip link set to-{name} down")

    def mend(self, name):
        self._in_switch(f"ip link set to-{name} up")

    def thin(self, name, rate):
        """Limits what the host sends and receives to a rate, as tc writes it."""
        limit = f"root tbf rate {rate} burst 64kb latency 200ms"
        self._in_switch(f"tc qdisc replace dev to-{name} {limit}")
        with open(f"{self.directory}/{name}.pid", encoding="utf-8") as file:
            subprocess.run(["nsenter", "-t", file.read(), "-n", "sh", "-c", f"tc qdisc replace dev net0 {limit}"],
                           check=True, timeout=LIMIT_S)  # fmt: skip

    def lose(self, name, percent):
        """Loses so many of the packets that the host receives, and of those that it sends."""
        rules = "".join(f"chain {hook} {{\ntype filter hook {hook} priority 0; policy accept;\n"
                        f"numgen random mod 100 < {percent} drop\n}}\n" for hook in ("input", "output"))  # fmt: skip
        with open(f"{self.directory}/{name}.pid", encoding="utf-8") as file:
            subprocess.run(["nsenter", "-t", file.read(), "-n", "nft", "-f", "-"], check=True, timeout=LIMIT_S, text=True,
                           input=f"table inet loss {{\n{rules}}}\n")  # fmt: skip

    def kill(self, name):
        """The host is gone: the first process of a process namespace takes all others along."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def start(self, name):
        process = subprocess.Popen(self._unshare(name), stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.processes[name] = process
        if process.stdout.readline() != "up\n":
            raise RuntimeError(f"{name} did not come up")
        pid = self._first_process(process.pid) if name != FRONT else process.pid
        with open(f"{self.directory}/{name}.pid", "w", encoding="utf-8") as file:
            file.write(str(pid))
        with open(f"{self.directory}/{name}.address", "w", encoding="utf-8") as file:
            file.write(self.address(name))
        self._plug_in(name, pid)

    def number_here(self, name, number):
        """The number, in this namespace of processes, of a process that has that one on a host; None if it is gone."""
        with open(f"{self.directory}/{name}.pid", encoding="utf-8") as file:
            there = os.readlink(f"/proc/{file.read()}/ns/pid")
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/ns/pid") != there:
                    continue
                with open(f"/proc/{process}/status", encoding="utf-8") as file:
                    numbers = next(line for line in file if line.startswith("NSpid:")).split()
            except OSError:
                continue
            if int(numbers[-1]) == number:
                return int(process)
        return None

    @staticmethod
    def trouble():
        """Why this machine cannot have hosts, or nothing."""
        kinds = ["--net", "--uts", "--mount", "--ipc", "--pid", "--fork"]
        made = subprocess.run(["unshare", *kinds, "true"], capture_output=True, text=True, check=False)
        return f"hosts are namespaces, and none can be made here: {made.stderr.strip()}" if made.returncode else ""

    @staticmethod
    def trouble_of_loss():
        """Why packets cannot be lost here, or nothing."""
        rule = "table inet t { chain c { numgen random mod 2 < 1 drop; }; }"
        if not shutil.which("nft"):
            return "there is no nft; install nftables"
        made = subprocess.run(["unshare", "--net", "nft", "--check", rule], capture_output=True, text=True, check=False)
        return f"this kernel has no such rule: {made.stderr.strip()}" if made.returncode else ""

    def _start(self):
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(directory=self.directory))
        os.chmod(self.agent, 0o755)
        self.switch = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        deadline = time.monotonic() + LIMIT_S
        while os.readlink(f"/proc/{self.switch.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            if time.monotonic() > deadline:
                raise TimeoutError("no network namespace came up")
            time.sleep(0.01)
        self._in_switch("ip link add hosts type bridge && ip link set hosts up && ip link set lo up")
        for name in [FRONT, *self.names]:
            self.start(name)

    @staticmethod
    def _unshare(name):
        set_name = f"hostname {shlex.quote(name)}; "
        if name == FRONT:
            # Processes of the other hosts must be visible from here for the agent to enter them.
            return ["unshare", "--net", "--uts", "sh", "-c", set_name + "echo up; exec sleep infinity"]
        init = f"{set_name}exec {shlex.quote(sys.executable)} -c {shlex.quote(INIT)}"
        kinds = ["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child=KILL"]
        return ["unshare", *kinds, "sh", "-c", init]

    @staticmethod
    def _first_process(parent):
        with open(f"/proc/{parent}/task/{parent}/children", encoding="utf-8") as file:
            return int(file.read().split()[0])

    def _plug_in(self, name, pid):
        self._in_switch(f"ip link add to-{name} type veth peer name net0 netns {pid} && "
                        f"ip link set to-{name} master hosts up")
        inside = f"ip address add {self.address(name)}/24 dev net0 && ip link set net0 up && ip link set lo up"
        subprocess.run(["nsenter", "-t", str(pid), "-n", "sh", "-c", inside], check=True, timeout=LIMIT_S)

    def _in_switch(self, command):
        subprocess.run(["nsenter", "-t", str(self.switch.pid), "-n", "sh", "-c", command], check=True, timeout=LIMIT_S)

    def _enter(self, name):
        with open(f"{self.directory}/{name}.pid", encoding="utf-8") as file:
            pid = file.read()
        kinds = ["-n", "-u"] if name == FRONT else ["-r", "-w", "-m", "-u", "-i", "-n", "-p"]
        return ["nsenter", "-t", pid, *kinds, "--"]
