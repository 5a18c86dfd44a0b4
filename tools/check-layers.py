#!/usr/bin/env python3
"""Checks that the rooms below lib/ keep to the house's order.

A file under lib/<room>/ includes only files of its own room and of rooms below it, and a room may use an outside
library only where the house says so: MPI in tap/, intercept/, mpi/, repair/ and bind/, HDF5 in format/hdf5/, ISA-L in
codec/, POSIX I/O in store/.

  tools/check-layers.py [ROOT]      checks the tree at ROOT (default: the one that this script is in)
  tools/check-layers.py --self-test proves on made-up trees that every kind of violation is caught
"""

import pathlib
import re
import sys
import tempfile

# Rooms of one row do not include each other.
ROWS = [
    ["base"],
    ["topology", "codec", "model", "comm", "store"],
    ["format", "config", "replay", "localize"],
    ["level", "schedule", "hang"],
    ["recover"],
    ["engine", "inspect"],
    ["session"],
    ["tap"],
    ["mpi", "intercept"],
    ["repair"],
    ["bind"],
]
ROW_OF = {room: row for row, rooms in enumerate(ROWS) for room in rooms}

# Outside headers: what they are, who may include them, what the rule is.
GUARDED = [
    (r"mpi(-ext)?\.h|mpio?\.hpp", {"tap", "intercept", "mpi", "repair", "bind", "include/cairn/cairn.hpp", "include/cairn/cairn.h"},
     "MPI belongs in tap/, intercept/, mpi/, repair/ and bind/"),
    (r"hdf5(_hl)?\.h|H5[A-Za-z]*\.h", {"format/hdf5"}, "HDF5 belongs in format/hdf5/"),
    (r"isa-l\.h|isa-l/.*", {"codec"}, "ISA-L belongs in codec/"),
    (r"fcntl\.h|unistd\.h|dirent\.h|sys/(mman|stat|file|statvfs|statfs|vfs|uio|xattr)\.h", {"store"},
     "POSIX I/O belongs in store/"),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>]+>|"[^"]+")', re.MULTILINE)
SOURCES = {".cpp", ".hpp", ".c", ".h", ".f90", ".F90"}


def includes(path):
    """Pairs of line number and included name; <name> and "name" alike."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)[1:-1]


def check_room_order(where, room, name):
    """An include of lib's own files: is it of this room or of one below?"""
    target = name.split("/")[0] if "/" in name else None
    if target not in ROW_OF or target == room:
        return []
    if ROW_OF[target] < ROW_OF[room]:
        return []
    relation = "above" if ROW_OF[target] > ROW_OF[room] else "beside"
    return [f'{where}: "{name}": {target}/ is {relation} {room}/; only rooms below may be included']


def check_guarded(where, places, name):
    """An include of an outside library: is one of `places` allowed to?"""
    return [f"{where}: <{name}>: {rule}" for pattern, allowed, rule in GUARDED
            if re.fullmatch(pattern, name) and not allowed & places]


def check_file(root, path):
    relative = path.relative_to(root)
    parts = relative.parts
    problems = []
    room = None
    if parts[0] == "lib":
        if len(parts) < 3:
            return [f"{relative}: a source directly in lib/; it belongs in a room: {', '.join(sorted(ROW_OF))}"]
        room = parts[1]
        if room not in ROW_OF:
            return [f"{relative}: {room}/ is no room of the house; there are {', '.join(sorted(ROW_OF))}"]
    for line, name in includes(path):
        where = f"{relative}:{line}"
        if room:
            problems += check_room_order(where, room, name)
        problems += check_guarded(where, {room, "/".join(parts[1:-1]), str(relative)}, name)
        if parts[0] == "include" and name.split("/")[0] in ROW_OF:
            problems.append(f'{where}: "{name}": a public header must not need the inside of lib/')
    return problems


def check_tree(root):
    files = [p for top in ("lib", "include") for p in sorted((root / top).rglob("*")) if p.suffix in SOURCES]
    return [problem for path in files for problem in check_file(root, path)], len(files)


def self_test():
    good = {
        "lib/base/a.hpp": "#include <string>\n",
        "lib/store/posix/b.cpp": '#include "base/a.hpp"\n#include <fcntl.h>\n#include <sys/mman.h>\n',
        "lib/codec/c.cpp": '#include <isa-l.h>\n#include "codec/c.hpp"\n',
        "lib/format/hdf5/d.cpp": '#include "store/posix/b.hpp"\n#include <hdf5.h>\n',
        "lib/mpi/e.cpp": '#include <mpi.h>\n#include "session/s.hpp"\n#include <cairn/cairn.hpp>\n',
        "include/cairn/cairn.hpp": "#include <mpi.h>\n#include <cairn/error.hpp>\n",
    }
    bad = {
        "lib/base/up.cpp": ('#include "store/store.hpp"\n', "above base/"),
        "lib/comm/beside.hpp": ('#include "store/store.hpp"\n', "beside comm/"),
        "lib/level/angle.cpp": ("#include <recover/plan.hpp>\n", "above level/"),
        "lib/engine/spaces.cpp": ('  #  include "session/regions.hpp"\n', "above engine/"),
        "lib/session/mpi.cpp": ("#include <mpi.h>\n", "MPI belongs"),
        "include/cairn/error.hpp": ("#include <mpi.h>\n", "MPI belongs"),
        "lib/level/hdf5.cpp": ("#include <hdf5.h>\n", "HDF5 belongs"),
        "lib/format/hdf5.cpp": ("#include <hdf5.h>\n", "HDF5 belongs"),
        "lib/level/isal.cpp": ("#include <isa-l/erasure_code.h>\n", "ISA-L belongs"),
        "lib/engine/posix.cpp": ("#include <unistd.h>\n", "POSIX I/O belongs"),
        "lib/base/map.hpp": ("\n\n#include <sys/mman.h>\n", "lib/base/map.hpp:3"),
        "lib/attic/old.cpp": ("\n", "no room of the house"),
        "lib/loose.cpp": ("\n", "directly in lib/"),
        "include/cairn/inside.hpp": ('#include "base/error.hpp"\n', "public header"),
    }
    failures = []
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)

        def put(path, text):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

        for path, text in good.items():
            put(path, text)
        failures += [f"should pass: {problem}" for problem in check_tree(root)[0]]
        for path, (text, expected) in bad.items():
            put(path, text)
            problems, _ = check_tree(root)
            if len(problems) != 1 or expected not in problems[0]:
                failures.append(f"{path}: expected one problem with '{expected}', found {problems}")
            (root / path).unlink()
    for failure in failures:
        print(f"check-layers: self-test: {failure}", file=sys.stderr)
    print(f"check-layers: self-test: {len(bad)} violations tried, {len(failures)} problems")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    problems, count = check_tree(root)
    for problem in problems:
        print(f"check-layers: {problem}", file=sys.stderr)
    if count == 0:
        print(f"check-layers: no sources under {root}/lib", file=sys.stderr)
        return 1
    if not problems:
        print(f"check-layers: {count} files are in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
