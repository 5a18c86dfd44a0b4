#!/usr/bin/env python3
"""Checks that text for users is plain English: no phrase of PHRASES, no sentence above 30 words, no spelling mistake.

  tools/check-prose.py [FILE...]    checks these files of TEXTS (default: all)
  tools/check-prose.py --self-test  proves on made-up texts that each kind of finding is made, and no other

A finding is mended by a better sentence, not by another phrase that means the same. Code is not checked: blocks and
`names` in Markdown, and lines in comments that are indented by four or more spaces.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 30  # of a sentence; 25 are the aim

# What is hard to understand, as a regular expression, and what to write instead.
PHRASES = [
    # Idioms and old words.
    (r"for ever", "forever"),
    (r"in vain", "without success"),
    (r"anew", "again"),
    (r"of before", "earlier"),
    (r"to be had", "exists"),
    (r"(let|lets|letting) go of", "release, end"),
    (r"(is|are|was|were) not there", "is missing"),
    (r"all the same", "nevertheless; or leave it out"),
    (r"go(es|ing)? on|gone on|went on", "continue"),
    (r"go(es|ing)? back|gone back|went back", "roll back, return"),
    (r"come(s)? back", "is restored, returns"),
    (r"put(s|ting)? together", "combine, restore completely"),
    (r"at fault|to blame", "cause"),
    (r"with word of", "with information about"),
    (r"(do|does|did) all else", "does the rest"),
    (r"mend(s|ed|ing)?", "fix, repair"),
    (r"hand(s|ed|ing)? on", "pass"),
    (r"makes? up for", "replace"),
    # Software does not hear, say or want.
    (r"hear(s|ing)?|heard", "detect, receive, intercept"),
    (r"tell(s|ing)? of|told of|tells? whom|untold", "report"),
    (r"(says?|said) to MPI", "MPI calls"),
    (r"(Cairn|ckpt-run|ckpt-tool|rank|head|node|it) wants", "requires"),
    (r"asks? of", "require"),
    # The field's words.
    (r"rais(e|es|ed|ing) (it |them |each |one |snapshots? )*to", "promote"),
    (r"newest snapshot that can", "newest recoverable snapshot"),
    (r"comput(es|ing) since|since \d+ ?(ms|s|min|h)", "has been computing for"),
    (r"waits? (there )?for ever|hangs? for ever", "block"),
    (r"come(s)? to a repair|come(s)? to the repair", "join the repair"),
    (r"(next|last|each|every|earlier|new) starts?(?! of| with)", "run"),
    # A relative clause in the place of a noun.
    (r"(ends?|names?|kills?|replaces?|starts?|asks?|for|of|by|with|to) who(ever)? (do|does|is|are|has|have|waits?|comes?)",
     "name them: processes that, users who"),
    (r"what is to (go|come|be)", "name it"),
    (r"what there (is|was)|what is there", "name it: the snapshots, the files"),
    (r"which it is", "name it"),
    (r"who(so)?ever", "name them: a person who, a process that"),
    (r"nobody is waited for|are in none|is in none", "who does what, in that order"),
    # Noise.
    (r"e\. ?g\.", "for example"),
    (r"i\. ?e\.", "that is"),
    (r"etc\.", "and so on"),
    (r"w\.r\.t\.", "about"),
    (r"in order to", "to"),
    (r"utili[sz]e[sd]?", "use"),
    (r"seamless(ly)?|effortless(ly)?|blazing(ly)?|world-class|state-of-the-art|powerful|simply|of course|obviously", "leave it out"),
]  # fmt: skip
# Names in the code that users should not have to learn.
FOR_USERS = [
    (r"life|lives", "run; is alive"),
]


def compiled(phrases):
    return [(re.compile(rf"(?<![\w-])(?:{what})(?!\w)", re.IGNORECASE), instead) for what, instead in phrases]


PHRASE, FOR_USER = compiled(PHRASES), compiled(FOR_USERS)

# Words that codespell takes for mistakes.
SPELLED_RIGHT = ["bu", "inflight", "inout", "nd"]


# Readers: each yields the paragraphs of a text as (number of the first line, text with its line breaks).


# A list item, a heading, a part of a function's description, a value with its meaning ("  off  never").
BEGINS = re.compile(r"\s*([-*+]|\d+\.) |#|(Requires|Throws|Returns): |  \w+(?: \w+)?  +\w")


def paragraphs(lines):
    """`lines`: (number, text). Another paragraph begins at a gap in the numbers, an empty text, or what BEGINS matches."""
    start, text, last = 0, [], -1
    for number, line in lines:
        if text and (number != last + 1 or not line.strip() or BEGINS.match(line)):
            yield start, "\n".join(text)
            text = []
        if line.strip():
            if not text:
                start = number
            text.append(line)
        last = number
    if text:
        yield start, "\n".join(text)


def numbered(text):
    return enumerate(text.splitlines(), 1)


def markdown(text):
    inside, lines, cells = False, [], []
    for number, line in numbered(text):
        if line.startswith("```"):
            inside = not inside
        elif inside or re.match(r"[|\s:-]+$", line) or line == "---":
            continue
        elif line.startswith("|"):
            cells += [(number, cell) for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        else:
            lines.append((number, line))
    for number, part in [*paragraphs(lines), *cells]:
        part = re.sub(r"`[^`]*`", "`code`", part)
        yield number, re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", part)


def comments(text):
    """Of C and C++: // and /* */, before a declaration or behind one."""
    lines, behind, inside = [], [], False
    for number, line in numbered(text):
        found = re.match(r"\s*(?:///?<?|/\*\*?<?| \*(?!/)|\*(?!/))(?: (.*))?$", line) if inside or re.match(r"\s*/[/*]", line) else None
        inside = (inside or re.match(r"\s*/\*", line) is not None) and "*/" not in line
        if found:
            said = (found[1] or "").removesuffix("*/").rstrip()
            lines.append((number, "" if said.startswith("   ") else said))
        elif after := re.search(r"\S\s+(?://|/\*) (.*?)(?:\*/)?$", line):
            behind.append((number, after[1]))
    yield from paragraphs(lines)
    yield from behind


