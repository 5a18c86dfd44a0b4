#!/usr/bin/env python3
"""Makes the reference of the public headers, which must give no warning and have every word of their comments.

    reference.py DOXYFILE INCLUDE
"""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

LEAST_LINES = 300  # of comments in the headers: fewer mean that they are not found


def letters(text):
    """What Doxygen neither formats nor breaks into lines."""
    return "".join(re.findall(r"[A-Za-z0-9]+", text))


def comments_of(header):
    """The lines of its public comments, with their numbers."""
    public = True
    for number, line in enumerate(header.read_text().splitlines(), 1):
        public = (public or line.startswith("};")) and not line.strip().startswith("private:")
        found = re.match(r"(?:.*  //|.*/\*| *//| \*)(?!\*/) (.*?)(?:\*/)?$", line)
        if found and public and not line.startswith(("}", "struct ")):
            yield number, found[1]


def main():
    doxyfile, include = Path(sys.argv[1]), Path(sys.argv[2])
    made = subprocess.run(["doxygen", doxyfile], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode != 0 or made.stdout:
        sys.exit(f"doxygen ended with {made.returncode}:\n{made.stdout}")
    pages = [page for page in (doxyfile.parent / "xml").glob("*.xml") if page.name != "Doxyfile.xml"]
    reference = " ".join(letters("".join(ElementTree.parse(page).getroot().itertext())) for page in pages)
    comments = [(f"{header}:{number}", text)
                for header in sorted(include.glob("cairn/*.h*")) for number, text in comments_of(header)]  # fmt: skip
    missing = [f"{place}: the reference lacks: {text}" for place, text in comments if letters(text) not in reference]
    if len(comments) < LEAST_LINES:
        sys.exit(f"only {len(comments)} lines of comments in {include}")
    if missing:
        sys.exit("\n".join(missing))
    print(f"{len(comments)} lines of comments are in the reference")


main()
