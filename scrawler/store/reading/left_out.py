"""What was left out as traps, summed over all seeds."""

from __future__ import annotations

from sqlalchemy import func as sql
from sqlalchemy import select

from scrawler.model.left_out import LeftOut
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import pattern, seed


def left_out(database: Database) -> LeftOut:
    """Return how many URLs were left out as traps, of how many seeds, and the pattern that cost most."""
    (urls,) = database.rows(select(sql.coalesce(sql.sum(seed.c.trapped), 0)))[0]
    capped = pattern.c.evidence != "", pattern.c.refused > 0
    (seeds,) = database.rows(select(sql.count(pattern.c.seed_id.distinct())).where(*capped))[0]
    most = select(pattern.c.pattern, pattern.c.refused).where(*capped)
    top = database.rows(most.order_by(pattern.c.refused.desc(), pattern.c.pattern).limit(1))
    return LeftOut(int(urls), int(seeds), *(top[0] if top else ()))
