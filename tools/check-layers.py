#!/usr/bin/env python3
"""Checks that the rooms below lib/ keep to the house's order.

A file under lib/<room>/ includes only files of its own room and of rooms below it, and a room may use an outside
library only where the house says so: MPI in tap/, intercept/, mpi/ and the rooms above it, HDF5 in format/hdf5/, ISA-L in
codec/, POSIX I/O in store/.

MPI_COMM_WORLD is named in tap/ only: it may stand for the application's own ([job] world). All else asks the tap.

The rooms are named in four places: the folders of lib/, lib/CMakeLists.txt, .clang-tidy and this script. A room that is
missing in one of them fails.

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
    ["topology", "codec", "model", "localize", "comm", "store"],
    ["format", "config"],
    ["level", "reshape", "rollback", "schedule", "hang", "tap"],
    ["recover", "replay"],
    ["engine", "inspect", "logged"],
    ["session"],
    ["mpi"],
    ["carrier", "guard"],
    ["opening"],
    ["repair"],
    ["bind", "door", "intercept"],
]
ROW_OF = {room: row for row, rooms in enumerate(ROWS) for room in rooms}

# Outside headers: what they are, who may include them, what the rule is.
GUARDED = [
    (r"mpi(-ext)?\.h|mpio?\.hpp", {"tap", "intercept", "mpi", "carrier", "guard", "opening", "repair", "bind", "door",
                                 "include/cairn/cairn.hpp", "include/cairn/cairn.h",
                                 "include/cairn/lost_collectives.hpp", "include/cairn/veloc/veloc.h",
                                 "include/cairn/veloc/veloc.hpp"},
     "MPI belongs in tap/, intercept/, mpi/, carrier/, guard/, opening/, repair/, bind/ and door/"),
    (r"hdf5(_hl)?\.h|H5[A-Za-z]*\.h", {"format/hdf5"}, "HDF5 belongs in format/hdf5/"),
    (r"isa-l\.h|isa-l/.*", {"codec"}, "ISA-L belongs in codec/"),
    (r"fcntl\.h|unistd\.h|dirent\.h|sys/(mman|stat|file|statvfs|statfs|vfs|uio|xattr)\.h", {"store"},
     "POSIX I/O belongs in store/"),
]

WORLD = re.compile(r"\bMPI_COMM_WORLD\b")
# Comments and texts, of C++ and of Fortran.
NOT_CODE = {
    **dict.fromkeys((".cpp", ".hpp", ".c", ".h"), re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)),
    **dict.fromkeys((".f90", ".F90"), re.compile(r"""![^\n]*|"[^"\n]*"|'[^'\n]*'""")),
}

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
    if room == "door":
        return [f'{where}: "{name}": door/ uses the public headers of Cairn alone']
    if ROW_OF[target] < ROW_OF[room]:
        return []
    relation = "above" if ROW_OF[target] > ROW_OF[room] else "beside"
    return [f'{where}: "{name}": {target}/ is {relation} {room}/; only rooms below may be included']


def check_guarded(where, places, name):
    """An include of an outside library: is one of `places` allowed to?"""
    return [f"{where}: <{name}>: {rule}" for pattern, allowed, rule in GUARDED
            if re.fullmatch(pattern, name) and not allowed & places]


def check_world(relative, room, path):
    """MPI_COMM_WORLD, where it is no word of a comment or of a text."""
    if room == "tap":
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    code = NOT_CODE[path.suffix].sub(lambda match: "\n" * match[0].count("\n"), text)
    return [f"{relative}:{code.count(chr(10), 0, match.start()) + 1}: MPI_COMM_WORLD: only tap/ names it; others use "
            "tap::all_processes() or tap::application_world()" for match in WORLD.finditer(code)]  # fmt: skip


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
    problems += check_world(relative, room, path)
    for line, name in includes(path):
        where = f"{relative}:{line}"
        if room:
            problems += check_room_order(where, room, name)
        problems += check_guarded(where, {room, "/".join(parts[1:-1]), str(relative)}, name)
        if parts[0] == "include" and name.split("/")[0] in ROW_OF:
            problems.append(f'{where}: "{name}": a public header must not need the inside of lib/')
    return problems


def named_in_cmake(text):
    """The rooms that are built, and those that go into a library."""
    built = set(re.findall(r"^cairn_room\((\w+)", text, re.MULTILINE))
    linked = set()
    for names in re.findall(r"^(?:cairn_library\(\w+|set\(rooms)\s([^)]*)\)", text, re.MULTILINE):
        linked |= set(names.split())
    linked |= set(re.findall(r"TARGET_OBJECTS:room_(\w+)>", text))
    return built, linked


