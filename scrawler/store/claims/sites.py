"""Rows of the table site, as seeds, claims and checkpoints need them; all of it inside the caller's transaction.

Rows are locked by primary key in id order. Whoever gives a site a ready seed locks it first, and so does whoever
lets go of a site: so none ends as done while it has a seed to crawl.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, or_, select, update
from sqlalchemy import case as sql_case
from sqlalchemy import func as sql
from sqlalchemy.engine import Dialect

from scrawler.model.claims import SiteState
from scrawler.model.machines import MachineState
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis, url_hash
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.locking import skips_locked
from scrawler.store.engines.rows import AnyRow, AnySelect, among, bytes_literals, in_state, sliced
from scrawler.store.schema.tables import machine, seed, site

_HOMES = "http://", "https://", "http://www.", "https://www."  # what home pages of a site begin with
GONE = (MachineState.STOPPED.value, MachineState.DEAD.value)
_WOKEN = 500  # sites that rest which one claim wakes
_ASTRAY: Millis = 60_000  # the clocks of machines may differ by so much
FREE = and_(in_state(SiteState.READY), site.c.owner.is_(None))
# A look-up in the index for each machine that is gone: EXISTS would let MariaDB read all sites that are held.
_LEFT = select(site.c.id).where(in_state(SiteState.ACTIVE), site.c.owner == machine.c.id).limit(1).scalar_subquery()
_GONE_MACHINES = (
    select(machine.c.id, machine.c.heartbeat_at)
    .where(machine.c.state.in_(GONE), or_(_LEFT.is_not(None), machine.c.id == bindparam("mine")))
    .order_by(machine.c.id)
)
_HAS_WORK = exists().where(
    seed.c.site_id == site.c.id, seed.c.state.in_([SeedState.READY.value, SeedState.ACTIVE.value])
)
_RELEASE = (
    update(site)
    .where(among(site.c.id))
    .values(
        owner=None,
        state=sql_case(
            (and_(in_state(SiteState.VISITED), _HAS_WORK), SiteState.GUEST.value),
            (in_state(SiteState.VISITED), SiteState.LEFT.value),
            (_HAS_WORK, SiteState.READY.value),
            else_=SiteState.DONE.value,
        ),
    )
)
_WAKE = (
    update(site)
    .where(among(site.c.id), site.c.state.in_([SiteState.DONE.value, SiteState.LEFT.value]))
    .values(state=sql_case((in_state(SiteState.LEFT), SiteState.GUEST.value), else_=SiteState.READY.value))
)


class Open(NamedTuple):
    """Sites to claim: a condition on `site`, and whether their owner died, or ended without giving them back.

    Of such an owner there is the time of its last heartbeat, by the database's clock.
    """

    condition: ColumnElement[bool]
    after_death: bool
    last_beat: Millis = 0


def ensure_sites(connection: Connection, keys: Collection[str], dialect: Dialect) -> tuple[dict[str, int], int]:
    """Return the ids of the sites with these keys, made where missing (state ready), and how many were made."""
    rows = sorted((url_hash(key), key) for key in keys)
    made = BulkInsert.ignoring(site, ("key_hash", "site_key"), dialect).run(connection, rows)
    ids: dict[str, int] = {}
    for part in sliced(rows):
        ids.update(
            zip((key for _, key in part), ids_of_sites(connection, [key_hash for key_hash, _ in part]), strict=True)
        )
    return ids, made


def moved_sites(connection: Connection, ids: Mapping[str, int]) -> dict[str, int]:
    """Return the sites to which others have moved, by the keys of these, of which `ids` has the ids.

    A site has moved if a seed of its home page was led away, and no seed is there any more.
    """
    homes: dict[bytes, str] = {}
    for part in sliced(sorted(ids.values())):
        left = exists().where(seed.c.site_id == site.c.id)
        empty = select(site.c.site_key).where(site.c.id.in_(part), in_state(SiteState.DONE), site.c.token > 0, ~left)
        for key in connection.scalars(empty):
            homes.update((url_hash(f"{start}{key}/"), key) for start in _HOMES)
    moved: dict[str, int] = {}
    for hashes in sliced(sorted(homes)):
        query = select(seed.c.url_hash, seed.c.site_id).where(seed.c.url_hash.in_(hashes), seed.c.rehomed > 0)
        moved.update((homes[bytes(row.url_hash)], row.site_id) for row in connection.execute(query))
    return moved


def ids_of_sites(connection: Connection, hashes: list[bytes]) -> list[int]:
    """Return the ids of the sites with these hashes, in the order of the hashes.

    With parameters and rows, reading back would cost as much as inserting; PyMySQL reads one long text in no time.
    """
    known = f"site WHERE key_hash IN ({bytes_literals(connection, hashes)})"
    if connection.dialect.name != "mysql":
        return [*connection.exec_driver_sql(f"SELECT id FROM {known} ORDER BY key_hash").scalars()]
    joined = connection.exec_driver_sql(f"SELECT GROUP_CONCAT(id ORDER BY key_hash) FROM {known}").scalar_one()
    return [*map(int, joined.split(","))]


def by_primary_key(query: AnySelect) -> AnySelect:
    """Make a query of `site` by id use the primary key: another plan would lock all rows that it scans."""
    return query.with_hint(site, "FORCE INDEX (PRIMARY)", "mysql")


_LOCK = by_primary_key(
    select(site.c.id, site.c.owner, site.c.token, site.c.state)
    .where(among(site.c.id))
    .order_by(site.c.id)
    .with_for_update()
)


def open_sites(connection: Connection, machine_id: int) -> list[Open]:
    """Return where there are sites to claim: first those left by a machine that died or stopped, then free ones.

    There are none for `machine_id` itself once others have declared it dead.
    """
    last_beats = {row.id: row.heartbeat_at for row in connection.execute(_GONE_MACHINES, {"mine": machine_id})}
    if machine_id in last_beats:
        return []
    left_by = [(and_(in_state(SiteState.ACTIVE), site.c.owner == owner), beat) for owner, beat in last_beats.items()]
    return [*(Open(condition, True, beat) for condition, beat in left_by), Open(FREE, after_death=False)]


def candidates(connection: Connection, condition: ColumnElement[bool], after: int, limit: int) -> list[int]:
    """Return up to `limit` ids above `after`, in order, of sites of an `Open`, read from the index alone, unlocked."""
    query = select(site.c.id).where(condition, site.c.id > after).order_by(site.c.id).limit(limit)
    return list(connection.scalars(query.with_hint(site, "FORCE INDEX (site_state)", "mysql")))


def lock_sites(connection: Connection, ids: Iterable[int]) -> dict[int, AnyRow]:
    """Lock the sites in id order and return their rows: id, owner, token, state."""
    rows: dict[int, AnyRow] = {}
    for part in sliced(sorted(set(ids))):
        for row in connection.execute(_LOCK, {"among": part}):
            rows[row.id] = row
    return rows


def lock_and_wake_sites(connection: Connection, ids: Iterable[int]) -> None:
    """Lock the sites in id order, as `lock_sites` does but reading no rows; make ready those that are done."""
    for part in sliced(sorted(set(ids))):
        if connection.dialect.name == "postgresql":  # it locks no rows that it counts
            done = any(row.state == SiteState.DONE.value for row in lock_sites(connection, part).values())
        else:
            query = select(sql.count(sql_case((in_state(SiteState.DONE), 1)))).where(site.c.id.in_(part))
            done = bool(connection.execute(by_primary_key(query.with_for_update())).scalar_one())
        if done:
            wake_sites(connection, part)


def wake_sites(connection: Connection, ids: Iterable[int]) -> None:
    """Make locked sites that are done ready again, those of guests for guests."""
    for part in sliced(sorted(set(ids))):
        connection.execute(_WAKE, {"among": part})


def release_sites(connection: Connection, ids: Iterable[int]) -> None:
    """Take the owner from locked sites: ready if they have a seed ready or active, else done."""
    for part in sliced(sorted(set(ids))):
        connection.execute(_RELEASE, {"among": part})


def lay_to_rest(connection: Connection, ids: Iterable[int]) -> None:
    """Let nobody claim sites that were just released before their `next_due_at`."""
    for part in sliced(sorted(set(ids))):
        connection.execute(
            update(site).where(site.c.id.in_(part), in_state(SiteState.READY)).values(state=SiteState.RESTING.value)
        )


def wake_rested(connection: Connection, now: Millis, longest: Millis) -> None:
    """Make sites ready whose rest is over; passes by those that another machine has locked to do the same.

    Where more than the longest rest is left, with the site's own pause, the clock was set back since: whoever takes the
    site up lets it rest for as long as can be.
    """
    never = site.c.next_due_at > now + longest + site.c.pause_ms + _ASTRAY
    over = select(site.c.id).where(in_state(SiteState.RESTING), or_(site.c.next_due_at <= now, never)).limit(_WOKEN)
    ids = list(connection.scalars(over.with_hint(site, "FORCE INDEX (site_state)", "mysql")))
    if ids:
        free = select(site.c.id).where(site.c.id.in_(ids), in_state(SiteState.RESTING)).order_by(site.c.id)
        woken = list(connection.scalars(by_primary_key(free.with_for_update(skip_locked=skips_locked(connection)))))
        connection.execute(update(site).where(site.c.id.in_(woken)).values(state=SiteState.READY.value))
