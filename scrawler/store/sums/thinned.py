"""Sums over visits whose rows have gone: reports count them for ever, whoever has taken the rows away."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection, select

from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import thinned
from scrawler.store.sums.page_sums import KindSum, PageSum, PageSums, TypeSum, kind_of, page_sums

ALIKE = ("result", "status", "depth", "flags", "content_type", "size", "time", "month")
SUMS = ("pages", "bytes", "longest", "retried", "first_at", "last_at", "first_id")
_TYPES = 2_000  # media types that are told


def all_sums(database: Database, seed_id: int | None) -> PageSums:
    """Add up the pages of a seed, of all if None, those of visits whose rows have gone among them."""
    sums = page_sums(database, seed_id)
    return database.reading(lambda connection: _with_thinned(connection, sums, seed_id))


def _with_thinned(connection: Connection, sums: PageSums, seed_id: int | None) -> PageSums:
    columns = [thinned.c[name] for name in (*ALIKE, *SUMS)]
    query = select(*columns) if seed_id is None else select(*columns).where(thinned.c.seed_id == seed_id)
    rows = connection.execute(query).all()
    if not rows:
        return sums
    kinds: defaultdict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0])
    types = {one.content_type: one for one in sums.types}
    pages = list(sums.pages)
    for row in rows:
        pages.append(
            PageSum(
                *(row.result, row.status, row.depth, row.flags, 0, row.pages, row.bytes, row.retried),
                *(row.first_at, row.last_at, row.first_id),
            )
        )
        if row.result == "fetched":
            added = kinds[kind_of(row.content_type), row.size, row.time]
            added[0] += row.pages
            added[1] += row.bytes
            old = types.get(row.content_type, TypeSum(row.content_type, 0, 0, 0))
            types[row.content_type] = TypeSum(
                row.content_type, old.pages + row.pages, old.bytes + row.bytes, max(old.longest, row.longest)
            )
    more = [KindSum(*key, *number) for key, number in kinds.items()]
    frequent = sorted(types.values(), key=lambda one: (-one.pages, one.content_type))[:_TYPES]
    return PageSums(pages, [*sums.kinds, *more], frequent)
