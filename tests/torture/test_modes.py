"""Each partition with each mode: three machines, of which one comes later and one is killed in the midst of it.

What a crawl comes to is told by the measures of Cho and Garcia-Molina ("Parallel Crawlers", 2002): coverage, overlap,
and URLs sent a page; and by how evenly pages and bytes are divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable
from scrawler.model.exchange import Mode
from scrawler.model.partitions import PartitionKind
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.verify import archive, counters, lists, owners, politeness
from tests.torture.web import Requests, TortureWeb

SPEC = WebSpec(seed=1, sites=24, mean_pages=8, page_bytes=300, links=10, hidden=0.4)  # ten pages are hidden
TIMEOUT = 300  # seconds
DIVIDED = [kind for kind in PartitionKind if kind is not PartitionKind.NONE]

pytestmark = pytest.mark.heavy


@dataclass(frozen=True)
class Measures:
    """What a crawl came to."""

    coverage: float  # share of what the seeds lead to over all sites
    overlap: float  # pages fetched again, by different ones
    sent_a_page: float
    pages: dict[int, int]  # machine -> pages that it has committed
    sizes: dict[int, int]  # the same of bytes
    missing: dict[str, str]  # pages that were not fetched, and what came of them


def measured(crawls: list[CrawlUnderTest], expected: set[str]) -> Measures:
    """Read with SQL what crawls have come to together."""
    found: Counter[str] = Counter()
    sent = 0
    pages, sizes = dict[int, int](), dict[int, int]()
    others: dict[str, str] = {}
    for number, crawl in enumerate(crawls):
        urls = crawl.sql.rows("SELECT url FROM page WHERE result = 'fetched' AND content_type = 'text/html'")
        found.update(url for (url,) in urls)
        others |= dict(crawl.sql.rows("SELECT url, result FROM page WHERE result <> 'fetched'"))
        for machine, *row in crawl.sql.rows("SELECT id, pages, bytes, sent FROM machine"):
            pages[1000 * number + machine], sizes[1000 * number + machine] = row[:2]
            sent += row[2]
    assert found.keys() <= expected, "nothing beyond the truth"
    return Measures(
        coverage=len(found) / len(expected),
        overlap=(found.total() - len(found)) / len(found),
        sent_a_page=sent / found.total(),
        pages=pages,
        sizes=sizes,
        missing={url: others.get(url, "no row") for url in expected - found.keys()},
    )


def judge(mode: Mode, found: Measures) -> None:
    """Hold what machines with one database have come to against what the mode promises."""
    if mode is Mode.EXCHANGE:
        assert found.missing == {}
        assert found.overlap == 0
        assert found.sent_a_page > 0
    elif mode is Mode.CROSS_OVER:
        assert found.missing == {}
        assert found.overlap > 0
        assert found.sent_a_page == 0
    else:
        assert found.coverage < 1
        assert (found.overlap, found.sent_a_page) == (0, 0)


def _all_pairs() -> Iterator[ParameterSet]:
    """Yield each partition with each mode; each mode's turn comes once where only `heavy` ones are run."""
    for (first, partition), (second, mode) in product(enumerate(DIVIDED), enumerate(Mode)):
        yield pytest.param(partition, mode, marks=() if first == second else pytest.mark.servers)


@pytest.mark.parametrize(("partition", "mode"), [*_all_pairs()])
def test_what_a_mode_promises_holds_with_each_partition(
    partition: PartitionKind, mode: Mode, sqlite_url: str, tmp_path: Path
) -> None:
    _crawled(partition, mode, sqlite_url, tmp_path)


@pytest.mark.servers
@pytest.mark.parametrize(
    ("partition", "mode"),
    [*zip(DIVIDED, [Mode.CROSS_OVER, Mode.EXCHANGE, Mode.CROSS_OVER, Mode.FIREWALL, Mode.EXCHANGE], strict=True)],
)
def test_what_a_mode_promises_holds_on_servers(
    partition: PartitionKind, mode: Mode, database_url: str, tmp_path: Path
) -> None:
    _crawled(partition, mode, database_url, tmp_path)


