#!/usr/bin/env python3
"""The man pages and the bash completion of ckpt-run and ckpt-tool know the options that --help has, and no others.

    help_texts.py SOURCE CKPT_RUN CKPT_TOOL

In a man page, the options of a command are the tags of its section and of sections "Options of A, B and C" that name
it. The tags of OPTIONS itself are the tool's own options. Synopses and examples are compared as well. The completion is
run as bash runs it, without bash's start-up files.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_S = 20  # of one command; much more than it takes
NAME = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
OPTION = re.compile(r"\s+((?:-[\w-]+,?\s*)*-[\w-]+)(?: (\S.*?))?(?: {2}|$)")  # in --help: names, and a type
HELP = {"-h", "--help"}  # of every command; a page describes them once
OPTIONAL_VALUE = {"--watch"}  # --help does not say so
COMPLETE = r"""
source "$1"; shift
specification=$(complete -p "$1"); function=${specification##*-F }; function=${function%% *}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
"$function" "$1" "${@: -1}" "${@: -2:1}"
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
"""

mistakes = []


def run(*command, **how):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, timeout=LIMIT_S, **how)  # fmt: skip
    if done.returncode != 0 or done.stderr:
        sys.exit(f"help_texts: {' '.join(map(str, command))}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def note(where, names, what):
    mistakes.extend(f"{where}: {name} {what}" for name in sorted(names))


def must_be_the_same(where, found, expected):
    note(where, expected - found, "is missing")
    note(where, found - expected, "is not in --help")


class Help:
    """What --help of a tool or of one of its commands lists: commands, the type of each name of an option, and names of
    one option together."""

    def __init__(self, tool, *command):
        self.commands, self.types, self.groups = [], {}, []
        part = ""
        for line in run(tool, *command, "--help").splitlines():
            if heading := re.fullmatch(r"([A-Za-z]+):", line):
                part = heading[1].lower()
            elif not line:
                part = ""
            elif part == "subcommands" and (found := re.match(r" {2}(\w+)", line)):
                self.commands.append(found[1])
            elif part == "options" and (found := OPTION.match(line)):
                names = set(NAME.findall(found[1]))
                self.groups.append(names)
                self.types.update({name: found[2] or "" for name in names})
        if not HELP <= set(self.types) or len(self.types) < 3:
            sys.exit(f"help_texts: {tool} {' '.join(command)} --help has no options that are understood")


class Page:
    """A man page in roff: by its titles, "SECTION" or "SECTION/subsection", lines as (macro, text)."""

    def __init__(self, path):
        self.parts, title, section = {}, "", ""
        for line in path.read_text().splitlines():
            line = re.sub(r"\\f.", " ", line).replace("\\-", "-").replace("\\&", "")
            found = re.match(r"\.(\w+) ?(.*)", line)
            macro, text = found.groups() if found else ("", line)
            if macro == "SH":
                title = section = text.strip('"')
            elif macro == "SS":
                title = f"{section}/{text}"
            else:
                self.parts.setdefault(title, []).append((macro, text))

    def tags(self, title):
        """The options that are described there."""
        lines = self.parts.get(title, [])
        tagged = (text for (before, _), (_, text) in zip(lines, lines[1:]) if before in ("TP", "TQ"))
        return {name for text in tagged for name in NAME.findall(text)}

    def of_command(self, command):
        titles = {f"COMMANDS/{command}"}
        for title in self.parts:
            if title.startswith("OPTIONS/Options of ") and command in re.findall(r"\w+", title):
                titles.add(title)
        return set().union(*map(self.tags, titles))

    def synopsis(self, title):
        """The options in the lines of macros up to the first paragraph."""
        names = set()
        for macro, text in self.parts.get(title, []):
            if macro == "PP":
                break
            names.update(NAME.findall(text))
        return names

    def examples(self):
        """Command lines, as words."""
        inside = False
        for macro, text in self.parts.get("EXAMPLES", []):
            inside = macro == "EX" or (inside and macro != "EE")
            if inside and text:
                yield shlex.split(text)


class Completion:
    def __init__(self, script, directory):
        self.script, self.directory = script, directory

    def of(self, *words):
        output = run("bash", "--noprofile", "--norc", "-c", COMPLETE, "bash", self.script, *words, cwd=self.directory)
        return set(output.splitlines())


def check_page(path, help_of):
    page, tool, own = Page(path), path.stem, help_of[""]
    must_be_the_same(f"{path.name}: OPTIONS", page.tags("OPTIONS"), set(own.types))
    must_be_the_same(f"{path.name}: commands", {title[9:] for title in page.parts if title.startswith("COMMANDS/")},
                     set(own.commands))  # fmt: skip
    for command in own.commands:
        where, options = f"{path.name}: {command}", help_of[command]
        must_be_the_same(where, page.of_command(command), set(options.types) - HELP)
        short = page.synopsis(f"COMMANDS/{command}")
        note(f"{where}: synopsis", short - set(options.types), "is not in --help")
        note(f"{where}: synopsis", {max(group) for group in options.groups if not group & (short | HELP)}, "is missing")
    examples = [words for words in page.examples() if words[0] == tool]
    if not examples:
        mistakes.append(f"{path.name}: EXAMPLES has none")
    for words in examples:
        types = help_of[words[1] if own.commands else ""].types
        words = words[: words.index("--")] if "--" in words else words
        used = {word for before, word in zip(words, words[1:]) if word.startswith("-") and not types.get(before)}
        note(f"{path.name}: EXAMPLES: {' '.join(words)}", used - set(types), "is not in --help")


def check_values(where, completion, words, name, options):
    """What is offered as the value of an option of this type."""
    kind, offered = options.types[name], completion.of(*words, name, "")
    if not set(options.types) <= completion.of(*words, name, "value", "-"):
        mistakes.append(f"{where}: no option is offered after the value of {name}")
    if name not in OPTIONAL_VALUE:
        if any(word.startswith("-") for word in completion.of(*words, name, "-")):
            mistakes.append(f"{where}: {name} takes a value, and is offered an option")
        if name.startswith("--") and offered != completion.of(*words, name, "="):
            mistakes.append(f"{where}: {name}= is offered other values than {name}")
    if kind.startswith("FILE") and not {"file.ini", "file.json", "file.svg"} & offered:
        mistakes.append(f"{where}: {name} is not offered files")
    if kind.startswith("DIR") and offered != {"directory"}:
        mistakes.append(f"{where}: {name} is not offered directories alone")
    if values := re.search(r"\{([^}]*)\}", kind):
        must_be_the_same(f"{where}: {name}", offered, set(values[1].split(",")))


def check_completion(completion, tool, help_of):
    for command, options in help_of.items():
        words = [tool, command] if command else [tool]
        where = f"completion of {' '.join(words)}"
        must_be_the_same(where, completion.of(*words, "-") - {"--"}, set(options.types))
        for name, kind in options.types.items():
            if kind:
                check_values(where, completion, words, name, options)
            elif name not in HELP | {"--version"} and not set(options.types) <= completion.of(*words, name, "-"):
                mistakes.append(f"{where}: {name} takes no value, and is offered no option")
    commands = {word for word in completion.of(tool, "") if not word.startswith("-")}
    must_be_the_same(f"completion of {tool}: commands", commands, set(help_of[""].commands))


def check_application(completion):
    """Behind "--", and behind a first word that is no option, ckpt-run completes a command and its arguments."""
    launchers = completion.of("ckpt-run", "--launcher", "")
    if launchers != {"mpirun", "mpiexec", "srun"}:
        mistakes.append(f"completion of ckpt-run: --launcher is offered {sorted(launchers)}")
    for words, expected in ((["-n", "2", "--", "bas"], "bash"), (["-n", "2", "--", "directory/"], "directory/program"),
                            (["-n", "2", "--", "heat", "--config", "fi"], "file.ini"),
                            (["--grace", "5s", "heat", "-o", "fi"], "file.ini")):  # fmt: skip
        if expected not in completion.of("ckpt-run", *words):
            mistakes.append(f"completion of ckpt-run {' '.join(words)}: {expected} is missing")


def main():
    source, tools = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    script = source.resolve() / "tools/completion/cairn.bash"
    run("bash", "-n", script)
    with tempfile.TemporaryDirectory(prefix="cairn-help-") as name:
        directory = Path(name)
        (directory / "directory").mkdir()
        for file in ("file.ini", "file.json", "file.svg", "directory/program"):
            (directory / file).touch()
        completion = Completion(script, directory)
        for tool in tools:
            help_of = {"": Help(tool)}
            help_of.update({command: Help(tool, command) for command in help_of[""].commands})
            check_page(source / f"tools/{tool.name}/{tool.name}.1", help_of)
            check_completion(completion, tool.name, help_of)
        check_application(completion)
    if mistakes:
        sys.exit("\n".join(["help_texts: --help, the man pages and the completion differ", *mistakes]))


if __name__ == "__main__":
    main()
