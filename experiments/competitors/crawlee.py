"""Crawlee for Python, as its documentation crawls a whole site."""

from __future__ import annotations

from math import inf

from experiments.competitors.environment import PROGRAMS, PythonEnvironment
from experiments.competitors.peer import Habits, Peer, Task
from scrawler.urls.filetype import NOT_DOCUMENTS

_CONCURRENCY = 32
_ENVIRONMENT = PythonEnvironment("crawlee", "crawlee[parsel]", "uvloop", distribution="crawlee")


class Crawlee(Peer):
    """Crawlee's ParselCrawler with links enqueued as its documentation does it."""

    name = "crawlee"
    settings = (
        "ParselCrawler, which took less CPU a page than BeautifulSoupCrawler, with the HTTP client impit (less than "
        f"httpx); {_CONCURRENCY} requests at a time in all, fixed, since it has no limit a site and its autoscaling "
        "holds back on a busy machine (gentle and broad: as many as there are sites; broad: no more a minute in all "
        "than politeness allows); uvloop; queue in memory; no sessions, no log; files told by their names left out; "
        "robots.txt obeyed; nothing written"
    )
    habits = Habits(
        works_as="one process, one thread",
        robots="obeyed",
        at_a_time=f"{_CONCURRENCY} in all (gentle: no more than sites)",
        keeps="nothing",
        resumes="begins again (a queue on disk, not set here, is taken up)",
    )

    def why_not(self) -> str | None:
        """Tell whether its environment is missing."""
        return _ENVIRONMENT.why_not()

    def install(self) -> None:
        """Make its environment."""
        _ENVIRONMENT.install()

    def command(self, task: Task) -> list[str]:
        """Return the program's command."""
        sites = len(task.urls())
        concurrency = sites if task.gentle else _CONCURRENCY
        a_minute = 60 * sites / task.delay if task.delay else inf
        refused = "|".join(sorted(NOT_DOCUMENTS))
        program = str(PROGRAMS / "crawlee_crawl.py")
        return [_ENVIRONMENT.python, program, str(task.seeds), str(concurrency), f"{a_minute:g}", refused]
