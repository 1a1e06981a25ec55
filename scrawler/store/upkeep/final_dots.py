"""Joins sites whose keys ended in a dot, as they could with schema 1, to those without: they are the same hosts.

Where there is none without, the site gets the new key. Else its seeds and its copies of robots.txt go there, and its
row goes. What is kept by seed (lists, pages, cookies) stays as it is. A site that either of their owners left in work
is left in work, so that it rests as after any death; and the token is one that neither of them had.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update

from scrawler.model.claims import SiteState
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow
from scrawler.store.schema.tables import crawl, robots, seed, site
from scrawler.urls.scope import site_key

# Tables go by name, for those in `tables` are of a later schema than the database at this time.
_ROW = (
    *(site.c.id, site.c.site_key, site.c.state, site.c.owner, site.c.token),
    *(site.c.next_due_at, site.c.address, site.c.pushbacks, site.c.pause_ms),
)
_MAY_BE_DOTTED = or_(site.c.site_key.like("%."), site.c.site_key.like("%.:%"))
# Of two sites that become one, the state is the first of these that either has.
_STRONGEST_FIRST = (SiteState.ACTIVE, SiteState.READY, SiteState.RESTING, SiteState.DONE)


def dotted_sites(connection: Connection) -> dict[int, str]:
    """Return the new keys of the sites whose own end in a dot, by id."""
    scope = connection.scalar(select(crawl.c.scope))
    if scope is None:
        return {}
    rows = connection.execute(select(site.c.id, site.c.site_key).where(_MAY_BE_DOTTED).order_by(site.c.id))
    keys = {row.id: site_key(f"http://{row.site_key}/", Scope(scope)) for row in rows}
    return {identity: key for identity, key in keys.items() if not _ends_in_dot(key)}


def _ends_in_dot(key: str) -> bool:
    return key.partition(":")[0].endswith(".")


def join_dotted_sites(database: Database) -> None:
    """Join each of these sites with its twin, in a transaction each; cut short, the next call goes on."""
    for identity, key in database.reading(dotted_sites).items():
        database.retrying(partial(_join, dotted_id=identity, key=key))


def _join(connection: Connection, dotted_id: int, key: str) -> None:
    of_both = select(*_ROW).where(or_(site.c.id == dotted_id, site.c.key_hash == url_hash(key)))
    rows = connection.execute(of_both.order_by(site.c.id).with_for_update()).all()
    dotted = next((row for row in rows if row.id == dotted_id), None)
    other = next((row for row in rows if row.id != dotted_id), None)
    if dotted is None:
        return  # an earlier try has committed
    if other is None:
        renamed = {"site_key": key, "key_hash": url_hash(key)}
        connection.execute(update(site).where(site.c.id == dotted_id).values(renamed))
        return
    for table in (seed, robots):
        connection.execute(update(table).where(table.c.site_id == dotted_id).values(site_id=other.id))
    connection.execute(delete(site).where(site.c.id == dotted_id))
    connection.execute(update(site).where(site.c.id == other.id).values(_joined(other, dotted)))


def _joined(one: AnyRow, other: AnyRow) -> dict[str, Any]:
    """Return what the row of two sites holds that are one from now on."""
    active = next((row for row in (one, other) if row.state == SiteState.ACTIVE), None)
    states = [row.state for row in (one, other)]
    return {
        "state": next(state.value for state in _STRONGEST_FIRST if state in states),
        "owner": None if active is None else active.owner,
        "token": one.token + other.token + 1,
        "next_due_at": max(one.next_due_at, other.next_due_at),
        "address": one.address or other.address,
        "pushbacks": max(one.pushbacks, other.pushbacks),
        "pause_ms": max(one.pause_ms, other.pause_ms),
    }