def _crawled(partition: PartitionKind, mode: Mode, database_url: str, tmp_path: Path) -> None:
    """Crawl with three machines, of which one comes later and one is killed; compare with the truth."""
    log = tmp_path / "access.log"
    pace = Pace(
        runs=2,
        threads=1,
        seeds_per_thread=3,
        delay=0.15,
        checkpoint_interval=0.3,
        mode=mode.value,
        partition=partition.value,
    )
    with ServerProcess(SPEC, log=log) as server:
        seeds = tuple(server.web.seeds())
        web = TortureWeb(server.web, seeds, Requests(log))
        expected = reachable(server.web, seeds)
        crawl = CrawlUnderTest(tmp_path, database_url, pace)
        try:
            crawl.add_seeds(seeds)
            crawl.order("pause")  # machines that start while others are at work find less, the busier the computer is
            crawl.start()
            wait_for(lambda: _registered(crawl) == 2, TIMEOUT, "two machines")
            crawl.order("resume")
            _asked(web, len(expected) // 5)
            crawl.order("pause")
            crawl.join()
            wait_for(lambda: _registered(crawl) == 3, TIMEOUT, "the third machine")
            crawl.order("resume")
            _asked(web, len(expected) // 2)
            crawl.lose_run(_at_work(crawl))
            wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
            found = measured([crawl], expected)
            crawl.join()  # what was killed as the last one has left a file to the next run
            wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of a run with nothing to crawl")
            checks = (*([] if mode is Mode.DROP else [counters]), lists, owners, archive)  # what is dropped has no rows
            problems = [problem for check in checks for problem in check(crawl, web)]
            web.requests.look()
            problems += politeness(web, pace.delay)
        finally:
            crawl.stop()
    print(f"{partition.value:12} {mode.value:10} {found}")
    assert not problems, "\n".join(problems)
    judge(mode, found)
    assert sum(pages > 0 for pages in found.pages.values()) > 1, "more than one has worked"
    sent, received = crawl.sql.rows("SELECT SUM(sent), SUM(received) FROM machine")[0]
    assert sent == received
    assert crawl.sql.one("SELECT COUNT(*) FROM inbox") == 0
    assert sum(found.pages.values()) == crawl.sql.one("SELECT COUNT(*) FROM page WHERE result = 'fetched'")
    assert sum(found.sizes.values()) == crawl.sql.one("SELECT SUM(length) FROM page")


def _asked(web: TortureWeb, pages: int) -> None:
    def seen() -> bool:
        web.requests.look()
        return len(web.requests.urls) >= pages

    wait_for(seen, TIMEOUT, f"{pages} pages")


def _at_work(crawl: CrawlUnderTest) -> int:
    """Return the process id of a machine that has sites, and has fetched some of them; any other if there is none."""
    busy = "SELECT pid FROM machine JOIN site ON site.owner = machine.id GROUP BY pid ORDER BY MAX(pages) DESC"
    alive = crawl.machines()
    return next((pid for (pid,) in crawl.sql.rows(busy) if pid in alive), alive[0])


def _registered(crawl: CrawlUnderTest) -> int:
    return int(crawl.sql.one("SELECT COUNT(*) FROM machine"))


@pytest.mark.parametrize("mode", [Mode.FIREWALL, Mode.DROP, Mode.CROSS_OVER])
def test_without_any_agreement_each_machine_has_what_its_mode_promises(mode: Mode, tmp_path: Path) -> None:
    """Three machines have a third of the seeds each, and databases of their own; no seed redirects to another's."""
    with ServerProcess(replace(SPEC, alias_every=0)) as server:
        seeds = tuple(server.web.seeds())
        expected = reachable(server.web, seeds)
        crawls = []
        for number in range(3):
            folder = tmp_path / str(number)
            folder.mkdir()
            pace = Pace(runs=1, delay=0, checkpoint_interval=0.3, mode=mode.value, partition="none")
            crawls.append(CrawlUnderTest(folder, f"sqlite:///{folder / 'crawl.db'}", pace))
        try:
            for number, crawl in enumerate(crawls):
                crawl.add_seeds(seeds[number::3])
                crawl.start()
            wait_for(lambda: not any(crawl.runs() for crawl in crawls), TIMEOUT, "the end of the crawls")
            found = measured(crawls, expected)
        finally:
            for crawl in crawls:
                crawl.stop()
    print(f"{'none':12} {mode.value:10} {found}")
    judge(mode, found)
