#!/usr/bin/env python3
"""An error is one line of the log, which names the thing and says what would be right, and the job ends.

    one_error.py MPIEXEC CKPT_RUN PROGRAM...

Each program makes the mistakes below on four ranks, under mpirun and under ckpt-run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from facts import has_thing  # noqa: E402

LIMIT_S = 120
RANKS = 4
CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 1
"""
# The mistake, and what the one line has to name.
IN_THE_INI = [("[job]\nnam = x\n", ["job.ini:7", "[job] nam", "name"]),
              ("[storage]\nglobal = /proc/nowhere\n", ["/proc/nowhere"])]  # fmt: skip
BY_ARGUMENT = [("region", ["other float64[1000]", "state float64[1000]"]),
               ("usage", ["nothing", "state float64[1000]"])]  # fmt: skip
# What the program itself throws.
IN_CPP = [("all", ["all ranks have had enough"]), ("one", ["rank 1", "this rank has had enough"])]
# What the function that cairn_run calls returns.
IN_RUN = [("result", ["17"]), ("result-of-one", ["rank 1", "18"]), ("error-of-one", ["rank 1", "nothing"]),
          ("null", ["cairn_run", "NULL"])]  # fmt: skip


class Job:
    def __init__(self, directory, program, launcher):
        self.directory = directory
        self.program = program
        self.launcher = launcher
        self.heads = "ckpt-run" in launcher[0]

    def run(self, ini, mistake="", ranks=RANKS):
        config = CONFIG.format(directory=self.directory)
        if ini.startswith("[storage]"):  # a key is given once
            config = "\n".join(line for line in config.splitlines() if not line.startswith("global")) + "\n"
        (self.directory / "job.ini").write_text(config + ini)
        command = [*self.launcher, "-n", str(ranks), *(["--"] if self.heads else []), self.program, mistake]
        done = subprocess.run(command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)  # fmt: skip
        return done.returncode, done.stdout

    def must_end_with(self, things, ini="", mistake="", ranks=RANKS):
        code, output = self.run(ini, mistake, ranks)
        # What ckpt-run sees itself it says itself, and starts nothing.
        prefix = "ckpt-run: " if self.heads and ini else "cairn: error: "
        errors = [line for line in output.splitlines() if line.startswith(prefix)]
        if code == 0 or len(errors) != 1 or not all(has_thing(errors[0], thing) for thing in things):
            sys.exit(f"{self.program} {mistake}: should end with one line that names {things}\n{output}")


def main():
    mpiexec, ckpt_run, *programs = sys.argv[1:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    launchers = [[mpiexec, "--oversubscribe", "--bind-to", "none"],
                 [ckpt_run, "--max-restarts", "0", "--config", "job.ini"]]  # fmt: skip
    for program in programs:
        for launcher in launchers:
            with tempfile.TemporaryDirectory(prefix="cairn-error-") as name:
                job = Job(Path(name), program, launcher)
                for ini, things in IN_THE_INI:
                    job.must_end_with(things, ini)
                shutil.rmtree(job.directory / "local", ignore_errors=True)
                shutil.rmtree(job.directory / "global", ignore_errors=True)
                job.run("", "die")
                of_program = IN_CPP if program.endswith("cpp") else IN_RUN if program.endswith("run") else []
                for mistake, things in BY_ARGUMENT + of_program:
                    job.must_end_with(things, mistake=mistake)
                job.must_end_with(["4 ranks", "2"], ranks=2)
        print(f"{Path(program).name}: one line for each error", flush=True)


if __name__ == "__main__":
    main()
