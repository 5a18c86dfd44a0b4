#!/usr/bin/env python3
"""The installed library as its users meet it: moved to another place, linked in one line, and by find_package.

    install.py BUILD SOURCE MPIEXEC          installs BUILD into a directory of its own and moves that
    install.py BUILD SOURCE MPIEXEC part     builds SOURCE as a part of another project, with a static libcairn, and
                                             installs that

Programs in C++, C and Fortran are compiled with it, run, die, and go on where they were. Exported names are compared with
symbols.txt.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "docs")]
from facts import has_thing, lines_that_name  # noqa: E402
from mpi_calls import calls_to_intercept  # noqa: E402
from pages import links_of, pages  # noqa: E402

LIMIT_S = 120  # of one command; much more than it takes
BUILD_LIMIT_S = 900  # of a whole build
RANKS = 4
CONFIG = """[storage]
local = {directory}/local
global = {directory}/global
[levels]
l1 = every 1
[head]
mode = rank
"""
COMPILERS = {"CXX": ("mpicxx", "-std=c++20", "program.cpp", "cairn"),
             "C": ("mpicc", "-std=c11", "program.c", "cairn-c"),
             "Fortran": ("mpifort", "-std=gnu", "program.f90", "cairn-fortran")}  # fmt: skip


def fail(what, output=""):
    sys.exit(f"install: {what}\n{output}")


def run(*command, good=True, limit_s=LIMIT_S, **how):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=limit_s, **how)  # fmt: skip
    if good and done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: ended with {done.returncode}", done.stdout)
    return done.stdout


def tells_to_link(output):
    """How many lines of the log say that the tap is not linked."""
    return len(lines_that_name(output, "cairn-tap"))


def names_in(library, *options):
    """As nm gives them, behind an address, or blanks, and a letter."""
    return [re.sub(r"^.{16} \S ", "", line) for line in run("nm", "-D", *options, library).splitlines()]


# Calls that MPI's Fortran does not pass on to those of C.
FORTRAN = {f"mpi_{call}_" for call in ("attr_put", "attr_get", "attr_delete",
                                      *(f"comm_{what}_attr{way}" for what in ("set", "get", "delete") for way in ("", "_f08")))}  # fmt: skip


def must_be_the_same(what, names, expected):
    if set(names) != set(expected):
        fail(f"{what}: " + ", ".join(sorted(set(names) ^ set(expected))))


def shows_what_is_listed(libraries, calls):
    """libcairn its API, and to libcairn-tap what that uses; libcairn-tap `calls` of MPI."""
    cairn, tap = libraries / "libcairn.so", libraries / "libcairn-tap.so"
    version = re.compile(r"@+CAIRN_0.1$")
    public = {version.sub("", name) for name in names_in(cairn, "--defined-only", "-C") if version.search(name)}
    must_be_the_same("names that differ from symbols.txt", public, (HERE / "symbols.txt").read_text().splitlines())
    shown = {name for name in names_in(cairn, "--defined-only") if name.endswith("@@CAIRN_PRIVATE_0.1")}
    used = {name.replace("@", "@@") for name in names_in(tap, "--undefined-only") if "@CAIRN" in name}
    # What only calls use that this MPI does not have.
    if "Isendrecv" not in calls:
        used |= {name for name in shown if "loses_count" in name}
    must_be_the_same("names that libcairn shows to libcairn-tap, and does not use, or the reverse", shown, used)
    header = (HERE.parents[1] / "include/cairn/veloc/veloc.h").read_text()
    calls_of_veloc = {name for name in names_in(libraries / "libcairn_veloc.so", "--defined-only") if "veloc" not in name}
    must_be_the_same("calls that differ from those of veloc.h", calls_of_veloc, re.findall(r"^int (VELOC_\w+)", header, re.M))
    must_be_the_same("MPI calls that differ from those of mpi.h", names_in(tap, "--defined-only"),
                     {f"{prefix}{call}" for call in calls for prefix in ("MPI_", "PMPI_")} | FORTRAN)  # fmt: skip


def dies_and_goes_on(program, root, mpiexec):
    """The program from its start to a death, and from there to its end."""
    directory = root / f"run-{program.name}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    (directory / "program.ini").write_text(CONFIG.format(directory=directory))
    launch = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n", RANKS, program]
    output = run(*launch, "die", good=False, cwd=directory)
    if re.search(r"from \d+ to \d+ on", output):
        fail(f"{program}: did not die", output)
    output = run(*launch, cwd=directory)
    if f"from 5 to 10 on {RANKS - 1} ranks" not in output:
        fail(f"{program}: did not go on where it was", output)


def calls_world(program, root, mpiexec, head="rank", tap="on", preload=None):
    directory = root / f"world-{program.name}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    config = CONFIG.format(directory=directory).replace("mode = rank", f"mode = {head}")
    (directory / "program.ini").write_text(f"[job]\ntap = {tap}\n{config}")
    preloads = ["-x", f"LD_PRELOAD={preload}"] if preload else []
    return run(mpiexec, "--oversubscribe", "--bind-to", "none", "-n", RANKS, *preloads, program, "world", good=False,
               cwd=directory)  # fmt: skip


def intercepts_mpi(program, root, mpiexec):
    output = calls_world(program, root, mpiexec)
    if not lines_that_name(output, "MPI_Allreduce", "MPI_COMM_WORLD") or tells_to_link(output):
        fail(f"{program}: MPI is not intercepted", output)


def chooses_its_heads(program, prefix, root, mpiexec):
    """Without [head] mode: all ranks compute under mpirun, and ckpt-run starts heads in addition."""
    directory = root / f"auto-{program.name}"
    for launch, things in (((mpiexec, "--oversubscribe", "--bind-to", "none"), ["snapshot()", f"ckpt-run -n {RANKS}"]),
                           ((prefix / "bin/ckpt-run", "--config", "program.ini"), ["job", "1 head"])):  # fmt: skip
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / "program.ini").write_text(CONFIG.format(directory=directory).replace("[head]\nmode = rank\n", ""))
        separator = ["--"] if "ckpt-run" in str(launch[0]) else []
        output = run(*launch, "-n", RANKS, *separator, program, cwd=directory)
        if f"from 0 to 10 on {RANKS} ranks" not in output or len(lines_that_name(output, *things)) != 1:
            fail(f"{program}: with [head] mode = auto {RANKS} ranks should compute, and one line should name {things}", output)


def says_that_it_does_not_intercept(prefix, root, mpiexec):
    """Without the tap, and with the tap behind MPI."""
    behind = ["-lmpi", "-Wl,--no-as-needed", "-lcairn-tap", "-lcairn"]
    for name, libraries in (("no-tap", ["-lcairn"]), ("tap-behind", behind)):
        program = root / name
        run("mpicxx", "-std=c++20", HERE / "program.cpp", f"-I{prefix}/include", f"-L{prefix}/lib",
            f"-Wl,-rpath,{prefix}/lib", *libraries, "-o", program)  # fmt: skip
        # Heads that are ranks would not join what the program does on MPI_COMM_WORLD, and nobody would refuse it.
        output = calls_world(program, root, mpiexec, head="inline")
        if tells_to_link(output) != 1 or "from 0 to 10" not in output:
            fail(f"{program}: should say once that MPI calls are not intercepted, and run", output)
        preloaded = calls_world(program, root, mpiexec, head="inline", preload="libcairn-tap.so")
        if tells_to_link(preloaded) or "from 0 to 10" not in preloaded:
            fail(f"{program}: should intercept MPI with LD_PRELOAD=libcairn-tap.so, as the log says", preloaded)
        if not lines_that_name(output, "LD_PRELOAD", "libcairn-tap.so"):
            fail(f"{program}: should name LD_PRELOAD", output)
        output = calls_world(program, root, mpiexec, head="inline", tap="off")
        if tells_to_link(output) or "from 0 to 10" not in output:
            fail(f"{program}: should run with tap = off, and not speak of it", output)
    print("a program that does not intercept MPI calls says so", flush=True)


def flags_of(prefix, package):
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    return run("pkg-config", "--cflags", "--libs", package, env=environment).split()


def links_in_one_line(prefix, root, mpiexec, kind="shared"):
    for language, (compiler, standard, source, package) in COMPILERS.items():
        flags = flags_of(prefix, package)
        program = root / f"by-pkg-config-{language}-{kind}"
        # The headers give no warning, whatever flags a user has; those of Open MPI's old C++ bindings are left out.
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DOMPI_SKIP_MPICXX"] if language != "Fortran" else []
        run(compiler, standard, "-O1", *strict, HERE / source, *flags, "-o", program)
        dies_and_goes_on(program, root, mpiexec)
        if kind == "shared":
            chooses_its_heads(program, prefix, root, mpiexec)
        if language == "CXX":
            intercepts_mpi(program, root, mpiexec)
        elif tells_to_link(calls_world(program, root, mpiexec)):
            fail(f"{program}: says that it does not intercept MPI")
        if ("libcairn" in run("ldd", program)) != (kind == "shared"):
            fail(f"{program}: should be linked with a {kind} libcairn")
        print(f"one line of {compiler}, {kind}: died and went on", flush=True)
    runs_programs_of_veloc(prefix, root, mpiexec, kind)


def runs_programs_of_veloc(prefix, root, mpiexec, kind="shared", built=None):
    """In C and C++, by pkg-config, or as CMake has `built` them."""
    directory = root / f"veloc-{kind}-{built.name if built else 'pkg-config'}"
    directory.mkdir()
    (directory / "veloc.cfg").write_text(f"scratch = {directory}/scratch\npersistent = {directory}/persistent\n")
    ran = []
    for language, compiler, standard, source, case in (("C", "mpicc", "-std=gnu99", "veloc_program.c", "file"),
                                                       ("CXX", "mpicxx", "-std=c++11", "veloc_client.cpp", "two")):  # fmt: skip
        program = (built or directory) / f"veloc_{language}"
        if built is None:
            strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DOMPI_SKIP_MPICXX"]
            run(compiler, standard, *strict, HERE.parent / "mpi" / source, *flags_of(prefix, "cairn-veloc"), "-o", program)
        if not program.exists():
            continue
        output = run(mpiexec, "--oversubscribe", "--bind-to", "none", "-n", RANKS, program, case, directory / "veloc.cfg", "25")
        if "\ndone" not in output or tells_to_link(output):
            fail(f"{program}: should come to its end, with MPI calls intercepted", output)
        ran.append(language)
    if ran:
        print(f"programs of VELOC in {' and '.join(ran)}, {kind}: came to their end", flush=True)


def lives_with_another_hdf5(prefix, root, mpiexec):
    """The program writes with Debian's parallel HDF5, Cairn with the serial one."""
    directory, program = root / "run-hdf5", root / "with_hdf5"
    directory.mkdir()
    (directory / "program.ini").write_text(CONFIG.format(directory=directory).replace("l1 =", "l4 ="))
    flags = run("pkg-config", "--cflags", "--libs", "hdf5-openmpi").split()
    for order in (flags + flags_of(prefix, "cairn-c"), flags_of(prefix, "cairn-c") + flags):
        run("mpicc", "-std=c11", HERE / "with_hdf5.c", *order, "-o", program)
        output = run(mpiexec, "--oversubscribe", "--bind-to", "none", "-n", RANKS, program, cwd=directory)
        if f"{RANKS - 1} ranks wrote, and Cairn did" not in output:
            fail(f"{program}: should write with both", output)
        run(prefix / "bin/ckpt-tool", "verify", "--config", "program.ini", cwd=directory)
    print("a program with another HDF5 than Cairn's: both write", flush=True)


