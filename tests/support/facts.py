"""What tests ask of the lines that a job prints: the things that they name, never their wording (see facts.hpp).

A thing is a name: of a file, a key, an option, a call; a number, a size, a value. It is found as a whole word: "12" is
not in "120". "node 3" is also found in "nodes 2, 3" and "ranks 1" in "ranks 1 to 4".
"""

import re


def has_thing(text, thing):
    begin = r"(?<![\w])(?<!\d\.)" if re.match(r"\w", thing) else ""
    end = r"(?![\w])(?!\.\d)" if re.search(r"\w$", thing) else ""
    if re.search(begin + re.escape(thing) + end, text):
        return True
    numbered = re.fullmatch(r"(.*) (\d+)", thing)
    return numbered is not None and any(int(numbered[2]) in numbers for numbers in lists_of(numbered[1], text))


def lists_of(kind, text):
    """The numbers of each list such as "nodes 0, 2 and 4 to 6"."""
    for found in re.finditer(rf"(?<!\w){re.escape(kind)}s (\d+(?:(?:, and |, | and | to |-)\d+)*)", text):
        numbers, last, joins = set(), 0, ""
        for part in re.findall(r"\d+|, and |, | and | to |-", found[1]):
            if not part.isdigit():
                joins = part
                continue
            numbers |= set(range(last, int(part) + 1)) if joins in (" to ", "-") else {int(part)}
            last = int(part)
        yield numbers


def lines_that_name(text, *things):
    return [line for line in text.splitlines() if all(has_thing(line, thing) for thing in things)]
