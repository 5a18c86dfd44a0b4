#!/usr/bin/env python3
"""Two users run heat at once on one machine, with [storage] local left at its default, and do not meet.

    two_users.py HEAT MPIEXEC

Must be started by root, who can act as both.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST_USER = 1_500_000_000  # and up: nobody's
LIMIT_S = 120

# Node stores are simulated ones: their directories lie in the default place.
CONFIG = """[job]
name = heat
[storage]
global = global
[levels]
l1 = every 5
l2 = every 10
l3 = off
l4 = off
[head]
mode = rank
[topology]
node_size = 2
[restart]
at_end = continue
"""


class User:
    def __init__(self, number, work, heat, mpiexec):
        self.number = number
        self.directory = work / str(number)
        self.directory.mkdir()
        (self.directory / "heat.ini").write_text(CONFIG)
        os.chown(self.directory, number, number)
        self.stores = Path(f"/dev/shm/cairn-{number}")
        command = ["timeout", "-s", "KILL", str(LIMIT_S), mpiexec, "--oversubscribe", "--bind-to", "none", "-n", "4",
                   str(heat), "--size", "61", "--width", "47", "--steps", "40", "--config", "heat.ini",
                   "--output", "plate.bin", "--pause-ms", "20"]  # fmt: skip
        environment = dict(os.environ, HOME=str(self.directory), TMPDIR=str(self.directory))
        self.process = subprocess.Popen(command, cwd=self.directory, env=environment, user=number, group=number,
                                        extra_groups=[], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)  # fmt: skip

    def end(self):
        output, _ = self.process.communicate()
        if self.process.returncode != 0:
            raise AssertionError(f"user {self.number}: exit code {self.process.returncode}\n{output}")
        for node in ["node0000", "node0001"]:
            if not list((self.stores / node / "heat").glob("v*/rank*.shard")):
                raise AssertionError(f"{self.stores}/{node}/heat holds no shards\n{output}")
        if self.stores.stat().st_mode & 0o7777 != 0o700 or self.stores.stat().st_uid != self.number:
            raise AssertionError(f"{self.stores} is not its user's alone: {self.stores.stat()}")
        return (self.directory / "plate.bin").read_bytes()


def main():
    heat, mpiexec = sys.argv[1:]
    if os.geteuid() != 0:
        sys.exit("this test acts as two users and must run as root")
    users = []
    with tempfile.TemporaryDirectory(prefix="cairn-users-", dir="/tmp") as name:
        work = Path(name)
        work.chmod(0o755)
        program = work / "heat"  # the build directory may be closed to others
        shutil.copy(heat, program)
        program.chmod(0o755)
        try:
            for i in range(2):
                users.append(User(FIRST_USER + 2 * os.getpid() + i, work, program, mpiexec))
            plates = [user.end() for user in users]
        finally:
            for user in users:
                if user.process.poll() is None:
                    user.process.kill()
                    user.process.wait()
                shutil.rmtree(user.stores, ignore_errors=True)
    if plates[0] != plates[1]:
        raise AssertionError("the two users' plates differ")
    print("two users ran heat at once")


if __name__ == "__main__":
    main()