def refuses_a_foreign_hdf5(source, root):
    """Debian's static HDF5 is not position-independent."""
    static = run("pkg-config", "--libs-only-L", "hdf5-serial").strip().removeprefix("-L")
    for directory, thing in ((static, "--with-pic"), (root, "lib/libhdf5.a")):
        output = run("cmake", "-S", source, "-B", root / "hdf5", f"-DCAIRN_HDF5={directory}", good=False)
        if not has_thing(" ".join(output.split()), thing):
            fail(f"CAIRN_HDF5={directory} should be refused", output)
    print("CAIRN_HDF5 that does not fit: refused", flush=True)


def is_found_by_cmake(prefix, root, mpiexec, kind="shared"):
    cases = [("CXX", "Debug"), ("C", ""), ("Fortran", "Release"), ("C;CXX;Fortran", "")] if kind == "shared" else [("CXX", "")]
    for languages, build_type in cases:
        build = root / f"consumer-{kind}-{languages.replace(';', '-')}"
        run("cmake", "-S", HERE / "consumer", "-B", build, f"-DLANGUAGES={languages}", f"-DPROGRAMS={HERE}",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_BUILD_TYPE={build_type}", "-DCMAKE_C_COMPILER_LAUNCHER=",
            "-DCMAKE_CXX_COMPILER_LAUNCHER=")  # fmt: skip
        run("cmake", "--build", build)
        for language in languages.split(";"):
            dies_and_goes_on(build / f"program_{language}", root, mpiexec)
        if languages == "CXX":
            for order in ("program", "mpi_first", "mpi_last"):
                intercepts_mpi(build / f"{order}_CXX", root, mpiexec)
        runs_programs_of_veloc(prefix, root, mpiexec, kind, build)
        print(f"find_package in a project of {languages}, {kind}: died and went on", flush=True)