def check_lists(root):
    """Do all who name the rooms name the same?"""
    lists = {"tools/check-layers.py": set(ROW_OF)}
    folders = {path.name for path in (root / "lib").iterdir()
               if path.is_dir() and any(file.suffix in SOURCES for file in path.rglob("*"))}
    lists["the folders of lib/"] = folders & set(ROW_OF)  # of others each file is told of
    built, linked = named_in_cmake((root / "lib/CMakeLists.txt").read_text())
    lists["lib/CMakeLists.txt (cairn_room)"] = built
    lists["lib/CMakeLists.txt (libraries)"] = linked
    filters = re.search(r"HeaderFilterRegex:.*lib/\(([a-z|]+)\)/", (root / ".clang-tidy").read_text())
    lists[".clang-tidy (HeaderFilterRegex)"] = set(filters.group(1).split("|")) if filters else set()
    every = set().union(*lists.values())
    return [f"{where}: the room {room}/ is missing" for where, rooms in lists.items() for room in sorted(every - rooms)]


def check_tree(root):
    files = [p for top in ("lib", "include") for p in sorted((root / top).rglob("*")) if p.suffix in SOURCES]
    return check_lists(root) + [problem for path in files for problem in check_file(root, path)], len(files)


def self_test():
    good = {
        "lib/base/a.hpp": "#include <string>\n",
        "lib/store/posix/b.cpp": '#include "base/a.hpp"\n#include <fcntl.h>\n#include <sys/mman.h>\n',
        "lib/codec/c.cpp": '#include <isa-l.h>\n#include "codec/c.hpp"\n',
        "lib/format/hdf5/d.cpp": '#include "store/posix/b.hpp"\n#include <hdf5.h>\n',
        "lib/mpi/e.cpp": '#include <mpi.h>\n#include "session/s.hpp"\n#include <cairn/cairn.hpp>\n',
        "lib/tap/world.cpp": "return MPI_COMM_WORLD;\n",
        "lib/repair/text.cpp": '// MPI_COMM_WORLD\nsay("MPI_COMM_WORLD");  /* MPI_COMM_WORLD */\n',
        "lib/door/veloc/d.cpp": '#include "door/veloc/d.hpp"\n#include <mpi.h>\n#include <cairn/cairn.hpp>\n',
        "lib/bind/text.f90": "! MPI_COMM_WORLD\nprint *, 'MPI_COMM_WORLD'\n",
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
        "lib/door/veloc/inside.cpp": ('#include "base/error.hpp"\n', "public headers of Cairn alone"),
        "lib/loose.cpp": ("\n", "directly in lib/"),
        "lib/mpi/world.cpp": ("/* a\n */\nint size = size_of(MPI_COMM_WORLD);\n", "lib/mpi/world.cpp:3: MPI_COMM_WORLD"),
        "lib/intercept/world.hpp": ('say("x"); return MPI_COMM_WORLD;\n', "only tap/ names it"),
        "lib/bind/world.f90": ("call cairn_init(MPI_COMM_WORLD)\n", "only tap/ names it"),
        "include/cairn/inside.hpp": ('#include "base/error.hpp"\n', "public header"),
    }
    failures = []
    rooms = sorted(ROW_OF)
    lists = {f"lib/{room}/room.hpp": "\n" for room in rooms}
    lists["lib/CMakeLists.txt"] = "".join(f"cairn_room({room} x)\n" for room in rooms) + (
        f"cairn_library(core {' '.join(rooms[:9])}\n  {' '.join(rooms[9:-1])})\n$<TARGET_OBJECTS:room_{rooms[-1]}>\n")
    lists[".clang-tidy"] = f"HeaderFilterRegex: '(lib/({'|'.join(rooms)})/|tools/)'\n"
    incomplete = {
        "lib/hang/room.hpp": ("", "folders of lib/: the room hang/"),
        "lib/CMakeLists.txt": ("cairn_room(tap x)\n", "(cairn_room): the room tap/"),
        ".clang-tidy": ("tap|", ".clang-tidy (HeaderFilterRegex): the room tap/"),
    }
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)

        def put(path, text):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

        for path, text in (lists | good).items():
            put(path, text)
        failures += [f"should pass: {problem}" for problem in check_tree(root)[0]]
        for path, (text, expected) in bad.items():
            put(path, text)
            problems, _ = check_tree(root)
            if len(problems) != 1 or expected not in problems[0]:
                failures.append(f"{path}: expected one problem with '{expected}', found {problems}")
            (root / path).unlink()
        # A room that one list leaves out.
        for path, (part, expected) in incomplete.items():
            (root / path).write_text(lists[path].replace(part, "", 1)) if part else (root / path).unlink()
            problems, _ = check_tree(root)
            if len(problems) != 1 or expected not in problems[0]:
                failures.append(f"{path}: expected one problem with '{expected}', found {problems}")
            put(path, lists[path])
    for failure in failures:
        print(f"check-layers: self-test: {failure}", file=sys.stderr)
    print(f"check-layers: self-test: {len(bad) + len(incomplete)} violations tried, {len(failures)} problems")
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