def marked(mark, code):
    """Comments that begin with `mark`, but for lines that match `code`."""

    def read(text):
        lines = []
        for number, line in numbered(text):
            found = re.match(rf"\s*{mark}(?: (.*)|$)", line)
            if found:
                lines.append((number, "" if re.match(code, line) else found[1] or ""))
        return paragraphs(lines)

    return read


def man_page(text):
    """Without synopses and examples, in roff."""
    lines, section, synopsis = [], "", False
    for number, line in numbered(text):
        macro = re.match(r"\.(\w+) ?(.*)", line)
        if macro and macro[1] in ("SH", "SS"):
            section, synopsis = macro[2] if macro[1] == "SH" else section, section == "COMMANDS" and macro[1] == "SS"
        elif macro and macro[1] == "PP":
            synopsis = False
        said = macro[2].replace('"', "") if macro and macro[1] in ("B", "I", "BI", "BR", "IR", "RB", "RI") else line
        if section in ("SYNOPSIS", "EXAMPLES", "SEE ALSO", "NAME") or synopsis or (macro and said == line):
            said = ""
        lines.append((number, re.sub(r"\\f.|\\&", "", said).replace("\\-", "-").replace("\\(bu", "")))
    return paragraphs(lines)


def literals(text):
    """Of C and C++: strings that are more than a name, adjacent ones as one; without examples of commands."""
    one = r'"(?:[^"\\\n]|\\.)*"'
    for found in re.finditer(rf"{one}(?:\s*{one})*", text):
        line = text.count("\n", 0, found.start()) + 1
        if re.match(r"\s*#\s*include", text[text.rfind("\n", 0, found.start()) + 1 :]):
            continue
        said = "".join(part[1:-1] for part in re.findall(one, found[0]))
        lines = said.replace('\\"', '"').split("\\n")
        kept = [(number, "" if part.startswith("  ") else part) for number, part in enumerate(lines, line)]
        for _, part in paragraphs(kept):
            if " " in part:
                yield line, part


