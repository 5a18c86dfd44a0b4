#!/usr/bin/env python3
"""Kills processes of jobs with [recovery] rollback = lost, each before a given call, and sees that only they roll back.

    lost.py BINARIES [--kills 4 | --all] [--draw SEED] [--only SCENARIO...] [--half SEED] [--rollback all] [--mode respawn]
    lost.py BINARIES --soak 50 [--seed 1]

BINARIES is where gradient, heat, swing, wave, lost_steps and the like, killer.so and ckpt-tool are. A rank of each program is killed
before one of its calls of MPI and Cairn, in one job after another: --kills of them for each program and rank, spread
over all calls, or --all. --draw moves these places, differently for each program and rank; the same seed gives the same
places. The other scenarios play two deaths in one job, of ranks, replacements and heads. Each job must end within a
minute with the result of a run that nothing happened to, byte for byte. No survivor may roll back unless the log says
that everyone does.

--soak plays so many jobs in which ranks and heads are killed at random times, one or two at once.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import job as jobs
import lost_job as lost
from half import add_half, half_of
from lost_job import hold, kill
from scenarios import everyone_on

class Lost:
    RANKS = 4  # of each job

    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory
        self.killer = os.path.realpath(Path(arguments.binaries) / "killer.so")
        self.programs = lost.programs(os.path.realpath(arguments.binaries), arguments.rollback)
        self.undisturbed = {}
        self.count = lost.Count()
        self.number = 0

    def job(self, name, strikes=(), **settings):
        self.number += 1
        settings = {"rollback": self.arguments.rollback, "mode": self.arguments.mode} | settings
        settings.setdefault("spares", 3 if settings["mode"] == "spares" else 0)
        return self.make(self.programs[name], self.directory / f"job{self.number}", strikes, settings)

    def make(self, program, directory, strikes, settings):
        return lost.LostJob(program, directory, self.killer, strikes, **settings)

    def reference(self, name, **shape):
        """Result and calls of a run that nothing happens to."""
        key = name, *shape.values()
        if key not in self.undisturbed:
            job = self.job(name, **shape)
            found = job.end()
            if found.kind() != "none" or found.local or found.everyone:
                raise jobs.Failed(f"{name}: nothing happened to it, and it was repaired\n{job.output()}")
            self.undisturbed[key] = job.program.result(job), found.lives
            job.close()
        return self.undisturbed[key]

    def end(self, name, job, reference):
        """It must have the right result. Returns its recoveries."""
        result, calls = reference
        found = job.end(result)
        # Processes that MPI_Comm_spawn starts do not load killer.so, so they list no calls.
        if self.arguments.rollback == "lost" and job.mode == "spares":
            found.expect_agreement(job)
        if found.kind() == "local":
            lost.expect_same_calls(found, calls)
        lost.expect_steps(job, found)
        self.count.add(found)
        job.close()
        return found

    def play(self, name, strikes, act=lambda job: None, shape=None, **settings):
        """A job that is struck; `act` may do something meanwhile. `shape`: of it and of the undisturbed one. Returns
        its recoveries."""
        shape = shape or {}
        reference = self.reference(name, **shape)
        for _ in range(3):
            job = self.job(name, strikes, **shape, **settings)
            try:
                act(job)
                return self.end(name, job, reference)
            except jobs.MpirunCrashed as error:
                print(f"lost: {error}; once more", flush=True)
                job.close()
            except jobs.Failed as error:
                report = job.report()
                job.close()
                raise jobs.Failed(f"{name}, {' '.join(strikes)}: {error}\n{report}") from None
        raise jobs.MpirunCrashed(f"{name}, {' '.join(strikes)}: mpirun crashed three times")

    def soak(self, number, random_source):
        """Some are killed wherever they are, also inside MPI calls."""
        name = random_source.choice(["heat", "steps"])
        kills = random_source.randint(1, 4)

        def act(job):
            job.wait_for("its ranks", lambda: len(job.lives()) >= 4)
            for _ in range(kills):
                time.sleep(random_source.uniform(0, 0.4))
                jobs.kill_some(job, random_source, random_source.choice([1, 1, 2]))

        found = self.play(name, [], act, {"steps": 100, "spares": 10}, pause_ms=5)
        print(f"lost: job {number}: {name}: {found.replaced} replaced, {found.kind()}: {found.local} local; "
              f"{'; '.join(found.everyone)}", flush=True)  # fmt: skip

    def expect_local(self, found, strikes):
        if self.arguments.rollback == "all" or found.kind() == "local":
            return
        # A survivor may crash inside MPI. Then two have died, and what one received from any rank only the other knew.
        if found.crashes:
            return
        why = "; ".join(found.everyone) or "it does not say why"
        raise jobs.Failed(f"{' '.join(strikes)}: {found.kind()}, not only the lost rolled back: {why}\n"
                          f"{found.output}\n{lost.last_calls(found.lives)}")  # fmt: skip

    def sweep(self, name, rank):
        """Kills before calls of a rank in turn."""
        _, lives = self.reference(name)
        calls = lives[rank, 0]
        before = lost.Count()
        # Where only neighbours exchange, each step shows that ranks have restored that are one farther away. In the last
        # ones, ranks may be at the end of the program.
        snapshots = [place for place, call in enumerate(calls) if call == lost.SNAPSHOT]
        loop = range(snapshots[self.RANKS - 1], snapshots[-4])
        count = len(calls) if self.arguments.all else self.arguments.kills
        for place in chosen(len(calls), count, f"{self.arguments.draw} {name} {rank}" if self.arguments.draw else None):
            strikes = [kill(rank, place + 1)]
            try:
                found = self.play(name, strikes)
            except jobs.MpirunCrashed as error:
                # Over TCP a daemon crashes if a rank dies right before its last call. That is the only one, or it counts.
                if place < snapshots[-1]:
                    raise
                print(f"lost: {error}", flush=True)
                before.jobs[lost.NOT_PLAYED] += 1
                self.count.jobs[lost.NOT_PLAYED] += 1
                continue
            before.add(found)
            before.places.append(place + 1)
            if self.arguments.verbose:
                why = "; ".join(found.everyone)
                at = f"{name}: rank {rank} before call {place + 1}, {calls[place]}"
                print(f"lost: {at}: {found.kind()} {why}", *found.crash_lines, sep="\n  ", flush=True)
            if place in loop:
                self.expect_local(found, strikes)
        return before


def chosen(length, count, seed=None):
    """So many places of a list, spread over it: in the middle of as many equal parts, or where the seed draws them."""
    count = min(count, length)
    offset = length // 2 if seed is None else random.Random(seed).randrange(length)
    return [(length * i + offset) // count for i in range(count)]


class Scenarios(Lost):
    """Each is a promise in a sentence."""

    HELPERS = ("HELPERS", "lose_a_node", "shown_by_hang", "places", "restored")

    def heat_survives_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("heat", rank) for rank in (1, 0)]

    def gradient_survives_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("gradient", rank) for rank in (1, 0)]

    def swing_survives_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("swing", rank) for rank in (2,)]

    def wave_survives_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("wave", rank) for rank in (3,)]

    def steps_of_every_kind_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("steps", rank) for rank in (1, 2)]

    def collectives_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("short", rank) for rank in (1, 0)] + [self.sweep("long", 2)]

    def messages_on_derived_communicators_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("derived", rank) for rank in (1, 3)]

    def communicators_that_are_made_after_restore_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("communicators", rank) for rank in (1, 3)]

    def collectives_among_neighbours_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("neighbours", rank) for rank in (1, 2)]

    def particles_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("particles", rank) for rank in (0, 2)]

    def messages_from_any_rank_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("any", rank) for rank in (1, 2)]

    def a_master_that_polls_and_its_workers_survive_the_death_of_a_rank_before_any_of_its_calls(self):
        return [self.sweep("master", rank) for rank in (0, 2)]

    def a_rank_dies_while_no_rank_can_continue(self):
        """A replacement waits in a barrier to which nobody comes. By then it may have asked the others, or may not."""
        for name, place in self.places("barrier"):
            for wait_s in (0.5, 2.0, 2.1):
                found = self.play(name, [hold(1, place)], lambda job, wait_s=wait_s: kill_after_replacement(job, 2, wait_s))
                if self.arguments.rollback == "lost" and found.rolled_back == 0:
                    raise jobs.Failed(f"{name}: {found.kind()}, and nobody came to the barrier")

    def two_neighbours_die_at_the_same_call(self):
        for name, place in self.places("heat", "steps", "long", "derived", "particles", "any", "neighbours"):
            strikes = [hold(1, place), hold(2, place)]
            self.expect_local(self.play(name, strikes, kill_held), strikes)
        # Whom one heard of first, only the other knew.
        for name, place in self.places("short"):
            found = self.play(name, [hold(1, place), hold(2, place)], kill_held)
            if self.arguments.rollback == "lost" and found.kind() != "global":
                raise jobs.Failed(f"{name}: {found.kind()}, not global")

    def a_neighbour_dies_while_a_replacement_catches_up(self):
        for name, place in self.places("heat", "steps", "short", "any"):
            strikes = [kill(1, place), hold(1, self.restored(name), life=1)]
            self.expect_local(self.play(name, strikes, lambda job: kill_at_hold(job, [2], held=(1, 1))), strikes)

    def the_fastest_rank_dies_while_a_replacement_catches_up(self):
        """It alone has made the newest snapshot() calls."""
        calls = self.reference("heat")[1][0, 0]
        snapshots = [place for place, call in enumerate(calls) if call == lost.SNAPSHOT]
        strikes = [kill(0, snapshots[6] + 1), hold(0, calls.index(lost.RESTORE) + 3, life=1)]
        self.expect_local(self.play("heat", strikes, lambda job: kill_at_hold(job, [3], held=(0, 1))), strikes)

    def a_replacement_dies_while_it_catches_up(self):
        for name, place in self.places("heat", "steps", "short", "any"):
            strikes = [kill(1, place), kill(1, self.restored(name), life=1)]
            self.expect_local(self.play(name, strikes), strikes)

    def all_ranks_roll_back_if_the_second_replacement_dies_while_it_catches_up(self):
        for name, place in self.places("heat", "any"):
            strikes = [kill(1, place), *(kill(1, self.restored(name), life=life) for life in (1, 2))]
            found = self.play(name, strikes)
            if self.arguments.rollback == "lost" and (found.local, len(found.everyone)) != (2, 1):
                raise jobs.Failed(f"{name}: only the lost rolled back {found.local} times, then: {found.everyone}")

    def a_third_death_is_local_if_the_second_replacement_has_caught_up(self):
        shape = {"steps": 24}
        calls = self.reference("heat", **shape)[1][1, 0]
        snapshots = [place for place, call in enumerate(calls) if call == lost.SNAPSHOT]
        restored = calls.index(lost.RESTORE) + 3
        later = restored + snapshots[14] - snapshots[5]
        strikes = [kill(1, snapshots[7] + 3), kill(1, restored, life=1), kill(1, later, life=2)]
        found = self.play("heat", strikes, shape=shape)
        self.expect_local(found, strikes)
        if self.arguments.rollback == "lost" and found.local != 3:
            raise jobs.Failed(f"only the lost rolled back {found.local} times, not 3 times")

    def a_replacement_dies_before_it_restores(self):
        for name, place in self.places("heat", "short", "derived"):
            self.play(name, [kill(1, place), kill(1, max(1, self.restored(name) // 2), life=1)])

    def a_head_dies_beside_a_rank(self):
        for name, place in self.places("heat"):
            strikes = [hold(1, place)]
            self.play(name, strikes, lambda job: kill_at_hold(job, [1], heads=True, held=(1, 0)))

    def a_head_dies_alone(self):
        for name, place in self.places("heat"):
            self.play(name, [hold(1, place)], lambda job: kill_at_hold(job, [], heads=True, held=(1, 0)))

    def hang_shows_the_processes_that_have_replaced_dead_ones(self):
        for name, place in self.places("heat"):
            shown = []

            def act(job, shown=shown):
                kill_at_hold(job, [1], heads=True, held=(1, 0))
                job.wait_for_hold(1, life=1)
                expected = [job.find("head")], [job.process_of(rank) for rank in range(4)]
                shown.append((expected, self.shown_by_hang(job)))
                job.let_go(1, life=1)

            self.play(name, [hold(1, place), hold(1, 3, life=1)], act)
            for expected, found in shown:
                if found != expected:
                    raise jobs.Failed(f"the head and the ranks are processes {expected}, ckpt-tool hang shows {found}")

    def a_rank_dies_after_all_others_have_finished(self):
        _, calls = self.reference("steps")
        # Rank 0 takes what the others have sent it; they are through.
        strikes = [hold(0, len(calls[0, 0]) - 4)]

        def others_are_through(job):
            lives = job.lives()
            return all((rank, 0) in lives and lives[rank, 0] == calls[rank, 0][: len(lives[rank, 0])]
                       and len(lives[rank, 0]) >= len(calls[rank, 0]) - 2 for rank in (1, 2, 3))

        def act(job):
            job.wait_for_hold(0)
            job.wait_for("the others to be through", lambda: others_are_through(job))
            os.kill(job.process_of(0), signal.SIGKILL)

        self.expect_local(self.play("steps", strikes, act), strikes)

    def a_lost_node_rolls_back_alone_if_logs_survive_nodes(self):
        for survives, kind in [("node", "local"), ("process", "global")]:
            found = self.lose_a_node(survives)
            if self.arguments.rollback == "lost" and found.kind() != kind:
                raise jobs.Failed(f"{survives}: {found.kind()}, not {kind}: {'; '.join(found.everyone)}")

    def a_log_that_fills_makes_ranks_take_a_snapshot(self):
        """All messages of the job need twice the memory, and no snapshot is due."""
        shape = {"steps": 100, "l1": "every 1000"}
        calls = self.reference("patient", **shape)[1][1, 0]
        snapshots = [place for place, call in enumerate(calls) if call == lost.SNAPSHOT]
        strikes = [kill(1, snapshots[90] + 3)]
        more = "[replay]\nmemory = 16MiB" if self.arguments.rollback == "lost" else ""
        self.expect_local(self.play("patient", strikes, shape=shape, more=more), strikes)

    def survivors_sleep_while_a_replacement_catches_up(self):
        """Who asks again and again sleeps only if another process takes its processor."""
        for name, place in self.places("heat"):
            used = []
            strikes = [kill(1, place), hold(1, self.restored(name), life=1)]
            found = self.play(name, strikes, lambda job, used=used: used.extend(watch_survivors(job)))
            self.expect_local(found, strikes)
            if self.arguments.rollback == "lost" and any(seconds > 0.01 * sleeps for seconds, sleeps in used):
                raise jobs.Failed(f"survivors wait for {used} seconds of a processor, and sleep so often meanwhile")

    def new_processes_take_over_where_no_spare_is_left(self):
        for name, place in self.places("heat", "steps"):
            strikes = [kill(1, place), kill(2, place + 5, life=0)]
            self.play(name, strikes, mode="respawn", spares=0)

    def lose_a_node(self, survives):
        """All processes of a node die at once, and there is another node of spares. Its last snapshot on L2 is old."""
        shape = {"ranks": 6, "spares": 3, "node_size": "3", "l2": "every 12", "steps": 24}
        calls = self.reference("heat", **shape)[1][2, 0]
        strikes = [hold(2, [place for place, call in enumerate(calls) if call == lost.SNAPSHOT][20] + 3)]

        def act(job):
            job.wait_for_hold(2)
            # Heads promote meanwhile, and what the job prints may come later than what it does.
            job.wait_for("a snapshot on L2", lambda: job.says("is safe at L2"))
            job.wait_for("all processes of node0001 to be known", lambda: len(everyone_on(job, "node0001")) == 3)
            for pid in everyone_on(job, "node0001"):
                jobs.send(pid, signal.SIGKILL)

        more = f"[replay]\nsurvives = {survives}" if self.arguments.rollback == "lost" else ""
        return self.play("heat", strikes, act, shape, more=more)

    def shown_by_hang(self, job):
        """The processes of heads and of ranks that are alive, as ckpt-tool hang shows them."""
        tool = os.path.realpath(Path(self.arguments.binaries) / "ckpt-tool")
        command = [tool, "hang", "--config", str(job.directory / "heat.ini"), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == 2:
            raise jobs.Failed(f"ckpt-tool hang: {done.stderr}")
        report = json.loads(done.stdout)
        return tuple([one["process"] for one in report[kind] if one["state"] != "dead"] for kind in ("heads", "ranks"))

    def places(self, *names):
        """Of a call in the loop of a middle rank, between two snapshots: its number."""
        for name in names:
            _, lives = self.reference(name)
            calls = lives[1, 0]
            snapshots = [place for place, call in enumerate(calls) if call == lost.SNAPSHOT]
            yield name, snapshots[7] + 3

    def restored(self, name):
        """The number of the second call of rank 1 after restore(), in any of its processes."""
        return self.reference(name)[1][1, 0].index(lost.RESTORE) + 3


def kill_after_replacement(job, rank, wait_s):
    """Kills rank 1 where it is held, once there is a snapshot, and then this one. Without a snapshot a replacement gets
    the messages of the barrier."""
    job.wait_for_hold(1)
    job.wait_for("a snapshot", lambda: list(job.directory.glob("local/job/v*/manifest.json")))
    os.kill(job.process_of(1), signal.SIGKILL)
    job.wait_for("a replacement of rank 1", lambda: (1, 1) in job.lives())
    time.sleep(wait_s)
    os.kill(job.process_of(rank), signal.SIGKILL)


def kill_held(job):
    for rank in (1, 2):
        job.wait_for_hold(rank)
    for pid in [job.process_of(rank) for rank in (1, 2)]:
        os.kill(pid, signal.SIGKILL)


def kill_at_hold(job, ranks, held, heads=False):
    """While a rank is held, kills these and the head; then the held one goes on if it lives."""
    job.wait_for_hold(*held)
    pids = [job.process_of(rank) for rank in ranks] + ([job.find("head")] if heads else [])
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    job.let_go(*held)


def watch_survivors(job):
    """Of each survivor, while a replacement is held for a second: what it uses of a processor, and how often it sleeps."""
    job.wait_for_hold(1, life=1)
    pids = [job.process_of(rank) for rank in (0, 2, 3)]
    time.sleep(0.3)
    before = [work_of(pid) for pid in pids]
    time.sleep(1)
    used = [tuple(now - then for now, then in zip(work_of(pid), start)) for pid, start in zip(pids, before)]
    job.let_go(1, life=1)
    return used


def work_of(pid):
    """Of a process's first thread: the seconds of a processor, and how often it has gone to sleep of itself."""
    thread = Path(f"/proc/{pid}/task/{pid}")
    fields = (thread / "stat").read_text().rpartition(")")[2].split()
    sleeps = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (thread / "status").read_text(), re.MULTILINE)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(sleeps.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draw", metavar="SEED", help="draw the calls that ranks are killed before")
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rollback", choices=["lost", "all"], default="lost", help="all: what the tests make of that")
    parser.add_argument("--mode", choices=["spares", "respawn"], default="spares")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--go-on", action="store_true", help="after a scenario that failed, too")
    add_half(parser)
    arguments = parser.parse_args()
    names = [name for name in vars(Scenarios) if not name.startswith("_") and name not in Scenarios.HELPERS]
    start = time.monotonic()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="cairn-lost-") as directory:
        scenarios = Scenarios(arguments, Path(directory))
        if arguments.soak:
            names = [f"job_{number}" for number in range(1, arguments.soak + 1)]
            random_source = random.Random(arguments.seed)
        for name in arguments.only or half_of(names, arguments.half, "lost"):
            began = time.monotonic()
            try:
                counts = scenarios.soak(name, random_source) if arguments.soak else getattr(scenarios, name)()
            except jobs.Failed as error:
                print(f"lost: {name}: FAILED: {error}", file=sys.stderr, flush=True)
                failed += 1
                for job in list(jobs.Job.running):
                    job.close()
                if not arguments.go_on:
                    break
                continue
            told = "".join(f"; {count}" for count in counts or [])
            print(f"lost: {name.replace('_', ' ')}, {time.monotonic() - began:.1f} s{told}", flush=True)
        took = time.monotonic() - start
        print(f"lost: {scenarios.number} jobs; recoveries: {scenarios.count}; {took:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
