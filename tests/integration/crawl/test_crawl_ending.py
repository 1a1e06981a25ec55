"""When a machine finds that its crawl is over, and what it says until then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from scrawler.core.distribution import selector
from scrawler.core.distribution.openers import Opener, kept_open_by
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.store.claims.machines import Machines
from scrawler.store.commit.externals import AsCandidates
from scrawler.store.engines.engine import Database, open_database
from tests.integration.crawl.rig import running, watch
from tests.integration.store.crawling import Worker
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

PROMOTED = "external URLs became seeds"


class Promoting(AsCandidates):
    """Seeds come from elsewhere, so many at a time."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._numbers = iter([2, 1, 0])

    def become_seeds(self) -> int:
        return next(self._numbers)


def test_a_machine_knows_what_keeps_its_crawl_open(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is over once nothing does; what is promoted in its last moment opens it again."""
    reasons: list[str] = []

    def spy(openers: Iterable[Opener]) -> str:
        reasons.append(kept_open_by(openers))
        return reasons[-1]

    monkeypatch.setattr(selector, "kept_open_by", spy)
    with SynthServer(WebSpec(seed=7, sites=2, mean_pages=3, page_bytes=500)) as server:
        crawl.add(server.web.seeds())
        assert watch(crawl.settings(), make_externals=Promoting).ended
    assert [reason for reason in reasons if reason == PROMOTED] == [PROMOTED] * 2
    assert reasons[-1] == ""
    assert set(reasons[:-1]) <= {PROMOTED, "sites are in work on this machine"}


def test_others_are_told_why_a_machine_that_has_nothing_to_do_does_not_end(crawl: Crawl) -> None:
    crawl.add(["http://127.0.0.1:9/"])
    database = open_database(crawl.url)
    other = Worker.of(database)
    other.claim_one()
    machines = Machines(database)

    def reasons() -> list[str]:
        assert machines.beat(other.id).alive
        return [one.kept_open_by for one in machines.machines()]

    with running(crawl):
        wait_for(lambda: reasons() == ["", "seeds are ready, or in work on other machines"], HANGS, "a reason")
    database.close()