def inside(text):
    """Comments of the library, for those who work on it."""
    return comments(text)


def program(text):
    """Comments and strings of an example."""
    yield from comments(text)
    yield from literals(text)


# The texts that users read, and how each is read.
TEXTS = [
    ("README.md", markdown),
    ("lib/doc/*.md", markdown),
    ("lib/CHANGELOG.md", markdown),
    ("lib/ARCHITECTURE.md", markdown),
    ("lib/*/README.md", markdown),
    ("tests/*/README.md", markdown),
    ("lib/format/FORMAT.md", markdown),
    (".github/**/*.md", markdown),
    ("include/cairn/*.h*", comments),
    ("lib/bind/cairn.f90", marked("!", code=r"\s*!    ")),
    ("config/cairn.ini", marked(";", code=r";\S")),
    ("tools/*/*.1", man_page),
    # Messages, and --help.
    ("lib/**/*.[ch]pp", literals),
    ("tools/**/*.[ch]pp", literals),
    *[(f"lib/{room}/*.[ch]pp", inside) for room in ["tap", "hang", "repair", "recover", "session"]],
    ("examples/**/*.[ch]pp", program),
    ("examples/**/*.c", program),
    ("examples/**/*.f90", marked("!", code=r"\s*!    ")),
    ("examples/**/*.ini", marked(";", code=r";\S")),
]


