#!/usr/bin/env python3
"""Jobs are killed again and again, and each time restarted on another number of ranks and nodes; now and then a node is
lost in between. In the end, each has the result of an undisturbed run, bit by bit.

    elastic.py CKPT_RUN CKPT_TOOL KILLER PROGRAM [CHAINS [LIVES [SEED]]]

KILLER is the library of ../ulfm/killer.cpp. PROGRAM is an example, or that of elastic_blocks.cpp.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = 120
MOST_RANKS = 8
LIMIT_S = 120
CONFIG = """[job]
name = elastic
[storage]
local = {work}/local
global = {work}/global
[levels]
l1 = every 1
l2 = every 2
l3 = off
l4 = every 7
[head]
mode = {mode}
[topology]
node_size = {node_size}
[restart]
elastic = on
[localize]
mode = off
"""
BY_OPTIONS = ["--steps", STEPS, "--config", "{config}", "--output", "{result}"]
ARGUMENTS = {
    "heat": ["--size", 61, "--width", 47, *BY_OPTIONS],
    "swing": BY_OPTIONS,
    "wave": ["{config}", STEPS],  # prints its result
}
OTHERS = ["{config}", STEPS, "{result}"]

ckpt_run, ckpt_tool, killer, program = map(Path, sys.argv[1:5])
given = [int(number) for number in sys.argv[5:8]]
chains, lives, seed = given + [1, 3, 1][len(given) :]
draw = random.Random(seed)


class Shape:
    """Where a life runs."""

    def __init__(self):
        while True:
            per_node, nodes = draw.randint(1, 3), draw.randint(2, 4)
            if per_node * nodes <= MOST_RANKS:
                break
        self.ranks, self.per_node, self.mode = per_node * nodes, per_node, draw.choice(["rank", "inline"])

    def __str__(self):
        return f"{self.ranks} ranks, {self.per_node} on a node, heads {self.mode}"


class Chain:
    """The lives of a job, in a directory of its own."""

    def __init__(self, work):
        self.work, self.config = work, work / "job.ini"
        self.story = []
        self.life = 0

    def fail(self, what, output):
        sys.exit(f"{program.name}, seed {seed}: {'; '.join(self.story)}\n{what}\n{output}")

    def run(self, shape, strike=None):
        """What it prints. With a strike, (rank, call), it must die; otherwise it must end well."""
        self.life += 1
        node_size = shape.per_node + (shape.mode == "rank")
        self.config.write_text(CONFIG.format(work=self.work, mode=shape.mode, node_size=node_size))
        self.calls = self.work / f"calls{self.life}"
        self.calls.mkdir()
        strikes = "kill:{}.0@{}".format(*strike) if strike else ""
        self.story.append(str(shape) + (", rank {} dies before call {}".format(*strike) if strike else ""))
        arguments = [str(word).format(config=self.config, result=self.work / "result")
                     for word in ARGUMENTS.get(program.name, OTHERS)]  # fmt: skip
        command = ["timeout", "-s", "KILL", LIMIT_S, ckpt_run, "-n", shape.ranks, "--max-restarts", 0, "--mpi-options",
                   "--oversubscribe --bind-to none", "--config", self.config, "--", program, *arguments]  # fmt: skip
        ended = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                               env=dict(os.environ, LD_PRELOAD=str(killer), CAIRN_CALLS=str(self.calls), CAIRN_STRIKES=strikes))  # fmt: skip
        if (ended.returncode == 0) != (strike is None):
            self.fail(f"it ended with {ended.returncode}", ended.stdout)
        # None of its first steps: it has continued.
        if self.life > 1 and not re.search(r"(?:continues|starts) at step [1-9]", ended.stdout):
            self.fail("it has not continued", ended.stdout)
        return ended.stdout

    def stores(self):
        return sorted((self.work / "local").glob("node*"))

    def can_do_without(self, stores):
        """Whether the others still have a snapshot: a copy on its way to other nodes may not be there yet."""
        aside = self.work / "aside"
        aside.mkdir()
        for store in stores:
            store.rename(aside / store.name)
        listed = subprocess.run([str(ckpt_tool), "list", "--json", "--config", str(self.config)], stdout=subprocess.PIPE,
                                check=False)  # fmt: skip
        for store in stores:
            (aside / store.name).rename(store)
        aside.rmdir()
        # It fails where no store is left.
        return listed.returncode == 0 and any(one["recoverable"] for one in json.loads(listed.stdout)["snapshots"])

    def lose_a_node(self):
        gone = draw.choice(self.stores())
        if self.can_do_without([gone]):
            shutil.rmtree(gone)
            self.story.append(f"{gone.name} is lost")

    def next_shape(self):
        """On fewer nodes, the stores of the others are not seen."""
        while True:
            shape = Shape()
            nodes = shape.ranks // shape.per_node
            unseen = [store for store in self.stores() if int(store.name.removeprefix("node")) >= nodes]
            if not unseen or self.can_do_without(unseen):
                return shape

    def result(self, output):
        if program.name == "wave":
            return re.search(r"the sum is (\w+)", output)[1]
        return (self.work / "result").read_bytes()


def undisturbed():
    """Its result, and how many calls a rank makes before its first step, and in each."""
    with tempfile.TemporaryDirectory(prefix="cairn-elastic-") as directory:
        chain = Chain(Path(directory))
        output = chain.run(Shape())
        calls = (chain.calls / "calls.0.0").read_text().split()
        snapshots = [number for number, call in enumerate(calls) if call == "cairn_snapshot"]
        if len(snapshots) != STEPS:
            chain.fail(f"rank 0 has called snapshot() {len(snapshots)} times", output)
        return chain.result(output), calls.index("cairn_restore") + 1, snapshots[-1] - snapshots[-2]


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    expected, before, in_step = undisturbed()
    for _ in range(chains):
        with tempfile.TemporaryDirectory(prefix="cairn-elastic-") as directory:
            chain = Chain(Path(directory))
            for _ in range(lives):
                shape = chain.next_shape()
                call = before + draw.randint(3 * in_step, STEPS // (lives + 1) * in_step)
                chain.run(shape, (draw.randrange(shape.ranks), call))
                if draw.random() < 0.5:
                    chain.lose_a_node()
            output = chain.run(chain.next_shape())
            if chain.result(output) != expected:
                chain.fail("the result differs", output)
            print(f"{program.name}: the same result: {'; '.join(chain.story)}", flush=True)


main()
