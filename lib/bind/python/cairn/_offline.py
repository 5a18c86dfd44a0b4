"""Snapshots as arrays: read by ckpt-tool, without MPI and without a part in the job, which may run meanwhile."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, TypeVar, Union

import numpy

from ._errors import Error

TextPath = Union[str, "os.PathLike[str]"]
Key = TypeVar("Key")
Entry = TypeVar("Entry")
_SOME_LEFT_OUT = 1  # exit code of ckpt-tool export --partial


def open(directory: Optional[TextPath] = None, *, local: Union[TextPath, Iterable[TextPath]] = (),
         config: Optional[TextPath] = None, key_file: Optional[TextPath] = None) -> Jobs:
    """The jobs whose snapshots are there: `cairn.open("checkpoints")["heat"][52]["plate"]` is an array.

    directory: a global store, as [storage] global names it. local: directories of node stores, as [storage] local does;
    those of other nodes can be copies. config: the job's INI file, which names all of these. key_file: of a job with a
    key. Needs ckpt-tool, which CAIRN_CKPT_TOOL can name. Changes no store.
    """
    local = [local] if isinstance(local, (str, os.PathLike)) else local
    if directory is None and config is None and not local:
        raise TypeError("cairn.open: name a global store, node stores (local), or a configuration file (config)")
    options = [("--config", config), ("--global", directory), ("--key-file", key_file), *(("--local", one) for one in local)]
    return Jobs([word for option, value in options if value is not None for word in (option, os.fspath(value))])


def _program():
    chosen = os.environ.get("CAIRN_CKPT_TOOL")
    if chosen:
        return chosen
    above = Path(__file__).resolve().parents
    near = [str(directory / "bin" / "ckpt-tool") for directory in above[1:6] if (directory / "bin" / "ckpt-tool").exists()]
    found = near[0] if near else shutil.which("ckpt-tool")
    if found is None:
        raise Error("ckpt-tool is not found: install it, or set CAIRN_CKPT_TOOL to the program")
    return found


def _ask(command, *words, may_end_with=(0,)):
    """What the tool prints; and on stderr."""
    asked = subprocess.run([_program(), command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           errors="backslashreplace", check=False)  # fmt: skip
    said = asked.stderr.strip()
    if asked.returncode not in may_end_with:
        raise Error(said.removeprefix("ckpt-tool: ") or f"{_program()} {command}: exit code {asked.returncode}")
    return asked.stdout, said


class _Table(Mapping[Key, Entry]):
    """What the tool lists, by key. Prints as the tool prints it. Looks anew each time."""

    def __init__(self, options: List[str]) -> None:
        self._options = options

    def _look(self) -> Dict[Key, Entry]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Key]:
        return iter(self._look())

    def __len__(self) -> int:
        return len(self._look())

    def __getitem__(self, key: Key) -> Entry:
        found = self._look()
        if key not in found:
            raise KeyError(f"{key!r}: there are {', '.join(map(str, found)) or 'none'}")
        return found[key]

    def __repr__(self):
        return _ask("list", *self._options, may_end_with=(0, 1, 2))[0].rstrip()


class Jobs(_Table[str, "Job"]):
    """Jobs by name."""

    def _look(self):
        listed = json.loads(_ask("list", *self._options, "--json", may_end_with=(0, 1))[0])
        names = [job["job"] for job in listed["jobs"]] if "jobs" in listed else [listed["job"]]
        return {name: Job([*self._options, "--job", name]) for name in names}


class Job(_Table[int, "Snapshot"]):
    """The snapshots of a job by version, the newest first."""

    def _look(self):
        listed = json.loads(_ask("list", *self._options, "--json", may_end_with=(0, 1))[0])
        return {one["version"]: Snapshot(self._options, one) for one in listed["snapshots"]}

    @property
    def newest(self) -> Snapshot:
        """The newest snapshot that can be read completely."""
        for snapshot in self._look().values():
            if snapshot.recoverable:
                return snapshot
        raise Error("no snapshot can be read completely")


class Snapshot(Mapping[str, numpy.ndarray]):
    """The regions of a snapshot by name, as arrays.

    A region that is a part of one global array on each rank is that array. Others are joined along the first dimension,
    in rank order. Each look at a region reads it from the stores; keep the array if you need it again.
    """

    def __init__(self, options: List[str], listed: Dict[str, Any]) -> None:
        self._options = options
        self._types: Dict[str, str] = {}
        self.version = listed["version"]
        self.incarnation = listed["incarnation"]  # the number of the run that took it
        self.levels = tuple(level for level, complete in listed["levels"].items() if complete)
        self.ranks, self.nodes, self.bytes = listed["ranks"], listed["nodes"], listed["bytes"]
        self.recoverable = listed["recoverable"]  # all of it can be read from the stores that are there
        self.label = listed["label"] or ""
        self.pinned = listed["pinned"]
        self.attributes = listed["attributes"]  # of the snapshot, by name
        self.region_attributes = listed["region_attributes"]  # by region, then by name

    @property
    def types(self) -> Dict[str, str]:
        """Of each region, its type and shape on the lowest rank that has it: `float64[100][20]`."""
        if not self._types:
            shown = json.loads(_ask("inspect", *self._options, "--version", str(self.version), "--json",
                                    may_end_with=(0, 1))[0])  # fmt: skip
            for group in sorted(shown["regions"], key=lambda group: group["ranks"]):
                for region in group["regions"]:
                    self._types.setdefault(region["name"], region["type"])
        return self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, name: str) -> numpy.ndarray:
        return self.read(name)

    def read(self, name: str, rank: Optional[int] = None, partial: bool = False) -> numpy.ndarray:
        """A region as an array that may be changed; the snapshot stays as it is.

        rank: only this rank's part. partial: leaves out ranks whose data is lost, with a warning. The elements that they
        had of a global array are then NaN, or 0.
        """
        if name not in self.types:
            raise KeyError(f"{name!r}: version {self.version} has {', '.join(self.types)}")
        chosen = ["--rank", str(rank)] if rank is not None else []
        with tempfile.TemporaryDirectory(prefix="cairn-") as directory:
            path = Path(directory, "arrays")
            words = [*self._options, *chosen, *(["--partial"] if partial else []), "--to", str(path), "--", str(self.version), name]
            left_out = _ask("export", *words, may_end_with=(0, _SOME_LEFT_OUT) if partial else (0,))[1]
            if left_out:
                warnings.warn(left_out.removeprefix("ckpt-tool: "), stacklevel=2)
            files = list(path.iterdir())
            if len(files) > 1:
                raise ValueError(f"{name!r} differs in type or shape between ranks, or some are missing: choose a rank, as in read({name!r}, rank=0)")
            return _with_its_dtype(_load(files[0]), self.types[name])

    def __repr__(self):
        label = f' "{self.label}"' if self.label else ""
        lines = [f"version {self.version}{label}: {self.ranks} ranks on {self.nodes} nodes, {' '.join(self.levels)}"]
        lines += [f"  {_listed(self.attributes)}"] if self.attributes else []
        for name, what in self.types.items():
            of_region = self.region_attributes.get(name)
            lines.append(f"  {name}: {what}" + (f", {_listed(of_region)}" if of_region else ""))
        return "\n".join(lines)


def _listed(attributes):
    return ", ".join(f"{name} = {value!r}" for name, value in attributes.items())


def _load(file):
    # What is mapped stays after its file is removed.
    try:
        return numpy.load(file, mmap_mode="c")
    except ValueError:  # nothing to map
        return numpy.load(file)


def _with_its_dtype(array, type_text):
    """Elements that are bytes to Cairn, with the dtype that a Python program has given them."""
    named = re.match(r"opaque\(numpy (.*), \d+ B\)", type_text)
    if array.dtype.kind != "V" or not named:
        return array
    try:
        dtype = numpy.dtype(ast.literal_eval(named[1]) if named[1].startswith("[") else named[1])
    except (SyntaxError, TypeError, ValueError):  # a long name is cut
        return array
    return array.view(dtype) if dtype.itemsize == array.dtype.itemsize else array
