"""What a job holds, as seen from outside: its processes in /proc, and what lies in its directories. And whether that
grows: each measure's median in the last third of the samples, less that in the first, has a bound of its own."""

import statistics
from dataclasses import dataclass
from pathlib import Path

WARM_UP = 2  # samples until all that is kept is there, and all that is recycled has been used; they are not judged


@dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    bound: float  # for all processes together
    per_process: float = 0  # … and besides, for each of them
    share: float = 0  # … and this part of the value at the start


# Counts must not grow at all. Memory may, since allocators keep some, and Open MPI touches more of the segments that its
# ranks share (4 MiB each) whenever more messages than ever before are under way. Lengths of manifests depend on their
# numbers. Space is what node stores take, in memory mostly; "node stores" and "global store" are lengths of files.
MEASURES = (
    Measure("memory", "KiB", 2048, per_process=384, share=0.01),
    Measure("heap", "KiB", 1024, per_process=256, share=0.01),
    Measure("descriptors", "", 0),
    Measure("mappings", "", 0, per_process=8),
    Measure("threads", "", 0),
    Measure("MPI's files", "KiB", 0, per_process=128),
    Measure("store space", "KiB", 64, share=0.01),
    Measure("node stores", "KiB", 64, share=0.01),
    Measure("node files", "", 0),
    Measure("global store", "KiB", 64, share=0.01),
    Measure("global files", "", 0),
)


def rollup_of(pid):
    """KiB by field: a page that n processes map counts 1/n for each."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}


def status_of(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(f"/proc/{pid}/status has no {field}")


def process_now(pid):
    rollup = rollup_of(pid)
    return {
        # Not pages of programs and libraries: who else on this machine maps them changes what they count.
        "memory": rollup["Pss_Anon"] + rollup["Pss_Shmem"],
        "heap": rollup["Pss_Anon"],
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "mappings": Path(f"/proc/{pid}/maps").read_text().count("\n"),
        "threads": status_of(pid, "Threads"),
    }


def files_below(directory):
    """(length, bytes that it takes) of each."""
    found = []
    for path in directory.rglob("*"):
        try:
            stat = path.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # it was just renamed: the next look sees it
        if path.is_file():
            found.append((stat.st_size, stat.st_blocks * 512))
    return found


def heap_of(job):
    """KiB of all processes that are still there, by what the kernel counts anyway."""
    total = 0
    for pid in job.processes():
        try:
            total += status_of(pid, "RssAnon")
        except (OSError, LookupError):
            continue
    return total


def sample(pids, job):
    """All measures now."""
    by_process = [process_now(pid) for pid in pids]
    values = {name: sum(process[name] for process in by_process) for name in by_process[0]}
    values["MPI's files"] = sum(taken for _, taken in files_below(job.mpi)) / 1024
    values["store space"] = sum(taken for _, taken in files_below(job.local)) / 1024
    for store, files, directory in [
        ("node stores", "node files", job.local),
        ("global store", "global files", job.globe),
    ]:
        found = files_below(directory)
        values[store] = sum(length for length, _ in found) / 1024
        values[files] = len(found)
    return values


def thirds(samples):
    """Medians of the first, the middle and the last third, and the highest of all."""
    count = max(1, len(samples) // 3)
    parts = samples[:count], samples[count : len(samples) - count] or samples[:count], samples[-count:]
    return [{m.name: statistics.median(s[m.name] for s in part) for m in MEASURES} for part in parts] + [
        {m.name: max(s[m.name] for s in samples) for m in MEASURES}
    ]


def judge(samples, measures, processes):
    """Prints the table; the names of those measures that grow."""
    if len(samples) <= WARM_UP:
        raise RuntimeError(f"{len(samples)} samples are too few: the first {WARM_UP} are not judged")
    start, middle, end, highest = thirds(samples[WARM_UP:])
    growing = []
    print(f"{'':20} {'start':>11} {'middle':>11} {'end':>11} {'highest':>11} {'growth':>9} {'bound':>9}")
    for m in measures:
        growth = end[m.name] - start[m.name]
        bound = m.bound + m.per_process * processes + m.share * start[m.name]
        if growth > bound:
            growing.append(m.name)
        what = f"{m.name}, {m.unit}" if m.unit else m.name
        figures = [f"{part[m.name]:11.0f}" for part in (start, middle, end, highest)]
        print(f"{what:20} {' '.join(figures)} {growth:9.0f} {bound:9.0f}{'  GROWS' if growth > bound else ''}")
    return growing


def judge_peak(samples, highest, bound_mib):
    """The same for what the heaps were while the job worked."""
    start, bound = samples[0]["heap"], bound_mib * 1024
    growth = highest - start
    grows = growth > bound
    figures = f"{start:11.0f} {'':23} {highest:11.0f} {growth:9.0f} {bound:9}"
    print(f"{'heap at work, KiB':20} {figures}{'  GROWS' if grows else ''}")
    return ["heap at work"] if grows else []