def sentences(text):
    """(place in the text, sentence). A colon or semicolon ends none; a line of a table or a list item does."""
    start = 0
    for end in re.finditer(r"[.!?][)\"”*`]*(?=\s|$)|:\s*$", text):
        if re.search(r"(\be\.g|\bi\.e|\betc|\bDr|\bet al)\.$", text[: end.start() + 1]):
            continue
        yield start, text[start : end.end()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def words_of(sentence):
    return re.findall(r"[^\s—–|]*[A-Za-z0-9][^\s—–|]*", sentence)


def check_text(read, text):
    """Findings as (line, what)."""
    for number, part in read(text):
        for pattern, instead in PHRASE + ([] if read is inside else FOR_USER):
            for found in pattern.finditer(re.sub(r"\s", " ", part)):
                yield number + part.count("\n", 0, found.start()), f'"{found[0]}": {instead}'
        for start, sentence in sentences(part):
            if len(words := words_of(sentence)) > MOST_WORDS:
                line = number + part.count("\n", 0, start + len(sentence) - len(sentence.lstrip()))
                yield line, f'a sentence of {len(words)} words, at most {MOST_WORDS}: "{" ".join(words[:6])} ..."'


def check_spelling(files):
    if shutil.which("codespell") is None:
        return ["codespell is missing: tools/install-packages.sh installs it"]
    made = subprocess.run(["codespell", "--ignore-words-list", ",".join(SPELLED_RIGHT), *files],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    return made.stdout.splitlines()


def files_of_texts(root):
    """Each file of TEXTS with its reader."""
    for pattern, read in TEXTS:
        found = sorted(root.glob(pattern))
        if not found:
            raise SystemExit(f"check-prose: there is no {pattern}: correct TEXTS")
        yield from ((file, read) for file in found)


def check(root, only=()):
    texts = list(files_of_texts(root))
    if unknown := [file for file in only if file not in [text for text, _ in texts]]:
        raise SystemExit(f"check-prose: {unknown[0]}: is none of the texts for users; TEXTS lists them")
    chosen = [(file, read) for file, read in texts if not only or file in only]
    findings = [f"{file.relative_to(root)}:{line}: {what}"
                for file, read in chosen for line, what in sorted(check_text(read, file.read_text(encoding="utf-8")))]  # fmt: skip
    files = sorted({file for file, _ in chosen})  # a file may have several readers
    findings += [finding.replace(f"{root}/", "") for finding in check_spelling(files)]
    return len(files), findings


def self_test():
    long = "word " * MOST_WORDS + "word."
    good = [
        (markdown, f"# Title\n\nOne line\nand one more.\n\n```sh\nfor ever {long}\n```\n\n| {long[:50]} | {long[:60]} |\n- `go on`\n"),
        (markdown, f"{long[:80]}\n- {long[:80]}\n- {long[:80]}\n"),
        (comments, f"// Says what it is.\n//\n//     for ever {long}\nint forever;  // not a comment of two\nint go_on;\n"),
        (comments, "/* One. */\nint a; /* behind it */\n/* Two\n *\n * Returns: three. */\nchar* s = x * heard;\n"),
        (marked("!", code="!    "), "! A comment.\n!     call for_ever(1)\nhear = 1\n"),
        (marked(";", code=r";\S"), "; A comment.\n;hear = on\n"),
        (marked(";", code=r";\S"), f"; One of:\n;   on   {long[:80]}\n;        {long[:30]}\n;   off  {long[:80]}\n"),
        (man_page, f".SH SYNOPSIS\n{long}\n.SH DESCRIPTION\n.B ckpt\\-run\nstarts it.\n.SH EXAMPLES\n{long}\n"),
        (inside, "// The life of a job.\n"),
        (literals, '#include "go on.hpp"\nf("Start a job", "\\n  go on\\n");\n'),
    ]
    bad = [
        (markdown, "It waits for\never.\n", 1, '"for ever"'),
        (markdown, f"Short.\n\n- {long}\n", 3, "a sentence of 31 words"),
        (markdown, f"| a | {long} |\n", 1, "a sentence of 31 words"),
        (markdown, "One.\nIt hears\nthis.\n", 2, '"hears"'),
        (comments, f"int a;\n// One.\n// {long}\n", 3, "a sentence of 31 words"),
        (comments, "int a;  // goes on\n", 1, '"goes on"'),
        (comments, "// The life of a job.\n", 1, '"life"'),
        (inside, "int a;\n// goes on\n", 2, '"goes on"'),
        (comments, "/* One.\n * It goes on. */\nint a; /* heard */\n", 2, '"goes on"'),
        (comments, "int a; /* heard */\n", 1, '"heard"'),
        (marked("!", code="!    "), "x = 1\n! It is not there.\n", 2, '"is not there"'),
        (marked(";", code=r";\S"), ";key = 1\n; Tells of it.\n", 2, '"Tells of"'),
        (man_page, ".SH DESCRIPTION\n.B ckpt\\-run\ngoes on.\n", 3, '"goes on"'),
        (literals, 'f("It waits "\n  "for ever");\n', 1, '"for ever"'),
    ]
    failures = [f"finds something in {text!r}: {found}" for read, text in good if (found := list(check_text(read, text)))]
    for read, text, line, what in bad:
        found = list(check_text(read, text))
        if not any(at == line and said.startswith(what) for at, said in found):
            failures.append(f"should find {what} in line {line} of {text!r}, finds {found}")
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "text"
        file.write_text("This is teh text.\n", encoding="utf-8")
        if not any("teh" in finding for finding in check_spelling([file])):
            failures.append("does not find a spelling mistake")
        try:
            check(ROOT, [file])
            failures.append("checks other files than the one that is named")
        except SystemExit:
            pass
    for failure in failures:
        print(f"check-prose: self-test: {failure}", file=sys.stderr)
    print(f"check-prose: self-test: {len(good) + len(bad) + 2} texts tried, {len(failures)} problems")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    count, findings = check(ROOT, [pathlib.Path(name).resolve() for name in arguments])
    for finding in findings:
        print(finding)
    print(f"check-prose: {count} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
