"""Thins the log of visits: rows of visits that have found nothing new go, once there are enough later ones.

That is done in the transaction that commits a URL's next visit, for this URL alone, so that no pass over the log is
ever needed, and a kill leaves all of it or nothing. What stays: the first visit of a URL, the newest ones, each that
has found a change, and each whose record holds a payload, for later records refer to it. Of what goes the numbers are
added to `thinned`, so that reports count it for ever, and records that have lost their row become orphans.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from scrawler.features.revisit.kinds import URL_STATE
from scrawler.model.deltas import SeedDelta
from scrawler.model.row_kinds import rows_of_kind
from scrawler.model.terms import Millis
from scrawler.model.visits import KIND_FLAGS
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow, sliced
from scrawler.store.lists.orphans import OrphanWriter, Span
from scrawler.store.schema.tables import page, thinned
from scrawler.store.sums.page_classes import SIZES, TIMES
from scrawler.store.sums.thinned import ALIKE, SUMS

_MOST = 5_000  # rows that go with one checkpoint; more go with later ones
_MONTH: Millis = 30 * 86_400_000  # visits of one are added up
_COLUMNS = [
    page.c[name]
    for name in (
        *("id", "url_hash", "visit", "result", "status", "depth", "flags", "content_type", "length", "elapsed_ms"),
        *("attempts", "fetched_at", "warc_file", "warc_offset", "warc_length", "revisit"),
    )
]


class _Sum(NamedTuple):
    """Sums over visits that have these in common."""

    pages: int = 0
    bytes: int = 0
    longest: int = 0
    retried: int = 0
    first_at: Millis = 0
    last_at: Millis = 0
    first_id: int = 0

    def plus(self, other: _Sum) -> _Sum:
        """Add up."""
        if not self.pages:
            return other
        return _Sum(
            self.pages + other.pages,
            self.bytes + other.bytes,
            max(self.longest, other.longest),
            self.retried + other.retried,
            min(self.first_at, other.first_at),
            max(self.last_at, other.last_at),
            min(self.first_id, other.first_id),
        )


class Thinning:
    """Takes rows of visits away; used by one thread."""

    def __init__(self, database: Database, keep: int) -> None:
        """Keep the newest `keep` visits of each URL."""
        self._keep = keep
        self._orphans = OrphanWriter(database.compiler)
        columns = ("seed_id", "group_hash", *ALIKE, *SUMS)
        self._sums = BulkInsert.replacing(thinned, columns, database.compiler)

    def thin(self, connection: Connection, seeds: Iterable[SeedDelta]) -> int:
        """Thin the log of those URLs whose visits are committed now; return how many rows have gone."""
        gone = 0
        spans: list[Span] = []
        for one in seeds:
            newest = {
                state.url_hash: state.visit for state in rows_of_kind(one.rows, URL_STATE) if state.visit > self._keep
            }
            for part in sliced(sorted(newest)):
                if gone >= _MOST:
                    break
                query = select(*_COLUMNS).where(page.c.url_hash.in_(part), page.c.seed_id == one.seed_id)
                query = query.where(page.c.visit > 0).order_by(page.c.id).limit(_MOST)
                rows = [row for row in connection.execute(query) if self._may_go(row, newest[bytes(row.url_hash)])]
                if rows:
                    self._take(connection, one.seed_id, rows)
                    spans += [(row.warc_file, row.warc_offset, row.warc_length) for row in rows if row.warc_file]
                    gone += len(rows)
        self._orphans.write(connection, spans)
        return gone

    def _may_go(self, row: AnyRow, newest: int) -> bool:
        holds_payload = row.warc_file and not row.revisit and row.length  # nothing refers to an empty one
        return row.visit <= newest - self._keep and not holds_payload and not row.flags & KIND_FLAGS

    def _take(self, connection: Connection, seed_id: int, rows: Sequence[AnyRow]) -> None:
        self._add(connection, seed_id, rows)
        for part in sliced([row.id for row in rows]):
            connection.execute(delete(page).where(page.c.id.in_(part)))

    def _add(self, connection: Connection, seed_id: int, rows: Sequence[AnyRow]) -> None:
        sums: defaultdict[tuple[Any, ...], _Sum] = defaultdict(_Sum)
        for row in rows:
            alike, sum_of = _alike(row), _sum_of(row)
            sums[alike] = sums[alike].plus(sum_of)
        hashes = {_group_hash(alike): alike for alike in sums}
        for part in sliced(sorted(hashes)):
            known = thinned.c.seed_id == seed_id, thinned.c.group_hash.in_(part)
            columns = (thinned.c[name] for name in SUMS)
            for found in connection.execute(select(thinned.c.group_hash, *columns).where(*known)):
                alike = hashes[bytes(found[0])]
                sums[alike] = _Sum(*found[1:]).plus(sums[alike])
        self._sums.run(connection, sorted((seed_id, _group_hash(alike), *alike, *sums[alike]) for alike in sums))


def _alike(row: AnyRow) -> tuple[Any, ...]:
    size = sum(row.length >= bound for bound in SIZES)
    time = sum(row.elapsed_ms >= bound for bound in TIMES)
    month = row.fetched_at // _MONTH
    return row.result, row.status, row.depth, row.flags, row.content_type, size, time, month


def _sum_of(row: AnyRow) -> _Sum:
    return _Sum(1, row.length, row.length, int(row.attempts > 1), row.fetched_at, row.fetched_at, row.id)


def _group_hash(alike: tuple[Any, ...]) -> bytes:
    return blake2b(repr(alike).encode("utf-8", "backslashreplace"), digest_size=16).digest()
