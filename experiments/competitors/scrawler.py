"""SCrawler itself, with its default and its classic parts."""

from __future__ import annotations

from experiments.competitors.peer import Habits, Peer, Task
from experiments.lab.crawls import import_seeds
from experiments.lab.scrawler_command import run_command

_CLASSIC_THREADS = 4  # of which each does one download after the other
_ANY_DEPTH = 10_000  # as far as the others go
_PER_SITE = 4  # with two processes a fifth faster than one at a time: at the end each has a single site left


class SCrawler(Peer):
    """SCrawler with so many machine processes on one SQLite file; the import of the seeds is not measured."""

    def __init__(self, name: str, *, machines: int = 1, classic: bool = False) -> None:
        self.name = name
        self.slow = classic
        self._machines = machines
        self._classic = classic
        self._threads = _CLASSIC_THREADS if classic else 1
        parts = "requests, html5lib and pybloom-live" if classic else "the default parts"
        processes = f"{machines} machine processes" if machines > 1 else "one machine process"
        spread = f"{processes} of {self._threads} thread{'s' if classic else ''}"
        self.settings = (
            f"{parts}; {spread} for all sites, as more threads only fight for the interpreter; "
            f"delay 0 (broad: its own); {_PER_SITE} requests at a time on a site (gentle and broad: 1, its default); "
            "without the export at the end, which makes the seed file of a next crawl"
        )
        self.habits = Habits(
            works_as=spread,
            robots="obeyed",
            at_a_time=f"{_PER_SITE} (gentle: 1)",
            keeps="WARC, CDXJ, database with a row a page",
            resumes="after kill -9, from the last checkpoint (15 s at most)",
        )

    def prepare(self, task: Task) -> None:
        """Import the seeds."""
        import_seeds(task.folder, task.seeds)

    def command(self, task: Task) -> list[str]:
        """Return `scrawler run` with as many places as there are sites."""
        per_site = 1 if task.gentle or task.delay else _PER_SITE
        return run_command(
            per_site=per_site,
            per_ip=per_site * max(8, len(task.urls())),
            machines=self._machines,
            threads=self._threads,
            seeds_per_thread=-(-len(task.urls()) // (self._threads * self._machines)),
            delay=task.delay,
            profile="classic" if self._classic else "default",
            max_depth=_ANY_DEPTH,
            export=False,
        )
