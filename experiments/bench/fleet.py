"""Many machines over one database against a synthetic web, watched from outside: the server's log, plain SQL, /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scrawler.features.synthweb.process import LoggedRequest
from scrawler.features.synthweb.spec import WebSpec
from tests.torture.crawl import CrawlUnderTest, Pace, children
from tests.torture.web import Requests, host_of, is_robots, served

_DISORDER = 1.0  # seconds by which lines of the log may be out of order


@contextmanager
def running_fleet(
    folder: Path, database_url: str, spec: WebSpec, pace: Pace
) -> Iterator[tuple[CrawlUnderTest, Requests]]:
    """Serve a web, import a seed of each site and start the machines; all of it ends with the block."""
    with served(spec, 1, folder / "access.log") as web:
        crawl = CrawlUnderTest(folder, database_url, pace)
        try:
            crawl.add_seeds(web.seeds)
            crawl.start()
            yield crawl, web.requests
        finally:
            crawl.stop()


def machine_id(crawl: CrawlUnderTest, pid: int) -> int:
    """Return the row of a running machine; by namespace and pid in it, for `pid` may have a namespace of its own."""
    if crawl.pace.apart:
        (pid,) = children(pid)
    status = Path(f"/proc/{pid}/status").read_text()
    inner = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1]
    name = f"{os.readlink(f'/proc/{pid}/ns/pid')} {inner} "
    rows: list[tuple[int, str]] = crawl.sql.rows("SELECT id, process FROM machine")
    return max(number for number, process in rows if name in process)


def owned_hosts(crawl: CrawlUnderTest, machines: Iterable[int]) -> set[str]:
    """Return the hosts whose sites these machines own."""
    numbers = ", ".join(map(str, machines))
    return {
        key for (key,) in crawl.sql.rows(f"SELECT site_key FROM site WHERE state = 'active' AND owner IN ({numbers})")
    }


def hosts_asked(requests: Requests, since: float, until: float) -> set[str]:
    """Return the hosts of which a page was asked for between two times, in seconds since 1970."""
    return {host_of(line.url) for line in lines_between(requests, since, until)}


def pages_per_second(requests: Requests, since: float, until: float) -> float:
    """Return how many pages were asked for in a second between two times."""
    return sum(1 for _ in lines_between(requests, since, until)) / (until - since)


def lines_between(requests: Requests, since: float, until: float) -> Iterator[LoggedRequest]:
    """Yield what was asked for between two times, robots.txt not among it, the newest first."""
    for line in reversed(requests.all):  # about in the order of time
        if line.came < since - _DISORDER:
            return
        if since <= line.came < until and not is_robots(line.url):
            yield line
