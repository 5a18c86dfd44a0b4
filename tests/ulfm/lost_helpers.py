#!/usr/bin/env python3
"""Spares that help a replacement to recompute the steps of a lost rank ([replay] helpers).

    lost_helpers.py BINARIES [--only SCENARIO...]
    lost_helpers.py BINARIES --measure 7

BINARIES is where heat, swing, lost_helpers and killer.so are. Each job must end within a minute with the result of a run that
nothing happened to, byte for byte. The log says how many processes have recomputed how many steps.

--measure: how long a replacement of lost_helpers needs to catch up with 1, 2 and 3 helpers, in so many jobs each. A step is
a sleep, which the parts share.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import job as jobs
import lost_job as lost
from half import add_half, half_of
from lost_job import hold, kill
from processes import descendants, program_of

RECOMPUTED = re.compile(r"rank (\d+) and (\d+) spares? have recomputed (\d+) steps")
ALONE = re.compile(r"rank (\d+) recomputes its steps alone: (.*)")
HELPS = re.compile(r"process (\d+) recomputes part (\d+) of (\d+) of rank (\d+)")
TOOK = re.compile(r"has caught up at .* after ([\d.]+) s")

LIMIT = "limit = 3s"  # of [recovery]: a part that waits for another for so long fails
STEPS = 24
L1 = "every 10"


class Helpers:
    def __init__(self, arguments, directory):
        self.binaries = os.path.realpath(arguments.binaries)
        self.directory = directory
        self.killer = str(Path(self.binaries) / "killer.so")
        self.undisturbed = {}
        self.number = 0

    def program(self, name):
        if name in ("heat", "swing"):
            return lost.programs(self.binaries, "lost")[name]
        return lost.Program([str(Path(self.binaries) / "lost_helpers"), name])

    def job(self, name, strikes=(), helpers=1, more="", **settings):
        self.number += 1
        settings = {"steps": STEPS, "l1": L1, "spares": 4} | settings
        return lost.LostJob(self.program(name), self.directory / f"job{self.number}", self.killer, strikes,
                            more=f"{more}\n[replay]\nhelpers = {helpers}", **settings)  # fmt: skip

    def reference(self, name, **shape):
        """Result and calls of a run that nothing happens to."""
        key = name, *shape.items()
        if key not in self.undisturbed:
            job = self.job(name, **shape)
            found = job.end()
            if found.kind() != "none":
                raise jobs.Failed(f"{name}: nothing happened to it, and it was repaired\n{job.output()}")
            self.undisturbed[key] = job.program.result(job), found.lives
            job.close()
        return self.undisturbed[key]

    def after_snapshot(self, name, count, rank=1, **shape):
        """The number of a call of that rank soon after so many snapshot() calls."""
        calls = self.reference(name, **shape)[1][rank, 0]
        return [place for place, call in enumerate(calls) if call == lost.SNAPSHOT][count - 1] + 3

    def play(self, name, strikes, act=lambda job: None, helpers=3, pause_ms=0, kind="local", more="", **shape):
        """A job that is struck. Returns what its log says. If a survivor crashes inside MPI, two are lost: once more."""
        for _ in range(3):
            texts = self.play_once(name, strikes, act, helpers, pause_ms, kind, more, shape)
            if not any(lost.CRASH in line for line in texts):
                break
            print("lost_helpers: a survivor crashed inside MPI; once more", flush=True)
        return texts

    def play_once(self, name, strikes, act, helpers, pause_ms, kind, more, shape):
        result, calls = self.reference(name, **shape)
        job = self.job(name, strikes, helpers, more, pause_ms=pause_ms, **shape)
        try:
            act(job)
            found = job.end(result)
            if found.kind() != kind:
                raise jobs.Failed(f"{found.kind()}, not {kind}: {'; '.join(found.everyone)}")
            if kind == "local":
                lost.expect_same_calls(found, calls)
            texts = [line.partition(" ")[2] for line in job.lines]
            return texts
        except jobs.Failed as error:
            raise jobs.Failed(f"{name}, {' '.join(strikes)}: {error}\n{job.report()}") from None
        finally:
            job.close()


def recomputed(texts):
    """By rank: spares and steps, of each time."""
    return [tuple(map(int, found.groups())) for line in texts if (found := RECOMPUTED.search(line))]


def alone(texts):
    return [found[2] for line in texts if (found := ALONE.search(line))]


def helpers_of(job):
    """Processes that have begun to help, with the number of parts."""
    with job.lock:
        return [tuple(map(int, found.groups())) for line in job.lines if (found := HELPS.search(line))]


def expect(what, found, expected, texts=()):
    if found != expected:
        raise jobs.Failed(f"{what}: {found}, not {expected}\n" + "\n".join(texts[-60:]))


def expect_steps(texts, rank, spares, least=5):
    found = recomputed(texts)
    if len(found) != 1 or found[0][:2] != (rank, spares) or found[0][2] < least:
        raise jobs.Failed(f"recomputed (rank, spares, steps): {found}, not {rank} with {spares} spares and {least} steps\n"
                          + "\n".join(texts[-60:]))  # fmt: skip


class Scenarios(Helpers):
    """Each is a promise in a sentence."""

    def spares_recompute_the_steps_of_any_lost_rank(self):
        for name in ("heat", "right"):
            for rank in (0, 1, 3):
                place = self.after_snapshot(name, 18, rank)
                expect_steps(self.play(name, [kill(rank, place)]), rank, 2)

    def spares_recompute_in_a_c_program(self):
        for rank in (0, 2):
            expect_steps(self.play("swing", [kill(rank, self.after_snapshot("swing", 18, rank))]), rank, 2)

    def spares_recompute_steps_with_collective_calls(self):
        for rank in (0, 1, 3):
            expect_steps(self.play("sums", [kill(rank, self.after_snapshot("sums", 18, rank))]), rank, 2)

    def spares_recompute_what_came_before_the_first_snapshot(self):
        for name in ("heat", "right"):
            expect_steps(self.play(name, [kill(1, self.after_snapshot(name, 8))]), 1, 2)

    def more_parts_than_rows_come_to_the_same(self):
        program = self.program("heat")
        heat = lost.Program([program.command[0], "--size", "9", "--width", "5"])
        self.program = lambda name, small=heat: small
        self.undisturbed.clear()
        expect_steps(self.play("heat", [kill(1, self.after_snapshot("heat", 18))], helpers=4), 1, 3)
        del self.program
        self.undisturbed.clear()

    def a_neighbour_that_dies_later_is_replaced_locally_too(self):
        for name in ("heat", "right"):
            strikes = [kill(1, self.after_snapshot(name, 16)), kill(2, self.after_snapshot(name, 19, 2))]
            texts = self.play(name, strikes)
            expect("ranks", [rank for rank, _, _ in recomputed(texts)], [1, 2], texts)

    def one_that_was_helped_dies_again(self):
        for name in ("heat", "right"):
            place = self.after_snapshot(name, 16)
            restored = self.reference(name)[1][1, 0].index(lost.RESTORE) + 4
            texts = self.play(name, [kill(1, place), kill(1, restored, life=1)])
            expect("ranks", [rank for rank, _, _ in recomputed(texts)], [1, 1], texts)

    def two_that_die_at_once_compute_alone(self):
        place = self.after_snapshot("right", 18)

        def act(job):
            for rank in (1, 2):
                job.wait_for_hold(rank)
            for pid in [job.process_of(rank) for rank in (1, 2)]:
                os.kill(pid, 9)

        texts = self.play("right", [hold(1, place), hold(2, place)], act)
        expect("recomputed", recomputed(texts), [])

    def a_replacement_computes_alone_where_no_spare_is_left(self):
        strikes = [kill(1, self.after_snapshot("right", 16)), kill(2, self.after_snapshot("right", 19, 2))]
        texts = self.play("right", strikes, helpers=2, spares=2)
        expect("recomputed", [found[:2] for found in recomputed(texts)], [(1, 1)])

    def the_others_go_on_without_a_helper_that_dies(self):
        for helpers, left in ((3, 1), (2, 0)):
            place = self.after_snapshot("right", 18)

            def act(job):
                job.wait_for("a spare to help", lambda: helpers_of(job))
                os.kill(helpers_of(job)[0][0], 9)

            texts = self.play("right", [kill(1, place)], act, helpers=helpers, pause_ms=60)
            if left:
                expect_steps(texts, 1, left)
            else:
                expect("recomputed", recomputed(texts), [])
                expect("alone", len(alone(texts)), 1)

    def a_rank_may_die_while_spares_help(self):
        for victim in (0, 1, 3):
            place = self.after_snapshot("right", 18)

            def act(job):
                job.wait_for("a spare to help", lambda: helpers_of(job))
                os.kill(job.process_of(victim), 9)

            self.play("right", [kill(1, place)], act, pause_ms=60)

    def a_head_may_die_while_spares_help(self):
        place = self.after_snapshot("right", 18)

        def act(job):
            job.wait_for("a spare to help", lambda: helpers_of(job))
            os.kill(job.find("head"), 9)

        self.play("right", [kill(1, place)], act, pause_ms=60)

    def parts_that_are_wrong_are_refused_and_the_replacement_computes_alone(self):
        for what in ("sends", "leaves-out", "receives", "throws", "early", "cuts", "leaves-sums", "none"):
            texts = self.play(what, [kill(1, self.after_snapshot(what, 18))], more=LIMIT)
            expect(f"{what}: recomputed", recomputed(texts), [])
            expect(f"{what}: alone", len(alone(texts)), 1)

    def new_processes_are_helped_too(self):
        place = self.after_snapshot("right", 18, mode="respawn", spares=2)
        # They do not load killer.so, so they list no calls.
        expect_steps(self.play("right", [kill(1, place)], kind="none", mode="respawn", spares=2), 1, 2)

    def helpers_that_there_cannot_be_are_refused(self):
        for more, names in (("helpers = 5", ["[replay] helpers", "[recovery] spares"]), ("helpers = 0", ["[replay] helpers"])):
            self.number += 1
            job = lost.LostJob(self.program("right"), self.directory / f"job{self.number}", self.killer, (), spares=4,
                               more=f"[replay]\n{more}")  # fmt: skip
            def said(job=job, names=names):
                return [line for line in job.lines if all(name in line for name in names)]

            def is_over(job=job):
                return not any(program_of(pid) == job.program.command[0] for pid in descendants(job.process.pid))

            # mpirun may stay, if several processes end with a code.
            job.wait_for("the error", said)
            job.wait_for("the end of all processes", is_over)
            expect(f"{more}: lines that say so", len(said()), 1)
            job.close()


def measure(scenarios, jobs_each):
    took = {helpers: [] for helpers in (1, 2, 3)}
    shape = {"steps": 60, "l1": "every 50"}
    place = scenarios.after_snapshot("right", 45, **shape)
    for _ in range(jobs_each):
        for helpers in took:
            texts = scenarios.play("right", [kill(1, place)], helpers=helpers, pause_ms=20, **shape)
            took[helpers] += [float(found[1]) for line in texts if (found := TOOK.search(line))]
    for helpers, times in took.items():
        print(f"lost_helpers: {helpers} helpers: {statistics.median(times):.3f} s of {len(times)} "
              f"({min(times):.3f} to {max(times):.3f} s), {statistics.median(took[1]) / statistics.median(times):.2f} times "
              "as fast as one", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--measure", type=int, default=0)
    add_half(parser)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="cairn-helpers-") as directory:
        scenarios = Scenarios(arguments, Path(directory))
        if arguments.measure:
            return measure(scenarios, arguments.measure)
        names = [name for name in vars(Scenarios) if not name.startswith("_")]
        for name in arguments.only or half_of(names, arguments.half, "lost_helpers"):
            began = time.monotonic()
            try:
                getattr(scenarios, name)()
            except jobs.Failed as error:
                print(f"lost_helpers: {name}: FAILED: {error}", file=sys.stderr, flush=True)
                failed += 1
                for job in list(jobs.Job.running):
                    job.close()
                continue
            print(f"lost_helpers: {name.replace('_', ' ')}, {time.monotonic() - began:.1f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
