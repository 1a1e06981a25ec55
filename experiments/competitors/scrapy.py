"""Scrapy, as its documentation writes such a crawl, and tuned."""

from __future__ import annotations

from experiments.competitors.environment import PROGRAMS, PythonEnvironment
from experiments.competitors.peer import Habits, Peer, Task

_PER_SITE = 8  # its default
_ENVIRONMENT = PythonEnvironment("scrapy", "scrapy", "uvloop", distribution="scrapy")


class Scrapy(Peer):
    """Scrapy with the CrawlSpider of its documentation, or with a spider made for speed."""

    def __init__(self, *, tuned: bool = False) -> None:
        self.name = "scrapy-tuned" if tuned else "scrapy"
        self._program = str(PROGRAMS / ("scrapy_tuned_spider.py" if tuned else "scrapy_crawl_spider.py"))
        spider = (
            "a spider that finds links by lxml alone and drops known URLs before Scrapy makes requests of them; "
            "uvloop; no log, statistics, cookies, referrers"
            if tuned
            else "a CrawlSpider with one Rule and a LinkExtractor, as the documentation writes it; only errors logged"
        )
        self.settings = (
            f"{spider}; {_PER_SITE} requests at a time on a site (its default) and 100 in all, no delay; gentle: one, "
            "on Twisted's select reactor, as on the loop of asyncio bursts go beyond the limit; broad: one, with the "
            "delay, and as many in all as there are sites; robots.txt obeyed; nothing written, which is the fastest"
        )
        self.habits = Habits(
            works_as="one process, one thread",
            robots="obeyed",
            at_a_time=f"{_PER_SITE} (gentle: 1)",
            keeps="nothing",
            resumes="begins again (JOBDIR, not set here, keeps the queue of a crawl that was stopped in good order)",
        )

    def why_not(self) -> str | None:
        """Tell whether its environment is missing."""
        return _ENVIRONMENT.why_not()

    def install(self) -> None:
        """Make its environment."""
        _ENVIRONMENT.install()

    def command(self, task: Task) -> list[str]:
        """Return the spider's command."""
        per_site = 1 if task.gentle else _PER_SITE
        return [_ENVIRONMENT.python, self._program, str(task.seeds), str(per_site), f"{task.delay:g}"]
