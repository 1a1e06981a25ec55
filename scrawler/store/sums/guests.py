"""What guests have done in all: machines that fetch at the sites of others what leads there (mode cross-over)."""

from __future__ import annotations

from sqlalchemy import ColumnElement, select
from sqlalchemy import func as sql

from scrawler.model.claims import SiteState
from scrawler.model.exchange import Guests
from scrawler.model.results import Result
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import inbox, page, seed, site

_STATES = (SiteState.GUEST.value, SiteState.VISITED.value, SiteState.LEFT.value)


def guests(database: Database, finder: int | None = None) -> Guests:
    """Return what guests have done in all, or for one seed, which has found the URLs; sites of guests have an index."""
    there: list[ColumnElement[bool]] = [seed.c.site_id.in_(select(site.c.id).where(site.c.state.in_(_STATES)))]
    waiting = select(sql.count(inbox.c.id)).where(inbox.c.guest == 1)
    if finder is not None:
        there.append(seed.c.guest_of == finder)
        waiting = waiting.where(inbox.c.seed_id == finder)
    left: int = database.rows(waiting)[0][0]
    totals = select(sql.count(), sql.coalesce(sql.sum(seed.c.pages), 0), sql.coalesce(sql.sum(seed.c.bytes), 0))
    parties, pages, size = database.rows(totals.where(*there))[0]
    if not pages:
        return Guests(parties=parties, waiting=left)
    mine, other, owner = page.alias("mine"), page.alias("other"), seed.alias("owner")
    owners = (
        select(other.c.id)
        .join(owner, owner.c.id == other.c.seed_id)
        .where(other.c.url_hash == mine.c.url_hash, owner.c.guest_of.is_(None), other.c.result == Result.FETCHED.value)
    )
    of_guests = select(sql.count(mine.c.id)).join(seed, seed.c.id == mine.c.seed_id)
    both = of_guests.where(*there, mine.c.visit == 0, mine.c.result == Result.FETCHED.value, owners.exists())
    return Guests(parties, int(pages), int(size), database.rows(both)[0][0], left)
