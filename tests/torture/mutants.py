#!/usr/bin/env python3
"""Takes mendings out of Cairn, one by one, and sees whether torture, or the test that is named, finds what was wrong.

  tests/torture/mutants.py --check          each text that mendings.py names is in today's tree, exactly once
  tests/torture/mutants.py [WORDS...]       plays torture without each mending that it misses, and each test that has
                                            its executable named; or without each of these, which have such words
      --seeds N    at most (default: 10000)   --from SEED  the first one
      --minutes M  at most, each              --build DIR  keeps what was built there for the next time

Works in a copy. Ends with 1 if there is a mending that nothing misses.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from mendings import MENDINGS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEST_LIMIT = 300  # seconds


def check(root):
    """What is wrong with the list, in words."""
    problems = []
    for mending in MENDINGS:
        for edit in mending.edits:
            path = root / edit.file
            count = path.read_text(encoding="utf-8").count(edit.text) if path.is_file() else 0
            if count != 1:
                problems.append(f"{mending.without}: {edit.file} has this {count} times, should once:\n{edit.text}")
            if edit.text == edit.instead:
                problems.append(f"{mending.without}: nothing is changed in {edit.file}")
    return problems


def copy_tree(tree):
    """The files of the tree that this script is in, as they are; only those that differ, so that little is built."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        here, there = ROOT / name, tree / name
        if not here.is_file():
            there.unlink(missing_ok=True)
        elif not there.is_file() or here.read_bytes() != there.read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(here, there)


def build(tree, where, target):
    """Whether it was built; what the compiler says, if not."""
    if not (where / "build.ninja").is_file():
        ccache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_C_COMPILER_LAUNCHER=ccache"]
        subprocess.run(["cmake", "-S", tree, "-B", where, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCAIRN_WARNINGS_AS_ERRORS=OFF", *(ccache if shutil.which("ccache") else [])],
                       check=True, stdout=subprocess.DEVNULL)
    made = subprocess.run(["ninja", "-C", where, target], capture_output=True, text=True, check=False)
    return None if made.returncode == 0 else made.stdout[-2000:]


def play(torture, arguments):
    """The last line that torture says, and whether a seed has failed, which is what it is then."""
    command = [torture, "--from", arguments.first, "--seeds", arguments.seeds, "--minutes", arguments.minutes]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace", start_new_session=True) as process:
        last = ""
        try:
            for line in process.stdout:
                if " failed: " in line:
                    return line.strip(), True
                last = line.strip()
            return last, False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # its own session, in which it plays and shrinks


def run_test(program, name):
    """What a test says first of its failure, and whether it has failed, or has not ended in time."""
    command = [str(program), f"--gtest_filter=*{name}*", "--gtest_brief=1"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                               timeout=TEST_LIMIT)
    except subprocess.TimeoutExpired:
        return f"{name} does not end", True
    if ended.returncode == 0:
        return name, False
    said = [line.strip() for line in ended.stdout.splitlines() if "Which is:" in line or "FAILED" in line]
    return said[0] if said else f"{name} ends with {ended.returncode}", True


def try_without(mending, tree, where, arguments):
    """Whether torture, or the test, misses the mending."""
    originals = {edit.file: (tree / edit.file).read_text(encoding="utf-8") for edit in mending.edits}
    try:
        for edit in mending.edits:
            path = tree / edit.file
            path.write_text(path.read_text(encoding="utf-8").replace(edit.text, edit.instead), encoding="utf-8")
        trouble = build(tree, where, mending.test or "torture")
        if trouble:
            print(f"{mending.without}: DOES NOT BUILD\n{trouble}", flush=True)
            return False
        if mending.test:
            line, seen = run_test(where / "bin" / mending.test, mending.seen_by)
        else:
            line, seen = play(where / "bin" / "torture", arguments)
        print(f"{mending.without}: {'seen: ' if seen else 'NOT SEEN: '}{line}", flush=True)
        return seen
    finally:
        for name, text in originals.items():
            (tree / name).write_text(text, encoding="utf-8")


def run(arguments):
    wanted = [it for it in MENDINGS if any(words in it.without for words in arguments.words)]
    if not arguments.words:
        wanted = [it for it in MENDINGS if it.test or not it.seen_by]
    if not wanted:
        print("mutants: no mending has these words", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(arguments.build or scratch).resolve()
        copy_tree(place / "tree")
        missed = [try_without(mending, place / "tree", place / "build", arguments) for mending in wanted]
    print(f"mutants: {len(missed)} tried, {missed.count(True)} seen")
    return 0 if all(missed) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--build")
    arguments = parser.parse_args()
    for end in (signal.SIGINT, signal.SIGTERM):  # what was begun is ended then
        signal.signal(end, lambda number, _: sys.exit(128 + number))
    problems = check(ROOT)
    for problem in problems:
        print(f"mutants: {problem}", file=sys.stderr)
    if problems:
        return 1
    if arguments.check:
        print(f"mutants: {len(MENDINGS)} mendings, each as it is named")
        return 0
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
