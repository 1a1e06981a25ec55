"""A crawl that an earlier version left half-finished goes on once its database was upgraded."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from sqlalchemy import update

from scrawler.app import retry_lost
from scrawler.errors import SettingsError, StoreError
from scrawler.features.revisit.orders import begin_again
from scrawler.features.synthweb.process import LoggedRequest, SynthServer
from scrawler.model.records import Loss, LossKind
from scrawler.model.results import Result
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.losses import Losses, LostSum
from scrawler.store.schema.tables import machine
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.consistency import check_records
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.losses.losing import asked, totals
from tests.integration.crawl.rig import truth
from tests.limits import HANGS
from tests.stored import NEWEST, POISON, SCHEMAS, SPEC, load_schema, newer_than, on_engines_with_them, port


@contextmanager
def _served(number: int) -> Iterator[SynthServer]:
    """Serve at a port that only one program on this computer can have: others that run this test let go of it soon."""
    with ExitStack() as stack:
        server: SynthServer | None = None
        pause = threading.Event()
        for _ in range(int(HANGS / 0.5)):
            with suppress(SettingsError):
                server = stack.enter_context(SynthServer(SPEC, number))
                break
            pause.wait(0.5)
        assert server is not None, f"somebody else has port {number} all the time"
        yield server


def _names(server: SynthServer) -> list[str]:
    """All names of the web, with the dot that some seeds have at the end as well."""
    return [f"{name}{dot}={address}" for name, address in server.web.addresses().items() for dot in ("", ".")]


@pytest.fixture
def crawl(crawl_on_both: Crawl) -> Crawl:
    return crawl_on_both


def _upgrade(crawl: Crawl, number: int) -> set[str]:
    """Load the crawl of a schema and upgrade it; return the HTML pages that its version had fetched."""
    load_schema(number, crawl.url, crawl.folder / "pages")
    newer = newer_than(number, crawl.url)
    with pytest.raises(StoreError, match=f"has schema {number}, not {NEWEST}; bring it up with `scrawler db upgrade`"):
        open_database(crawl.url)
    assert upgrade_database(crawl.url) == newer
    return crawl.html()


@on_engines_with_them
def test_a_crawl_of_schema_1_ends_with_the_pages_that_it_would_have_had(crawl: Crawl) -> None:
    before = _upgrade(crawl, 1)
    with _served(port(1, crawl.url)) as server:
        expected = truth(server)
        assert before & expected
        assert expected - before
        summary = crawl.run(resolve=_names(server))
        _check_one_at_a_time(server.log())
    assert summary.outcome == "ended"
    of_dotted_seeds_alone = {url for url in expected for site in (2, 6, 15) if f"//site{site}." in url}
    undotted = {url for url in crawl.html() if ".:" not in url}
    assert undotted - of_dotted_seeds_alone == expected - of_dotted_seeds_alone
    # Begun after the upgrade: links to either spelling of the host are internal. Before, those to the other were not.
    of_late = {url for url in expected if "//site15." in url}
    assert _without_dots(url for url in crawl.html() if "//site15." in url) == of_late
    check_records(crawl.url, crawl.folder / "pages")


@on_engines_with_them
def test_a_crawl_of_schema_2_ends_with_the_pages_that_it_would_have_had(crawl: Crawl) -> None:
    before = _without_dots(_upgrade(crawl, 2))
    known = asked(crawl, _first_machine_was_here)
    (lost,) = known.values()
    assert (lost.kind, lost.records) == (LossKind.MISSING, 24)
    retry_lost(crawl.settings(), threading.Event())
    with _served(port(2, crawl.url)) as server:
        expected = truth(server)
        assert before & expected
        assert expected - before
        summary = crawl.run(resolve=_names(server))
        _check_one_at_a_time(server.log())
    assert (summary.outcome, summary.lost) == ("ended", LostSum(0, 0, 0))
    assert totals(crawl).open == LostSum(0, 0, 0)
    assert _without_dots(crawl.html()) == expected  # that page by its other spelling, too
    (row,) = (row for row in crawl.pages() if row.url == POISON.format(port=port(2, crawl.url)))
    assert (row.result, row.attempts, row.warc_file) == (Result.INTERNAL_ERROR, 0, "")
    assert row.detail.startswith("the process that read it has died: Segmentation fault")
    crawl.check()
    check_records(crawl.url, crawl.folder / "pages")


@pytest.mark.parametrize("number", [3, 4, 5])
@on_engines_with_them
def test_a_crawl_of_schema_3_to_5_ends_with_the_pages_that_it_would_have_had(crawl: Crawl, number: int) -> None:
    before = _without_dots(_upgrade(crawl, number))
    with _served(port(number, crawl.url)) as server:
        expected = truth(server)
        assert before & expected
        assert expected - before
        summary = crawl.run(resolve=_names(server))
        _check_one_at_a_time(server.log())
        assert summary.outcome == "ended"
        assert _without_dots(crawl.html()) == expected
        crawl.check()
        check_records(crawl.url, crawl.folder / "pages")
        if number == SCHEMAS[-1]:
            _visit_again(crawl, server)


def _visit_again(crawl: Crawl, server: SynthServer) -> None:
    """What is known of URLs is derived from rows of the version before as well."""
    before = {row.url for row in crawl.pages()}
    begin_again(crawl.settings(), (), 0, threading.Event())
    assert crawl.run(resolve=_names(server)).outcome == "ended"
    assert {row.url for row in crawl.pages() if row.visit == 1} == before
    assert {row.visit for row in crawl.pages()} == {0, 1}
    check_records(crawl.url, crawl.folder / "pages")


def _first_machine_was_here(database: Database) -> dict[str, Loss]:
    """Let the first machine have been on this host, which alone can tell whether files are gone; return what is."""
    here = update(machine).where(machine.c.id == 1).values(host=socket.gethostname())
    with database.begin() as connection:
        connection.execute(here)
    return Losses(database).all()


def _without_dots(urls: Iterable[str]) -> set[str]:
    """Spell the hosts of all URLs without a dot at the end."""
    return {url.replace(".:", ":") for url in urls}


def _check_one_at_a_time(log: list[LoggedRequest]) -> None:
    """No site was asked twice at a time, by whichever of its names: it is one."""
    last: dict[str, float] = {}
    for line in sorted(log):
        place = line.url.split("/")[2]
        assert line.came >= last.get(place, 0.0), line
        last[place] = line.at
