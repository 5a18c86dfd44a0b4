#!/usr/bin/env python3
"""Jobs on four hosts and a spare one that mend themselves, with ULFM, when processes and hosts are lost.

    ulfm_hosts.py HEAT CKPT_RUN [SCENARIO...]

ckpt-run starts them, and starts them again only where a host is lost with its daemon, which no job survives with Open
MPI 5.0. All end with the plate of a run that nothing happened to, byte for byte. For the root of tests/ulfm.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ulfm"))
import job as jobs  # noqa: E402
from hosts import SUBNET, Hosts  # noqa: E402
from lost_hosts import HOSTS, SPARE  # noqa: E402
from scenarios import PAUSE_MS, STEPS, everyone_on, expect, play_all, roles_on, wait_for_steps  # noqa: E402

RANKS = 5  # two on n1, one on each other host
MPI = (f"--prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_if_include {SUBNET} --mca btl_tcp_if_include {SUBNET}")


class Job(jobs.Job):
    """Its processes are known by their numbers here, not by those that they have on their hosts."""

    def __init__(self, hosts, programs, directory, mode, spares, pause_ms, ranks, spare_hosts):
        self.hosts = hosts
        heat, ckpt_run = programs
        command = [ckpt_run, "-n", ranks, "--spares", str(spares), "--hosts", ",".join(HOSTS),
                   *(["--spare-hosts", SPARE] if spare_hosts else []), "--agent", hosts.agent, "--agent-limit", "5s",
                   "--linger", "1s", "--grace", "1s", "--mpi-options", MPI, "--config"]  # fmt: skip
        super().__init__(heat, directory, mode, RANKS, spares, steps=STEPS, pause_ms=pause_ms, l2="every 10",
                         launcher=hosts.front(command), local="/local")  # fmt: skip

    def learn(self, number, role, node):
        if (here := self.hosts.number_here(node, number)) is not None:
            super().learn(here, role, node)

    def where(self, role):
        with self.lock:
            return self.roles[self.find(role)][1]

    def lose(self, role):
        victim = self.find(role)
        self.goes_on_after(lambda: os.kill(victim, signal.SIGKILL), {victim})

    def lose_all_on(self, host):
        """Its processes, and then its store; the host and mpirun's daemon there live."""
        command = ["sh", "-c", "pkill -KILL -x heat; rm -rf /local/*"]
        self.goes_on_after(lambda: self.hosts.run(host, command, check=True), set(everyone_on(self, host)))

    def goes_on_after(self, loss, victims):
        """Without a restart: mpirun and the other processes stay."""
        others = set(self.workers()) - victims
        at = time.monotonic()
        loss()
        self.expect_entry_after(at)
        if self.restarts():
            raise jobs.MpirunCrashed("a daemon of mpirun crashed")
        expect(self, others <= set(self.workers()), "others ended as well")

    def wait_for_words(self, text):
        self.wait_for(f'the words "{text}"', lambda: self.says(text))


class Scenarios:
    HELPERS = ("HELPERS", "pause_ms", "start", "finish")
    pause_ms = PAUSE_MS

    def __init__(self, programs, directory):
        self.programs = programs
        self.directory = directory
        self.reference = jobs.reference_plate(programs[0], directory / "reference", STEPS)

    def start(self, hosts, mode, spares, ranks=str(RANKS), spare_hosts=True):
        directory = self.directory / f"job{len(list(self.directory.iterdir()))}"
        job = Job(hosts, self.programs, directory, mode, spares, self.pause_ms, ranks, spare_hosts)
        job.wait_for_start()
        wait_for_steps(job, 1)
        return job

    def finish(self, job, restarted=False):
        job.finish(patience_s=60)
        expect(job, bool(job.restarts()) == restarted, "it was not restarted" if restarted else "it was restarted")
        expect(job, job.process.returncode == 0, f"ckpt-run ended with {job.process.returncode}")
        expect(job, job.plate.exists() and job.plate.read_bytes() == self.reference, "the plate is missing or differs")
        job.close()

    def spares_of_another_host_take_over_a_lost_host_and_a_lost_rank(self, hosts):
        job = self.start(hosts, "spares", spares=3)
        job.lose_all_on("n2")
        expect(job, job.where("rank 2") == SPARE and "head" in roles_on(job, SPARE), "the spare host has not taken over")
        job.wait_for_words("rank 2 from L2")
        job.lose("rank 0")
        expect(job, job.where("rank 0") == SPARE, "the last spare has not taken over")
        self.finish(job)

    def new_processes_come_to_the_host_of_the_dead_and_to_the_spare_host_when_nobody_lives_there(self, hosts):
        job = self.start(hosts, "respawn", spares=0)
        expect(job, roles_on(job, SPARE) == ["a spare"], "nobody waits on the spare host")
        for _ in range(2):
            job.lose("rank 2")
            expect(job, job.where("rank 2") == "n2", "the new process is elsewhere")
        job.lose_all_on("n2")
        expect(job, job.where("rank 2") == SPARE and "head" in roles_on(job, SPARE), "the spare host has not taken over")
        job.wait_for_words("rank 2 from L2")
        self.finish(job)

    def new_processes_come_to_the_spare_host_when_theirs_cannot_run_the_program(self, hosts):
        job = self.start(hosts, "respawn", spares=0)
        hosts.run("n1", ["mount", "--bind", "/dev/null", self.programs[0]], check=True)
        job.lose("rank 0")
        job.wait_for_words("no new process could be started on n1")
        job.wait_for_words("rank 0 from L1, moved from node")
        expect(job, job.where("rank 0") == SPARE, "the new process is elsewhere")
        self.finish(job)

    def a_host_that_goes_down_with_its_daemon_is_replaced_by_a_restart(self, hosts):
        job = self.start(hosts, "spares", spares=1)
        hosts.kill("n3")
        self.finish(job, restarted=True)
        expect(job, job.says("lost: n3; restart 1"), "it does not say which host is lost")

    def a_host_that_goes_down_when_the_last_spare_is_used_leaves_a_job_of_fewer_ranks(self, hosts):
        job = self.start(hosts, "spares", spares=1, ranks=f"2:{RANKS}", spare_hosts=False)
        job.lose("rank 0")
        hosts.kill("n3")
        self.finish(job, restarted=True)
        expect(job, job.says(f"lost: n3; restart 1: {RANKS - 1} application ranks"), "it does not say what is left")
        expect(job, job.says(f"of {RANKS} ranks restored on {RANKS - 1}"), "the snapshot was not restored on fewer ranks")

    def a_host_whose_link_is_cut_is_replaced_by_a_restart(self, hosts):
        job = self.start(hosts, "respawn", spares=0)
        hosts.cut("n4")
        self.finish(job, restarted=True)
        expect(job, job.says("lost: n4; restart 1"), "it does not say which host is lost")


def main():
    heat, ckpt_run, *wanted = sys.argv[1:]
    if trouble := Hosts.trouble():
        sys.exit(f"ulfm_hosts: NOT TESTED: {trouble}")

    def on_hosts(scenario):
        with Hosts([*HOSTS, SPARE]) as hosts:
            scenario(hosts)

    with tempfile.TemporaryDirectory(prefix="cairn-ulfm-hosts-") as name:
        scenarios = Scenarios([os.path.realpath(heat), os.path.realpath(ckpt_run)], Path(name))
        play_all("ulfm_hosts", scenarios, wanted, on_hosts)


if __name__ == "__main__":
    main()
