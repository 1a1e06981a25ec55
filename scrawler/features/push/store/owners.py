"""Owners of sites: who has shown that a site is theirs, what they have submitted, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy import func as sql

from scrawler.features.push.store.tables import site_owner, submission
from scrawler.features.revisit.store.tables import pushed
from scrawler.model.terms import Millis, url_hash
from scrawler.model.windows import Window
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import AnyRow, sliced, window_of
from scrawler.store.schema.tables import page, seed, site

_KEPT = 1_000  # URLs that an owner has submitted which are remembered
_SHOWN = 200  # URLs on a page
_LOOKED_AT = 5_000  # visits among which those that failed are looked for
_OWNERS = 100  # tokens of a site: those that were proved last
_SUBMITTED = ("owner_id", "url_hash", "url", "at")


class Owner(NamedTuple):
    """Somebody who has shown that a site is theirs."""

    id: int
    site_id: int
    site_key: str
    host: str
    proof: str
    proved_at: Millis
    window: Window | None


class UrlReport(NamedTuple):
    """What came of a URL."""

    url: str
    at: Millis  # when it was submitted, or visited
    state: str  # waiting, or the result of its last visit
    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class SiteReport:
    """How a site stands."""

    seeds: Sequence[tuple[str, str, str, str, int, int, int]]  # URL, state, end reason, detail, pages, errors, denied
    submitted: Sequence[UrlReport]
    failed: Sequence[UrlReport]  # the last ones, of all its URLs
    waiting: int


class Owners:
    """Keeps owners; any thread may use it."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._submissions = BulkInsert.replacing(submission, _SUBMITTED, database.compiler)

    def by_token(self, digest: bytes) -> Owner | None:
        """Return whose token has this SHA-256."""
        columns = site_owner, site.c.site_key, site.c.window_from, site.c.window_to
        query = select(*columns).join(site, site.c.id == site_owner.c.site_id)
        rows = self._database.rows(query.where(site_owner.c.token_hash == digest))
        if not rows:
            return None
        row = rows[0]
        return Owner(row.id, row.site_id, row.site_key, row.host, row.proof, row.proved_at, window_of(row))

    def proved(self, site_id: int, host: str, digest: bytes, proof: str) -> None:
        """Note that somebody with a token has shown that a site is theirs."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            mine = site_owner.c.token_hash == digest
            again = {"proved_at": now, "proof": proof}
            if connection.execute(update(site_owner).where(mine, site_owner.c.host == host).values(again)).rowcount:
                return
            values = {"site_id": site_id, "host": host, "token_hash": digest, "created_at": now, **again}
            connection.execute(insert(site_owner).values(values))
            newest = select(site_owner.c.id).where(site_owner.c.site_id == site_id)
            kept = list(connection.scalars(newest.order_by(site_owner.c.proved_at.desc()).limit(_OWNERS)))
            old = site_owner.c.site_id == site_id, site_owner.c.id.not_in(kept)
            connection.execute(delete(site_owner).where(*old))

        self._database.retrying(work)

    def set_window(self, site_id: int, window: Window | None) -> None:
        """Note in which time of the day a site is to be asked; what waits to be asked for keeps to it."""
        start, end = (0, 0) if window is None else window

        def work(connection: Connection) -> None:
            values = {"window_from": start, "window_to": end}
            connection.execute(update(site).where(site.c.id == site_id).values(values))

        self._database.retrying(work)

    def submitted(self, owner: Owner, urls: Sequence[str]) -> None:
        """Remember what an owner has submitted, the last of it."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            rows = sorted((owner.id, url_hash(url), url, now) for url in urls[-_KEPT:])
            self._submissions.run(connection, rows)
            mine = submission.c.owner_id == owner.id
            order = submission.c.at.desc(), submission.c.url_hash
            over = select(submission.c.url_hash).where(mine).order_by(*order).offset(_KEPT).limit(_KEPT)
            old = [bytes(one) for one in connection.scalars(over)]
            for part in sliced(old):
                connection.execute(delete(submission).where(mine, submission.c.url_hash.in_(part)))

        self._database.retrying(work)

    def report(self, owner: Owner) -> SiteReport:
        """Return how an owner's site stands."""
        columns = (
            *(seed.c.url, seed.c.state, seed.c.end_reason, seed.c.end_detail, seed.c.pages, seed.c.id),
            *((seed.c.http_errors + seed.c.failures).label("errors"), seed.c.denied),
        )
        query = select(*columns).where(seed.c.site_id == owner.site_id, seed.c.guest_of.is_(None))
        seeds = self._database.rows(query.order_by(seed.c.id).limit(_SHOWN))
        waiting = select(sql.count()).where(pushed.c.site_id == owner.site_id)
        return SiteReport(
            [
                (row.url, row.state, row.end_reason or "", row.end_detail, row.pages, row.errors, row.denied)
                for row in seeds
            ],
            self._submitted(owner),
            self._failed([row.id for row in seeds]),
            int(self._database.rows(waiting)[0][0]),
        )

    def _submitted(self, owner: Owner) -> list[UrlReport]:
        query = select(submission).where(submission.c.owner_id == owner.id).order_by(submission.c.at.desc())
        rows = self._database.rows(query.limit(_SHOWN))
        hashes = sorted(bytes(row.url_hash) for row in rows)
        waits: set[bytes] = set()
        visits: dict[bytes, AnyRow] = {}
        for part in sliced(hashes):
            theirs = pushed.c.site_id == owner.site_id, pushed.c.url_hash.in_(part)
            waits.update(bytes(row[0]) for row in self._database.rows(select(pushed.c.url_hash).where(*theirs)))
            query = select(page).where(page.c.url_hash.in_(part)).order_by(page.c.id)
            visits.update((bytes(row.url_hash), row) for row in self._database.rows(query))
        return [self._of_url(row, visits.get(bytes(row.url_hash)), bytes(row.url_hash) in waits) for row in rows]

    @staticmethod
    def _of_url(row: AnyRow, visit: AnyRow | None, waits: bool) -> UrlReport:
        if visit is None or waits or visit.fetched_at < row.at:
            return UrlReport(row.url, row.at, "waiting", 0, "")
        return UrlReport(row.url, visit.fetched_at, visit.result, visit.status, visit.detail)

    def _failed(self, seeds: Sequence[int]) -> list[UrlReport]:
        newest = select(page.c.id).where(page.c.seed_id.in_(seeds)).order_by(page.c.id.desc()).limit(_LOOKED_AT)
        ids = [row[0] for row in self._database.rows(newest)]
        good = ("fetched", "redirect", "not-modified")
        rows: list[AnyRow] = []
        for part in sliced(ids):
            rows += self._database.rows(select(page).where(page.c.id.in_(part), page.c.result.not_in(good)))
        rows = sorted(rows, key=lambda row: -row.id)[:_SHOWN]
        return [UrlReport(row.url, row.fetched_at, row.result, row.status, row.detail) for row in rows]
