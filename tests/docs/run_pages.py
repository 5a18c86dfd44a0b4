#!/usr/bin/env python3
"""Does what README.md and the pages of lib/doc say, as a reader would, each page in a directory of its own.

    run_pages.py BUILD SOURCE [PAGE]
    run_pages.py --home HOME SOURCE PAGE...     where HOME or the system has Cairn already

Blocks of a page, by their language and by the word behind it:

    ```cpp sim.cpp     is written to the file sim.cpp; c, fortran, python, ini and cmake likewise
    ```sh              runs, all blocks of a page in one shell
    ```sh install      is what installs Cairn: here, the build BUILD is installed in its place, by the prefix that the page
                       names. Lines of the block that begin with `export` run. What Open MPI needs on a small machine, or
                       as root, such a page has to say itself
    ```sh elsewhere    needs another machine: its commands are not run, but their options must exist
    ```text            the last commands print these lines, among others; "…" stands for what differs each time
    ```ini             without a name, a part of a configuration: ckpt-tool must accept it
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import anchors_of, blocks_of, links_of, pages

LIMIT_S = 240  # of a page
FILES = ("cpp", "c", "fortran", "python", "ini", "cmake")
TOOLS = ("ckpt-run", "ckpt-tool")
FIRST_SCREEN = 40  # lines
# What readers type, and the package of the group demo that has it.
PACKAGES = {"mpicxx": "g++", "mpifort": "gfortran", "mpicc": "libopenmpi-dev", "cmake": "cmake", "Ninja": "ninja-build",
            "pkg-config": "pkg-config", "pkill": "procps"}  # fmt: skip
# On a busy machine a job may take longer to start than a page waits before it kills a rank. Then it has no snapshot yet.
KILLS = (re.compile(r"\(sleep (\d+); pkill "), r"(sleep_until_snapshots \1; pkill ")
SLEEP_UNTIL_SNAPSHOTS = r"""
sleep_until_snapshots() {
  local begun first= newest
  begun=$(mktemp)
  sleep "$1"
  for _ in {1..1000}; do
    newest=$(find "$CAIRN_STORAGE_LOCAL" -newer "$begun" -name 'v[0-9]*' -printf '%f\n' 2>/dev/null | sort | tail -n 1)
    first=${first:-$newest}
    [[ $newest == "$first" ]] || break
    sleep 0.1
  done
}"""
problems = []


def problem(place, what):
    problems.append(f"{place}: {what}")


def run(*command, **how):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **how)  # fmt: skip


def allow_mpi_here():
    """What Open MPI needs on a small machine, or as root."""
    allowed = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_mpi_yield_when_idle": "1"}  # fmt: skip
    if os.getuid() == 0:
        allowed |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return allowed


class Reader:
    """Who follows a page: with a home of its own, where Cairn is installed."""

    def __init__(self, build, source, home):
        self.build, self.source, self.home = build, source, home
        self.env = {**os.environ, "HOME": str(home)}
        for name in allow_mpi_here():
            self.env.pop(name, None)
        self.env.pop("PKG_CONFIG_PATH", None)
        # Debian's Python, which has h5py, comes before others that the machine may have.
        (home / "bin").mkdir(exist_ok=True)
        (home / "bin" / "python3").unlink(missing_ok=True)
        (home / "bin" / "python3").symlink_to("/usr/bin/python3")
        self.env["PATH"] = f"{home}/bin:{os.environ['PATH']}"
        self.prefix = home / prefix_in(source / "README.md")
        self.helps = {}

    def install(self):
        shutil.rmtree(self.prefix, ignore_errors=True)
        done = run("cmake", "--install", self.build, "--prefix", self.prefix, timeout=LIMIT_S)
        if done.returncode != 0:
            sys.exit(f"the build cannot be installed:\n{done.stdout}")

    def help_of(self, words):
        key = tuple(words)
        if key not in self.helps:
            installed = self.prefix / "bin" / words[0]
            program = installed if installed.exists() else words[0]  # of the system
            self.helps[key] = run(program, *words[1:], "--help", timeout=LIMIT_S).stdout
        return self.helps[key]

    def script_of(self, blocks):
        lines = ["set -euo pipefail", "PKG_CONFIG_PATH=", SLEEP_UNTIL_SNAPSHOTS]
        if not any(is_install(block) for block in blocks):
            lines += [f"export PATH={self.prefix}/bin:$PATH", f"export PKG_CONFIG_PATH={self.prefix}/lib/pkgconfig"]
            lines += [f"export {name}={value}" for name, value in allow_mpi_here().items()]
        for number, block in enumerate(blocks):
            if block.language != "sh" or block.label == "elsewhere":
                continue
            lines.append(f"echo '@@ {number}'")
            lines.append("\n".join(exports_in(block)) if is_install(block) else re.sub(*KILLS, block.text))
        return "\n".join(lines) + "\n"

    def follow(self, page):
        blocks = blocks_of(page)
        directory = Path(tempfile.mkdtemp(prefix="page-", dir=self.home))
        # Node stores of its own, whatever a page's configuration names.
        self.env["CAIRN_STORAGE_LOCAL"] = f"{directory}-nodes"
        for block in blocks:
            if block.language in FILES and block.label:
                (directory / block.label).write_text(block.text)
            check_kind(block)
            if is_install(block):
                self.check_prefix(block)
        if any(is_install(block) for block in blocks):
            self.check_packages(blocks)
        script = directory.with_suffix(".sh")
        script.write_text(self.script_of(blocks))
        try:
            done = run("bash", script, cwd=directory, env=self.env, timeout=LIMIT_S, start_new_session=True)
        except subprocess.TimeoutExpired as error:
            problem(page, f"takes more than {LIMIT_S} s:\n{error.stdout}")
            return
        outputs = {int(part.split("\n", 1)[0]): part.split("\n", 1)[1]
                   for part in re.split(r"^@@ ", done.stdout, flags=re.MULTILINE)[1:]}  # fmt: skip
        if done.returncode != 0:
            last = blocks[max(outputs)].place() if outputs else page
            problem(last, f"a command ended with {done.returncode}:\n{done.stdout}")
            return
        self.compare(blocks, outputs)
        for block in blocks:
            if block.language == "sh" and block.label == "elsewhere":
                self.check_options(block)
            if block.language == "ini" and not block.label:
                self.check_ini(block, directory)
        print(f"{page.name}: {len(blocks)} blocks, {len(outputs)} of them ran", flush=True)

    def compare(self, blocks, outputs):
        """Each line that a page shows was printed by the commands before it."""
        for number, block in enumerate(blocks):
            if block.language != "text" or block.label:
                continue
            ran = [before for before in outputs if before < number]
            printed = outputs[max(ran)] if ran else ""
            for line in filter(str.strip, block.text.splitlines()):
                if not re.search(pattern_of(line), printed, flags=re.MULTILINE):
                    problem(block.place(), f"the commands before it do not print \"{line}\" but\n{printed}")

    def check_prefix(self, block):
        if prefix_in(block.page) != str(self.prefix.relative_to(self.home)):
            problem(block.place(), f"the prefix is another one than {self.prefix.relative_to(self.home)} of README.md")

    def check_packages(self, blocks):
        """The line that installs packages installs all that the page needs."""
        groups = (self.source / "tools" / "packages.txt").read_text()
        demo = re.findall(r"^[a-z0-9+.-]+", groups[groups.index("[demo]"):groups.index("[test]")], flags=re.MULTILINE)
        for block in blocks:
            for word in set(re.findall(r"[\w+-]+", block.text)) & set(PACKAGES) if block.language == "sh" else ():
                if PACKAGES[word] not in demo:
                    problem(block.place(), f"{word} needs {PACKAGES[word]}, which the group demo does not have")

    def check_options(self, block):
        for command in re.sub(r"\\\n", " ", block.text).splitlines():
            words = command.split("#")[0].split(" -- ")[0].split()
            for tool in TOOLS:
                if tool not in words:
                    continue
                words = words[words.index(tool):]  # fmt: skip
                name = words[:2] if tool == "ckpt-tool" and not words[1].startswith("-") else words[:1]
                for option in (word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)):
                    if not re.search(rf"(^|[\s,]){re.escape(option)}\b", self.help_of(name)):
                        problem(block.place(), f"{' '.join(name)} has no option {option}")

    def check_ini(self, block, directory):
        part = directory / "part.ini"
        part.write_text(block.text)
        done = run(self.prefix / "bin" / "ckpt-tool", "list", "--config", part, cwd=directory, env=self.env,
                   timeout=LIMIT_S)  # fmt: skip
        if "part.ini:" in done.stdout:
            problem(block.place(), f"this is no configuration: {done.stdout}")


def is_install(block):
    return block.language == "sh" and block.label == "install"


def exports_in(block):
    return [line for line in block.text.splitlines() if line.startswith("export ")]


def prefix_in(page):
    """Below the home directory."""
    return re.search(r"--prefix ~/(\S+)", page.read_text())[1]


def check_first_screen(source):
    """README.md names both commands where nobody has to scroll."""
    first = "\n".join((source / "README.md").read_text().splitlines()[:FIRST_SCREEN])
    for command in ("tools/demo.sh", "tools/test.sh"):
        if not re.search(rf"^{command}\b", first, flags=re.MULTILINE):
            problem(source / "README.md", f"the first {FIRST_SCREEN} lines have no command {command}")
        if not os.access(source / command, os.X_OK):
            problem(source / command, "cannot be run")


def check_kind(block):
    if block.language in ("text", *FILES) and " " not in block.label:
        return
    if block.language == "sh" and block.label in ("", "install", "elsewhere"):
        return
    problem(block.place(), f"a block of the kind '{block.language} {block.label}' is unknown")


def pattern_of(line):
    """The line as it may be printed at another time: "…" stands for what differs, and space between words may."""
    text = ".*".join(re.escape(part) for part in line.strip().split("…"))
    return re.sub(r"(\\ )+", r"[ \\t]+", text)


def check_links(source):
    for page in [*pages(source), *(source / ".github").glob("*.md"), *(source / "lib").rglob("[A-Z]*.md")]:
        for number, target in links_of(page):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                problem(f"{page}:{number}", f"there is no {target}")
            elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
                problem(f"{page}:{number}", f"there is no heading for {target}")


def check_keys(source):
    """A user who reads the pages meets each key of the configuration."""
    text = "\n".join(page.read_text() for page in pages(source))
    ini = source / "config" / "cairn.ini"
    for number, line in enumerate(ini.read_text().splitlines(), 1):
        key = re.match(r";(\w+) =", line)
        if key and not re.search(rf"(?<!\w){key[1]}(?!\w)", text):
            problem(f"{ini}:{number}", f"no page names the key {key[1]}")


def follow_all(reader, source, wanted):
    for page in pages(source):
        if page.name in wanted:
            reader.follow(page)


def main():
    if sys.argv[1] == "--home":
        home, source = Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
        follow_all(Reader(None, source, home), source, sys.argv[4:])
        return
    build, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wanted = sys.argv[3:] or [page.name for page in pages(source)]
    check_links(source)
    check_first_screen(source)
    check_keys(source)
    with tempfile.TemporaryDirectory(prefix="cairn-pages-") as home:
        reader = Reader(build, source, Path(home))
        reader.install()
        follow_all(reader, source, wanted)


main()
if problems:
    sys.exit("\n".join(problems))