def says_what_it_did_not_find(prefix, root):
    wrong = run("cmake", "-S", HERE / "consumer", "-B", root / "wrong", "-DLANGUAGES=CXX", f"-DPROGRAMS={HERE}",
                f"-Dcairn_DIR={prefix}/nowhere", good=False)  # fmt: skip
    if "cairn" not in wrong:
        fail("a project without cairn should name it", wrong)


def is_part_of_a_project(source, root, mpiexec):
    """Of one without C++, and without a build type. With a static libcairn, which that project then installs."""
    build, prefix = root / "part", root / "static"
    configure = ["cmake", "-G", "Ninja", "-S", HERE / "consumer", "-B", build, "-DLANGUAGES=C;Fortran",
                 f"-DPROGRAMS={HERE}", f"-DCAIRN={source}"]  # fmt: skip
    run(*configure)
    commands = run("ninja", "-C", build, "-t", "commands", "program_C", "program_Fortran")
    compiled = [line for line in commands.splitlines() if "/room_engine.dir/" in line and " -c " in line]
    if not compiled or any(" -O" not in line or "-Wno-error" not in line for line in compiled):
        fail("Cairn should be optimised, and not fail by its parent's -Werror", "\n".join(compiled[:1]))
    run(*configure, "-DCAIRN_STATIC=ON", "-DCAIRN_INSTALL=ON")
    run("cmake", "--build", build, limit_s=BUILD_LIMIT_S)
    for language in ("C", "Fortran"):
        dies_and_goes_on(build / f"program_{language}", root, mpiexec)
    print("add_subdirectory in a project of C and Fortran: died and went on", flush=True)
    run("cmake", "--install", build, "--prefix", prefix)
    links_in_one_line(prefix, root, mpiexec, "static")
    is_found_by_cmake(prefix, root, mpiexec, "static")


