"""A database needs the feature from the first order of a round on, or the first rows of visits, and not before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from scrawler.features.revisit.orders import begin_again
from scrawler.store.engines.engine import open_database
from scrawler.store.upkeep.features import has_rows_of
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page
from tests.integration.fetch.servers import RawServer


def ordered(crawl: Crawl) -> None:
    crawl.run()
    begin_again(crawl.settings(), (), 0.0, threading.Event())


def kept_by_policy(crawl: Crawl) -> None:
    crawl.run(revisit="fixed")


def lists_read(crawl: Crawl) -> None:
    crawl.run(resourcesync="ask")


@pytest.mark.parametrize(
    ("use", "needed"), [(Crawl.run, False), (ordered, True), (kept_by_policy, True), (lists_read, False)]
)
def test_it_is_noted_with_what_needs_it(tmp_path: Path, use: Callable[[Crawl], object], needed: bool) -> None:
    crawl = Crawl(tmp_path, f"sqlite:///{tmp_path / 'crawl.db'}")
    server = RawServer(by_path({"/": page(links=("/one",)), "/one": page("one")}))
    crawl.add([server.url()])
    use(crawl)
    server.stop()
    with closing(open_database(crawl.url)) as database:
        assert has_rows_of(database, "revisit") is needed
