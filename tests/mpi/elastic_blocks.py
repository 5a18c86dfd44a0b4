#!/usr/bin/env python3
"""A job is killed again and again, and each time restarted on another number of ranks and nodes; now and then a node is
lost in between. In the end its arrays are those of an undisturbed run, bit by bit.

    elastic_blocks.py CKPT_RUN PROGRAM [CHAINS [LIVES [SEED]]]

PROGRAM is that of elastic_blocks.cpp.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ckpt_run, program = sys.argv[1:3]
given = [int(number) for number in sys.argv[3:6]]
chains, lives, seed = given + [1, 5, 1][len(given) :]
draw = random.Random(seed)
STEPS = 400
MOST_RANKS = 9
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
[topology]
node_size = {node_size}
[restart]
elastic = on
"""


def run(work, per_node, ranks, dies_at=0):
    """The exit code, and what was printed. With `dies_at`, a drawn rank kills itself before that step's snapshot."""
    config = work / "job.ini"
    config.write_text(CONFIG.format(work=work, node_size=per_node + 1))
    command = ["timeout", "-s", "KILL", LIMIT_S, ckpt_run, "-n", ranks, "--max-restarts", 0, "--mpi-options",
               "--oversubscribe --bind-to none", "--config", config, "--", program, config, STEPS, dies_at,
               draw.randrange(ranks), work / "result"]  # fmt: skip
    ended = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return ended.returncode, ended.stdout


def place():
    """Ranks of a node, and ranks."""
    while True:
        per_node, nodes = draw.randint(1, 3), draw.randint(2, 4)
        if per_node * nodes <= MOST_RANKS:
            return per_node, per_node * nodes


def lose_a_node(work):
    gone = draw.choice(sorted((work / "local").glob("node*")))
    shutil.rmtree(gone)
    return gone.name


def chain(work):
    """The result, and the story of it."""
    step, story = 0, []
    for life in range(lives):
        per_node, ranks = place()
        dies_at = step + draw.randint(3, STEPS // lives)
        code, output = run(work, per_node, ranks, dies_at)
        story.append(f"{ranks} ranks, {per_node} on a node, die at step {dies_at}")
        found = re.search(r"continues at step (\d+), of (\d+) ranks", output)
        if code == 0 or bool(found) != (life > 0):
            raise AssertionError(f"seed {seed}: {story}\ncode {code}\n{output}")
        step = dies_at
        if draw.random() < 0.4:
            story.append(f"{lose_a_node(work)} is lost")
    per_node, ranks = place()
    code, output = run(work, per_node, ranks)
    if code != 0 or "continues at step" not in output:
        raise AssertionError(f"seed {seed}: {story}\ncode {code}\n{output}")
    return (work / "result").read_bytes(), [*story, f"{ranks} ranks end"]


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    with tempfile.TemporaryDirectory(prefix="cairn-elastic-") as directory:
        code, output = run(Path(directory), 2, 4)
        if code != 0:
            raise AssertionError(output)
        expected = Path(directory, "result").read_bytes()
    for _ in range(chains):
        with tempfile.TemporaryDirectory(prefix="cairn-elastic-") as directory:
            result, story = chain(Path(directory))
            if result != expected:
                raise AssertionError(f"seed {seed}: {story}\nthe result differs")
            print(f"the same result: {'; '.join(story)}", flush=True)


if __name__ == "__main__":
    main()
