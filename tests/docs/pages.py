"""The pages that users read: README.md and lib/doc, as a list of their blocks and links."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Block:
    page: Path
    line: int  # of its first line, from 1
    language: str
    label: str  # what follows the language: the name of a file, "elsewhere", "install", or nothing
    text: str

    def place(self):
        return f"{self.page}:{self.line}"


def pages(source):
    return [source / "README.md", *sorted((source / "lib" / "doc").glob("*.md"))]


def blocks_of(page):
    blocks, opened = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"```(\S*) ?(.*)$", line)
        if not fence:
            if opened:
                opened.text += line + "\n"
        elif opened:
            blocks.append(opened)
            opened = None
        else:
            opened = Block(page, number + 1, fence[1], fence[2], "")
    if opened:
        raise ValueError(f"{opened.place()}: this block has no end")
    return blocks


def prose_of(page):
    """The lines outside blocks, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchor_of(heading):
    """As GitHub makes it."""
    text = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(page):
    return {anchor_of(line.lstrip("#")) for _, line in prose_of(page) if line.startswith("#")}


def links_of(page):
    for number, line in prose_of(page):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            yield number, target
