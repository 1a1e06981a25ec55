"""Counters that grow while a crawl runs, sampled, and their rates between two times."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from experiments.lab.process import Sampler, cpu_seconds
from experiments.lab.report import Row
from tests.torture.crawl import children

CPU = " CPU"
OTHERS = "others CPU %"
ENOUGH = 60  # per cent of the cores, of all programs, above which a crawl may wait for them and not for the web alone
_ALL = "all CPU"
QUIET = 10  # per cent of the cores that other programs may use

Counters = Callable[[int], Mapping[str, float]]  # process id of the program -> name -> value so far


class Meter:
    """Samples counters every `interval` seconds; times are in seconds since 1970, as in the server's log."""

    def __init__(self, counters: Counters, interval: float = 0.5) -> None:
        self._counters = counters
        self._samples: list[tuple[float, Mapping[str, float]]] = []
        self.sampler = Sampler(self._sample, interval)

    def _sample(self, pid: int) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            self._samples.append((time.time(), self._counters(pid)))

    def rate(self, name: str, since: float, until: float) -> float:
        """Return by how much a counter grew in a second between the samples next to two times; 0: too few samples."""
        within = [sample for sample in self._samples if since <= sample[0] <= until]
        if len(within) < 2:
            return 0.0
        (began, before), (ended, after) = within[0], within[-1]
        return (after[name] - before[name]) / (ended - began)

    def shares(self, since: float, until: float) -> dict[str, float]:
        """Return what programs used of all cores between two times, in per cent; with the counters of `cpu_counters`.

        "others CPU %" is of programs that have nothing to do with the experiment.
        """
        names = [name for name in (self._samples[-1][1] if self._samples else {}) if name.endswith(CPU)]
        cores = len(os.sched_getaffinity(0))
        used = {f"{name} %": 100 * self.rate(name, since, until) / cores for name in names}
        others = used.pop(f"{_ALL} %", 0.0) - sum(used.values())
        return used | {OTHERS: max(others, 0.0)}


def others_at_work(rows: Sequence[Row]) -> str:
    """Say whether other programs used so much of the cores that the figures are not those of a quiet machine."""
    most = max(float(row[OTHERS]) for row in rows)
    said = f"other programs used up to {most:.0f} % of the cores"
    return said if most <= QUIET else f"{said}: the figures are not those of a quiet machine"


def cpu_counters(others: Mapping[str, Sequence[int]]) -> Counters:
    """Count CPU seconds of the program with its machines ("crawler CPU"), of processes by name ("... CPU"), of all."""

    def count(pid: int) -> Mapping[str, float]:
        crawler = cpu_seconds([pid, *children(pid)])
        named = {name + CPU: cpu_seconds(pids) for name, pids in others.items()}
        return {"crawler" + CPU: crawler} | named | {_ALL: all_cpu()}

    return count


def all_cores(used: float, seconds: float) -> float:
    """Return what so many CPU seconds in so many seconds are of all cores, in per cent; never below 0."""
    return max(100 * used / seconds / len(os.sched_getaffinity(0)), 0.0)


def all_cpu() -> float:
    """CPU seconds that all programs of this computer have used so far: /proc/stat, less idle and waiting for disks."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    user, nice, system, _idle, _iowait, *rest = map(int, fields)
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
