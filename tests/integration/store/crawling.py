"""What the store's tests need of a crawl: seeds added, a machine that claims, deltas to commit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from sqlalchemy import Connection

from scrawler.errors import StoreBusyError
from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.results import Result
from scrawler.model.rows import ExternalRow, PageRow
from scrawler.model.seeds import SeedCounts
from scrawler.model.terms import url_hash
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Added, NewSeed, Seeds
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import Database


def as_stored(text: str, database: Database) -> str:
    """Return a text as a column gives it back: PostgreSQL takes no NUL."""
    return text.replace("\0", "\\x00") if database.dialect == "postgresql" else text


def add(database: Database, *urls: str, hops: int = 0) -> Added:
    """Add seeds whose site key is their host."""
    return Seeds(database).add([NewSeed(url, url.split("/")[2], hops) for url in urls])


@dataclass
class Worker:
    """A machine with its claims and checkpoints."""

    database: Database
    id: int

    @classmethod
    def of(cls, database: Database, name: str = "one") -> Worker:
        return cls(database, Machines(database).register(f"host-of-{name}", os.getpid(), database.now()).id)

    @cached_property
    def claims(self) -> Claims:
        return Claims(self.database, self.id)

    def claim(
        self,
        sites: int = 10,
        seeds_per_site: int = 10,
        machines: int = 1,
        seats_elsewhere: int = 0,
        by_urls: bool = False,
    ) -> list[ClaimedSite]:
        return self.claims.claim(
            sites, seeds_per_site, machines=machines, seats_elsewhere=seats_elsewhere, by_urls=by_urls
        )

    def claim_one(self) -> ClaimedSite:
        (claimed,) = self.claim(1)
        return claimed

    def release(self, *claimed: ClaimedSite) -> None:
        self.commit(*(SiteDelta(one.id, one.token, (), one.next_due_at, released=True) for one in claimed))

    def commit(self, *deltas: SiteDelta) -> frozenset[int]:
        return Checkpoints(self.database, self.id).commit(deltas)


def page(seed_id: int, url: str, **changes: Any) -> PageRow:
    row = PageRow(
        seed_id=seed_id,
        url_hash=url_hash(url),
        url=url,
        depth=1,
        lane_seed=seed_id,
        position=0,
        result=Result.FETCHED.value,
        status=200,
        content_type="text/html",
        length=1000,
        digest=b"\x00\xff" * 10,
        attempts=1,
        fetched_at=1_790_000_000_000,
        elapsed_ms=30,
        warc_file="crawl-1.warc.gz",
        warc_offset=position * 500 if (position := int(changes.get("position", 0))) else 0,
        warc_length=400,
        revisit=0,
        detail="",
    )
    return row._replace(**changes)


def candidate(seed_id: int, url: str, count: int = 1, depth: int = 1) -> ExternalRow:
    return ExternalRow(seed_id, url_hash(url), url, depth, count)


def seed_delta(seed_id: int, **changes: Any) -> SeedDelta:
    given: dict[str, Any] = {
        "pages": (),
        "lanes": (),
        "chunks": (),
        "externals": (),
        "counts": SeedCounts(),
        "verdicts": {},
        "elapsed_ms": 0,
    }
    return SeedDelta(seed_id, **(given | changes))


def site_delta(claimed: ClaimedSite, *seeds: SeedDelta, **changes: Any) -> SiteDelta:
    given: dict[str, Any] = {"next_due_at": 0}
    return SiteDelta(claimed.id, claimed.token, seeds, **(given | changes))


@contextmanager
def acknowledgement_lost(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the block's first writing transaction commit and then fail, as when the connection breaks in between."""
    begin, lost = database.begin, []

    @contextmanager
    def breaking() -> Iterator[Connection]:
        with begin() as connection:
            yield connection
        if not lost:
            lost.append(True)
            raise StoreBusyError("connection lost")

    with monkeypatch.context() as patched:
        patched.setattr(database, "begin", breaking)
        yield
    assert lost
