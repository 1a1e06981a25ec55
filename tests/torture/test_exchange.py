"""Machines that send each other URLs: nothing of what can be reached over all sites is lost, whoever is killed."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import pytest

from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable
from tests.torture.broker import BROKERS, Broker
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.messy import MessyNetwork, Networks
from tests.torture.verify import archive, counters, lists, owners, politeness
from tests.torture.web import Requests, TortureWeb

SPEC = WebSpec(seed=3, sites=24, mean_pages=12, page_bytes=300, links=6)
# No more sites than there are places: all of them have owners from the start.
DENSE = WebSpec(seed=5, sites=12, mean_pages=50, page_bytes=300, links=12, alias_every=0)
TIMEOUT = 120  # seconds

pytestmark = pytest.mark.heavy


def _served_by_three(
    url: str, folder: Path, delay: float, kills: int, more: tuple[str, ...] = (), broker: Broker | None = None
) -> None:
    """Crawl all that three seeds lead to with three machines, of which some are killed; compare with the truth.

    A broker loses all that waits there when a third of the pages is fetched.
    """
    log = folder / "access.log"
    with ServerProcess(DENSE if more else SPEC, log=log) as server:
        seeds = tuple(server.web.seeds() if more else server.web.seeds()[:3])
        web = TortureWeb(server.web, seeds, Requests(log))
        expected = reachable(server.web, seeds)
        crawl = CrawlUnderTest(
            folder, url, Pace(runs=3, delay=delay, checkpoint_interval=0.3, mode="exchange", more=more)
        )
        try:
            crawl.add_seeds(seeds)
            crawl.order("pause")  # whoever comes first would have all sites for a while, and send nothing to others
            crawl.start()
            wait_for(lambda: crawl.sql.one("SELECT COUNT(*) FROM machine") == 3, TIMEOUT, "three machines")
            crawl.order("resume")
            _kill_now_and_then(crawl, web, len(expected), kills)
            if broker is not None:
                wait_for(partial(_fetched, web, len(expected) // 3), TIMEOUT, "a third of the pages")
                broker.restart()
            wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
            _verify(crawl, web, expected, kills)
        finally:
            crawl.stop()


def _fetched(web: TortureWeb, pages: int) -> bool:
    web.requests.look()
    return len(web.requests.urls) >= pages


def _kill_now_and_then(crawl: CrawlUnderTest, web: TortureWeb, pages: int, kills: int) -> None:
    chance = Random(1)
    for number in range(1, kills + 1):
        seen = partial(_fetched, web, number * pages // (kills + 2))
        wait_for(seen, TIMEOUT, f"part {number} of the pages")
        crawl.kill_machine(chance.choice(crawl.machines()))


def _verify(crawl: CrawlUnderTest, web: TortureWeb, expected: set[str], kills: int) -> None:
    web.requests.look()
    rows = dict(crawl.sql.rows("SELECT url, result FROM page"))
    assert len(rows) == crawl.sql.one("SELECT COUNT(*) FROM page"), "no URL has two rows"
    html = {url for url, result in rows.items() if result == "fetched" and not url.endswith(".pdf")}
    assert html == expected
    problems = [problem for check in (counters, lists, owners, archive) for problem in check(crawl, web)]
    problems += politeness(web, crawl.pace.delay)
    assert not problems, "\n".join(problems)
    sent, received = crawl.sql.rows("SELECT SUM(sent), SUM(received) FROM machine")[0]
    assert sent == received > 0
    assert crawl.sql.one("SELECT COUNT(*) FROM inbox") == 0
    assert crawl.sql.one("SELECT COUNT(*) FROM outbox") == 0
    carried = crawl.sql.one("SELECT SUM(carried) FROM machine")
    assert bool(carried) is bool(crawl.pace.more)
    overlap = {url for url, times in Counter(one.url for one in web.requests.pages()).items() if times > 1}
    if not kills:
        assert not overlap


def test_three_machines_fetch_all_that_three_seeds_lead_to_once(database_url: str, tmp_path: Path) -> None:
    _served_by_three(database_url, tmp_path, delay=0, kills=0)


def test_three_machines_lose_nothing_when_some_of_them_are_killed(database_url: str, tmp_path: Path) -> None:
    _served_by_three(database_url, tmp_path, delay=0.1, kills=3)


def _secret(folder: Path) -> str:
    (folder / "secret").write_text("a secret that is long enough")
    return f"--exchange-secret-file={folder / 'secret'}"


def test_three_machines_that_send_to_each_other_fetch_all_once(database_url: str, tmp_path: Path) -> None:
    """Sites rest between two pages: without, they are over before the first batch could be acknowledged."""
    more = ("--communicator=tcp://127.0.0.1:0", "--send-wait=0.2", _secret(tmp_path))
    _served_by_three(database_url, tmp_path, delay=0.1, kills=0, more=more)


def test_what_is_sent_is_not_lost_with_sender_or_receiver(database_url: str, tmp_path: Path) -> None:
    more = ("--communicator=tcp://127.0.0.1:0", "--send-wait=0.2", _secret(tmp_path))
    _served_by_three(database_url, tmp_path, delay=0.1, kills=3, more=more)


@pytest.mark.servers
@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("name", [*BROKERS])
def test_what_a_broker_loses_is_sent_again(sqlite_url: str, tmp_path: Path, name: str, kills: int) -> None:
    pytest.importorskip("redis")
    kind = BROKERS[name]
    if kind is None:
        pytest.skip(f"needs {name}-server")
    (tmp_path / "broker").mkdir()
    broker = kind(tmp_path / "broker")
    try:
        more = (f"--communicator={broker.url}", "--send-wait=0.2", _secret(tmp_path))
        _served_by_three(sqlite_url, tmp_path, delay=0.1, kills=kills, more=more, broker=broker)
    finally:
        broker.kill()


@pytest.mark.parametrize("kills", [0, pytest.param(2, marks=pytest.mark.servers)])
def test_messages_that_come_twice_late_and_in_another_order_change_nothing(
    sqlite_url: str, tmp_path: Path, kills: int
) -> None:
    more = ("--communicator=tcp://127.0.0.1:0", "--send-wait=0.2", "--send-list-max=3", _secret(tmp_path))
    networks = Networks(sqlite_url, MessyNetwork)
    with networks.watching():
        _served_by_three(sqlite_url, tmp_path, delay=0.1, kills=kills, more=more)
    assert min(networks.total("came"), networks.total("twice"), networks.total("overtaken")) > 0
