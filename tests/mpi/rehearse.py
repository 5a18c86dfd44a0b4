#!/usr/bin/env python3
"""ckpt-run --rehearse says whether the result of a program is the same after failures, and where it differs.

    rehearse.py REHEARSED CKPT_RUN CKPT_TOOL
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """[job]
name = mine
[storage]
local = {0}/local
global = {0}/global
[levels]
l2 = off
l3 = off
l4 = off
[head]
mode = inline
[restart]
at_end = continue
"""
LIMIT_S = 100


class Directory:
    def __init__(self, programs):
        self.program, self.ckpt_run, self.tool = programs
        self.directory = tempfile.TemporaryDirectory(prefix="cairn-rehearse-")
        self.root = Path(self.directory.name)
        self.config = self.root / "mine.ini"
        self.config.write_text(CONFIG.format(self.root))

    def run(self, kind, *options):
        """Exit code, and all that was said."""
        command = [self.ckpt_run, "-n", "3", *options, "--", self.program, kind, self.config]
        done = subprocess.run(["timeout", "-s", "KILL", str(LIMIT_S), *command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
        return done.returncode, done.stdout

    def expect(self, kind, options, code, *said, restarts=2):
        found, output = self.run(kind, "--rehearse", "--kills", "2", "--seed", "11", *options)
        missing = [words for words in said if words not in output]
        if found != code or missing or output.count("; restart ") != restarts:
            sys.exit(f"rehearse: {kind}: {found}, without {missing}\n{output}")
        if "found: " in output and kind not in ("fails", "never"):
            sys.exit(f"rehearse: {kind}: it has nothing to find\n{output}")
        if left := [path for path in self.root.rglob("*rehearsal*")]:
            sys.exit(f"rehearse: {kind} has left {left}")
        print(f"rehearse: {kind} {' '.join(options)}: as it should be", flush=True)
        return output

    def expect_finding(self, kind, *said):
        """Whatever the result is: it is found in the undisturbed run, and the file says so, too."""
        result = self.root / "result.json"
        code, output = self.run(kind, "--rehearse", "--kills", "2", "--seed", "11", "--json", result)
        found = json.loads(result.read_text())
        missing = [words for words in said if words not in output]
        if missing or found["same_result"] != (code == 0) or ("found: " in output) != bool(found["findings"]):
            sys.exit(f"rehearse: {kind}: without {missing}\n{output}\n{found}")
        result.unlink()
        kinds = [one["kind"] for one in found["findings"]]
        print(f"rehearse: {kind}: found {kinds}", flush=True)
        return kinds, found

    def findings(self):
        for kind, finding, said in [
            ("late", "protected_late", "found: rank 0 and 2 more: region before is protected after restore()"),
            ("early", "snapshot_before_restore", "found: rank 0 and 2 more: snapshot() is called before restore()"),
            ("unrestored", "no_restore", "found: rank 0 and 2 more: restore() is never called"),
            ("unfinished", "no_finalize", "found: rank 0 and 2 more: finalize() is not called"),
            ("leaves", "uneven_calls", "found: rank 1: 8 calls of snapshot(), but 9 on rank "),
            ("pending", "pending_requests", "found: rank 0: 1 request is pending in call 4 of snapshot(), from MPI_Irecv"),
            ("crossing", "crossing_messages", "found: rank 0: 1 message is sent to it before call 4 of snapshot()"),
        ]:
            kinds, _ = self.expect_finding(kind, said)
            # A rank that is left alone ends the job, before the others have called finalize().
            if kinds != [finding] and (kind, kinds) != ("leaves", [finding, "no_finalize"]):
                sys.exit(f"rehearse: {kind}: {kinds}")
        kinds, found = self.expect_finding("quiet", "longest time without a call of MPI or Cairn: ")
        if kinds or not found["same_result"] or found["longest_quiet_ms"] < 1000 or len(found["deaths"]) != 2:
            sys.exit(f"rehearse: quiet: {found}")
        kinds, found = self.expect_finding("swapped")
        if kinds or [one["region"] for one in found["differences"]] != ["before"] * 3 + ["now"] * 3:
            sys.exit(f"rehearse: swapped: {found}")

    def two_at_once(self):
        """Each has stores of its own."""
        options = ["--rehearse", "--kills", "2", "--seed", "11"]
        command = [self.ckpt_run, "-n", "2", *options, "--", self.program, "good", self.config]
        runs = [subprocess.Popen(["timeout", "-s", "KILL", str(LIMIT_S), *command], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for _ in range(2)]  # fmt: skip
        for run in runs:
            output, _ = run.communicate()
            if run.returncode != 0 or "the program has the same result after failures" not in output:
                sys.exit(f"rehearse: two at once: {run.returncode}\n{output}")
        print("rehearse: two at once do not disturb each other", flush=True)

    def snapshots(self):
        listed = subprocess.run([self.tool, "list", "--config", self.config, "--json"], stdout=subprocess.PIPE, check=False)
        return [one["version"] for one in json.loads(listed.stdout or "{}").get("snapshots", [])]


def main():
    at = Directory(sys.argv[1:4])
    # The job's own snapshots stay.
    code, output = at.run("good")
    mine = at.snapshots()
    if code != 0 or not mine:
        sys.exit(f"rehearse: {code}, {mine}\n{output}")
    deaths = "9 calls of snapshot(); deaths: rank "
    at.expect("good", [], 0, deaths, "the program has the same result after failures: 3 regions, 4812 bytes, equal bit by bit")
    if at.snapshots() != mine:
        sys.exit(f"rehearse: the job's own snapshots were {mine}, and are {at.snapshots()}")

    at.two_at_once()
    at.findings()

    no = "the program has another result after failures"
    at.expect("forgotten", [], 1, deaths, "region now of rank 0 differs in 100 of 100 elements: element 0 is ",
              "1 of 2 regions differ: now", "a variable that the result depends on is not protected", no)  # fmt: skip
    at.expect("swapped", [], 1, "2 of 3 regions differ: before, now", "cairn_protect_pointer", no)
    output = at.expect("drawn", [], 1, "region before of rank 0 differs in 1 of 100 elements: element 3 is ",
                       "two undisturbed runs differ, too", "random numbers")  # fmt: skip
    if no in output:
        sys.exit(f"rehearse: drawn: nothing is known about failures\n{output}")
    at.expect("rounded", [], 1, "region before of rank 0 differs in 1 of 100 elements: element 7 is ", no)
    at.expect("rounded", ["--tolerance", "1e-9"], 0, "the program has the same result after failures: 3 regions, 4812 bytes, equal within 1e-09")
    # Runs that end after some calls compare what is there then.
    ends = "ckpt-run: the run ends after 5 calls of snapshot()"
    five = "5 calls of snapshot(); deaths: rank "
    at.expect("endless", ["--calls", "5"], 0, ends, five, "the program has the same result after failures: 3 regions, 4812 bytes")
    at.expect("forgotten", ["--calls", "5"], 1, ends, five, "1 of 2 regions differ: now", no)
    at.expect("good", ["--calls", "500"], 0, deaths, "the program has the same result after failures")
    at.expect("once", [], 1, "the program has made one snapshot() call", restarts=0)
    at.expect("fails", [], 1, "the undisturbed run has failed: ckpt-run ended with code 1", restarts=1)
    at.expect("never", [], 1, "the program has left no snapshot (call snapshot() in its loop", restarts=0)
    at.expect("good", ["--config", "other.ini"], 2, "other.ini", restarts=0)
    at.expect("good", ["--tolerance", "-1"], 2, '"-1" is not a number from 0 to 1', restarts=0)
    at.expect("good", ["--kills", "0"], 2, "--kills", restarts=0)
    at.expect("good", ["--calls", "1"], 2, "--calls", restarts=0)
    at.expect("good", ["--from", "3"], 2, "--from is not for a rehearsal", restarts=0)
    code, output = at.run("good", "--seed", "3")
    if code != 2 or "--seed is for a rehearsal: add --rehearse" not in output:
        sys.exit(f"rehearse: {code}\n{output}")


if __name__ == "__main__":
    main()