def refuses_another_mpi(prefix, root):
    """A program of MPICH, whose handles are numbers."""
    program, directory = root / "mpich", root / "run-mpich"
    directory.mkdir()
    (directory / "program.ini").write_text(CONFIG.format(directory=directory))
    run("mpicc.mpich", "-std=c11", HERE / "program.c", f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib",
        "-Wl,--no-as-needed", "-lcairn-tap", "-lcairn", "-o", program)  # fmt: skip
    # Alone: mpirun of MPICH may lose what a process writes before it aborts.
    output = run(program, good=False, cwd=directory)
    if not lines_that_name(output, "MPICH", "Open MPI", "libcairn"):
        fail("a program of MPICH should be refused by name", output)
    print("a program of another MPI is refused", flush=True)


def has_pages_whose_links_lead_to_files(prefix, source):
    """README.md, where the installation has it, and the pages of lib/doc."""
    installed = prefix / "share/doc/cairn"
    for page in pages(source):
        here = installed / page.relative_to(source)
        if not here.is_file():
            fail(f"{here.relative_to(prefix)} is not installed")
        for number, target in links_of(here):
            path = target.partition("#")[0]
            if path and not re.match(r"[a-z]+:", path) and not (here.parent / path).is_file():
                fail(f"{here}:{number} links to {target}, which is not installed")
    print("the pages are installed, with all that they link to", flush=True)


def is_uninstalled(build, root):
    prefix = root / "other"
    run("cmake", "--install", build, "--prefix", prefix)
    run("cmake", "--build", build, "--target", "uninstall")
    if left := [str(path) for path in prefix.rglob("*") if not path.is_dir() or path.name == "cairn"]:
        fail("uninstall left files or directories of its own", "\n".join(left))


def main():
    build, source, mpiexec, *what = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    with tempfile.TemporaryDirectory(prefix="cairn-install-") as name:
        root = Path(name)
        if what == ["part"]:
            is_part_of_a_project(source, root, mpiexec)
            return
        run("cmake", "--install", build, "--prefix", root / "first")
        prefix = (root / "first").rename(root / "moved")
        compiler = next((line.split("=")[1] for line in (build / "CMakeCache.txt").read_text().splitlines()
                         if line.startswith("MPI_C_COMPILER:")), "mpicc")  # fmt: skip
        shows_what_is_listed(prefix / "lib", calls_to_intercept(compiler))
        links_in_one_line(prefix, root, mpiexec)
        says_that_it_does_not_intercept(prefix, root, mpiexec)
        is_found_by_cmake(prefix, root, mpiexec)
        says_what_it_did_not_find(prefix, root)
        lives_with_another_hdf5(prefix, root, mpiexec)
        refuses_a_foreign_hdf5(source, root)
        for tool in ("ckpt-run", "ckpt-tool"):
            run(prefix / "bin" / tool, "--help")
            for file in (f"share/man/man1/{tool}.1", f"share/bash-completion/completions/{tool}"):
                if not (prefix / file).is_file():
                    fail(f"{file} is not installed")
        has_pages_whose_links_lead_to_files(prefix, source)
        refuses_another_mpi(prefix, root)
        is_uninstalled(build, root)


if __name__ == "__main__":
    main()
