#!/usr/bin/env python3
"""Runs heat with a key ([integrity] key_file): under ckpt-run and without, looked at by ckpt-tool, with the key taken away,
exchanged, and with another one on one of the nodes; and looks for key and data in everything that is told or traced.

    key.py HEAT CKPT_RUN CKPT_TOOL MPIEXEC
"""

import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from facts import lines_that_name  # noqa: E402

LIMIT_S = 100

CONFIG = """[job]
name = heat
[storage]
local = {work}/local
global = {work}/global
[levels]
l1 = every 5
l2 = every 5
l3 = off
l4 = every 10
[head]
mode = rank
[topology]
node_size = 2
[restart]
at_end = continue
[integrity]
key_file = key
[log]
level = debug
trace = {work}/trace.json
"""


def run(command, cwd, wanted=(0,), **variables):
    command = ["timeout", "-s", "KILL", str(LIMIT_S), *map(str, command)]
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **variables}, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode(errors="replace")
    if wanted != "error" and done.returncode not in wanted:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{said}")
    if wanted == "error" and done.returncode == 0:
        raise AssertionError(f"{command} went well\n{said}")
    return said


def expect(text, *things):
    if not lines_that_name(text, *things):
        raise AssertionError(f"no line names {things}:\n{text}")


def make_key(path, key):
    path.write_bytes(key)
    path.chmod(0o600)


class Job:
    def __init__(self, work, programs):
        self.work = work
        self.heat, self.ckpt_run, self.ckpt_tool, self.mpiexec = programs
        self.key = b"the key that nobody may see anywhere, ever"
        self.said = ""
        make_key(work / "key", self.key)
        (work / "heat.ini").write_text(CONFIG.format(work=work))

    def program(self, steps):
        return [self.heat, "--size", "61", "--width", "47", "--steps", str(steps), "--config", self.work / "heat.ini",
                "--output", self.work / "plate.bin"]  # fmt: skip

    def mpirun(self, steps, wanted=(0,), second_half=None, **variables):
        """Four ranks on two nodes; the second node's may start in another directory."""
        options = [self.mpiexec, "--oversubscribe", "--bind-to", "none"]
        command = [*options, "-n", "4", *self.program(steps)]
        if second_half:
            command = [*options, "-n", "2", *self.program(steps), ":", "-n", "2", "-wdir", second_half,
                       *self.program(steps)]  # fmt: skip
        self.said += (said := run(command, self.work, wanted, **variables))
        return said

    def tool(self, *arguments, wanted=(0,)):
        self.said += (said := run([self.ckpt_tool, *arguments], self.work, wanted))
        return said


def goes_on_with_the_key(job):
    job.said += run([job.ckpt_run, "-n", "2", "--config", job.work / "heat.ini", "--mpi-options",
                     "--oversubscribe --bind-to none", "--", *job.program(20)], job.work)  # fmt: skip
    expect(job.mpirun(40), "version 4", "L1")
    job.tool("verify", "--config", job.work / "heat.ini")
    places = ["--local", job.work / "local", "--global", job.work / "global", "--job", "heat"]
    without_key = json.loads(job.tool("verify", "--json", *places, wanted=(2,)))["summary"]
    if without_key["untrusted"] == 0 or without_key["damaged"] > 0:
        raise AssertionError(f"files with a key should be untrusted: {without_key}")
    job.tool("verify", *places, "--key-file", job.work / "key")


def refuses_other_keys(job):
    expect(job.mpirun(60, "error", CAIRN_INTEGRITY_KEY_FILE=""), "[integrity] key_file")
    make_key(job.work / "other", b"another key, which is as long as it must be")
    expect(job.mpirun(60, "error", CAIRN_INTEGRITY_KEY_FILE="other"), "[integrity] key_file", "[job] name")
    (job.work / "node1").mkdir()
    make_key(job.work / "node1" / "key", b"another key, which is as long as it must be")
    expect(job.mpirun(60, "error", second_half=job.work / "node1"), "[integrity] key_file", "node 1", "node 0")
    (job.work / "key").chmod(0o640)
    expect(job.mpirun(60, "error"), "[integrity] key_file", "key", "640", "600")
    (job.work / "key").chmod(0o600)
    expect(job.mpirun(60), "version 8", "L1")


def all_forms(secret):
    return [secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)]


def tells_neither_key_nor_data(job):
    traces = list(job.work.glob("trace.*"))
    if not traces or "debug" not in (job.work / "heat.ini").read_text():
        raise AssertionError(f"no traces in {list(job.work.iterdir())}")
    plate = (job.work / "plate.bin").read_bytes()
    numbers = {number for (number,) in struct.iter_unpack("<d", plate[: len(plate) // 8 * 8]) if number not in (0, 1, 100)}
    data = [struct.pack("<d", number) for number in sorted(numbers)[:200]]
    texts = [repr(number).encode() for number in sorted(numbers)[:200] if len(repr(number)) > 8]
    places = {"what was said": job.said.encode()} | {str(trace): trace.read_bytes() for trace in traces}
    stores = [path for place in ("local", "global") for path in (job.work / place).rglob("*") if path.is_file()]
    for place, held in places.items():
        for secret in all_forms(job.key) + data + texts:
            if secret in held:
                raise AssertionError(f"{place} has {secret!r}")
    for path in stores:
        for secret in all_forms(job.key):
            if secret in path.read_bytes():
                raise AssertionError(f"{path} has the key")
    if not any(number in path.read_bytes() for path in stores if path.suffix == ".shard" for number in data):
        raise AssertionError("the data that was looked for is in no shard: it could not have been found")


def main():
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    with tempfile.TemporaryDirectory(prefix="cairn-key-", dir="/tmp") as name:
        job = Job(Path(name), sys.argv[1:])
        goes_on_with_the_key(job)
        refuses_other_keys(job)
        tells_neither_key_nor_data(job)
    print("heat ran with a key, and nobody else's files were taken")


if __name__ == "__main__":
    main()
