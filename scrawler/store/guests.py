"""Guests: machines that have nothing else to do fetch what leads out of sites themselves, at the sites of others.

What guests do at a site has a row of `site` of its own, whose key is "guest " and that of the site: parties, lists and
seen filter of guests are theirs, so that the owner of the site knows nothing of them, nor they of what it has fetched.
But nobody is at a site at the same time as somebody else. A guest comes only where the site is nobody's and has no seed
left to crawl; it takes the leases on both rows in one transaction, with the politeness clock of the site itself, and
all of its checkpoints write that clock. A guest that dies leaves both rows: the site itself goes to whoever claims what
the dead have left, rests as long as after any death, and only then may another guest come.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Connection, and_, literal_column, or_, select, update
from sqlalchemy import func as sql

from scrawler.model.claims import ClaimedSite, SiteState
from scrawler.model.exchange import Guests, guest_key
from scrawler.model.results import Result
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis, url_hash
from scrawler.store.bulk import BulkInsert
from scrawler.store.claims import OPEN_SEEDS, Claims, begun_sites
from scrawler.store.engine import Database, database_time
from scrawler.store.inboxes import Inboxes, Lone
from scrawler.store.openings import Opening, opening
from scrawler.store.row_writers import take_out
from scrawler.store.rows import SLICE, AnyRow, in_state, sliced, window_of
from scrawler.store.sites import GONE, ensure_guest_sites, lock_sites, release_sites, wake_sites
from scrawler.store.tables import inbox, machine, page, seed, site
from scrawler.urls.scope import site_key

_OPEN = (SiteState.GUEST.value, SiteState.VISITED.value)
_STATES = (*_OPEN, SiteState.LEFT.value)
_LONG_REST: Millis = 60_000  # a guest does not come where it would have to wait for longer
_SPREAD = 4  # for each site that is wanted so many are looked at, for other machines look as well
_SEED = ("site_id", "url", "url_hash", "hops", "added_at", "base_depth", "guest_of")

_host = site.alias("host")  # the site itself
_HOST = (
    *(site.c.visits, _host.c.site_key.label("host_key"), _host.c.next_due_at),
    *(_host.c.pushbacks, _host.c.pause_ms, _host.c.slowest_ms, _host.c.window_from, _host.c.window_to),
)


class GuestInboxes(Inboxes):
    """What guests are to fetch, by the sites at which it is.

    A URL for guests is left out where the database knows what came of it, where the owner of its site has given that up
    or has come to a limit there; else a party of guests begins or goes on for it.
    """

    _KINDS = (1,)
    _OVER = SiteState.LEFT

    def waits(self) -> bool:
        """Whether there is any URL for guests."""
        return bool(self._database.rows(select(inbox.c.id).where(inbox.c.guest == 1).limit(1)))

    def _key_hash(self, key: str) -> bytes:
        return url_hash(guest_key(key))

    def _given_up(self, lone: Sequence[Lone]) -> Collection[int]:
        keys = {site_key(one.url, self._scope) for one in lone}
        ids: dict[str, int] = {}
        for part in sliced(sorted(url_hash(key) for key in keys)):
            query = select(site.c.id, site.c.site_key).where(site.c.key_hash.in_(part))
            ids.update((row.site_key, row.id) for row in self._database.rows(query))
        ended = {
            site_id: [party for party in parties if party.state == SeedState.DONE.value]
            for site_id, parties in self._parties(ids.values()).items()
        }
        return {
            one.id
            for one in lone
            if (host := ids.get(site_key(one.url, self._scope))) is not None
            and opening(one.url, one.depth, ended[host], self._scope)[0] is Opening.NONE
        }

    def _begin(self, new: Sequence[Lone]) -> None:
        if not new:
            return
        keys = {one.id: site_key(one.url, self._scope) for one in new}
        insert = BulkInsert.ignoring(seed, _SEED, self._database.compiler)

        def work(connection: Connection) -> None:
            ids = ensure_guest_sites(connection, set(keys.values()), self._database.compiler)
            lock_sites(connection, ids.values())
            now = database_time(connection, self._database.clock)
            rows = []
            for one in new:
                site_id = ids[guest_key(keys[one.id])]
                rows.append((site_id, one.url, url_hash(guest_key(one.url)), one.hops, now, one.depth, one.finder))
            insert.run(connection, rows)
            wake_sites(connection, ids.values())
            take_out(connection, [one.id for one in new])

        self._database.retrying(work)

    def _count(self, connection: Connection, received: int, reopened: int = 0) -> None:
        """Count nothing: what guests do is not an exchange, and the sums of that shall agree."""


class Visits(Claims):
    """Claims, for one machine, of sites at which it is a guest."""

    def __init__(self, database: Database, machine_id: int) -> None:
        """Claim in the name of `machine_id`, whatever the partition says is its own."""
        super().__init__(database, machine_id)
        self._unsure = []

    def visit(self, sites: int, seeds_per_site: int) -> list[ClaimedSite]:
        """Own up to `sites` sites at which there is something for guests, each with the site itself.

        Those whose owner is at work there, or has seeds left, are passed by.
        """
        ids = self._database.reading(lambda connection: self._open(connection, limit=_SPREAD * sites))
        if not (ids or self._unsure):
            return []

        def work(connection: Connection) -> list[ClaimedSite]:
            if not self._unsure or not self._own(connection, self._unsure):  # an earlier try has claimed nothing
                self._unsure = self._visit(connection, ids, sites, seeds_per_site)
            return self._unsure

        claimed = self._database.retrying(work)
        self._unsure = []
        return claimed

    def in_the_way(self, ids: Collection[int]) -> set[int]:
        """Return which of the sites at which this machine is a guest have seeds for their owners by now."""
        found: set[int] = set()
        for part in sliced(sorted(ids)):
            query = select(seed.c.site_id).where(seed.c.site_id.in_(part), seed.c.state.in_(OPEN_SEEDS)).distinct()
            found.update(row[0] for row in self._database.rows(query))
        return found

    def _open(self, connection: Connection, ids: Collection[int] | None = None, limit: int = SLICE) -> list[int]:
        """Return sites, of these or any, at which a guest may be."""
        clock: ColumnElement[int] = literal_column(self._database.clock)
        gone = select(machine.c.id).where(machine.c.state.in_(GONE))
        left_by_dead = and_(in_state(SiteState.VISITED), site.c.owner.in_(gone))
        nobodys = _host.c.state == SiteState.DONE.value, _host.c.owner.is_(None)
        query = select(site.c.id).join(_host, _host.c.id == site.c.visits)
        query = query.where(site.c.state.in_(_OPEN), or_(in_state(SiteState.GUEST), left_by_dead), *nobodys)
        query = query.where(_host.c.next_due_at <= clock + _LONG_REST)
        if ids is not None:
            query = query.where(site.c.id.in_(ids))
        return list(connection.scalars(query.order_by(site.c.id).limit(limit)))

    def _visit(self, connection: Connection, ids: list[int], wanted: int, seeds_per_site: int) -> list[ClaimedSite]:
        dead = select(machine.c.id).where(machine.c.id == self._machine_id, machine.c.state.in_(GONE))
        if connection.scalar(dead) is not None:
            return []
        pairs = connection.execute(select(site.c.id, site.c.visits).where(site.c.id.in_(ids))).all()
        lock_sites(connection, [one for row in pairs for one in (row.id, row.visits)])
        free = set(self._open(connection, ids)) if ids else set()
        taken = [row for row in pairs if row.id in free][:wanted]
        for state, some in (
            (SiteState.VISITED, [row.id for row in taken]),
            (SiteState.ACTIVE, [row.visits for row in taken]),
        ):
            own = {"owner": self._machine_id, "token": site.c.token + 1, "state": state.value}
            connection.execute(update(site).where(site.c.id.in_(some)).values(own))
        return self._with_seeds(connection, taken, seeds_per_site)

    def _with_seeds(self, connection: Connection, taken: list[AnyRow], seeds_per_site: int) -> list[ClaimedSite]:
        ids = [row.id for row in taken]
        begun = begun_sites(connection, ids)
        seeds = self._begin_seeds(connection, ids, seeds_per_site, OPEN_SEEDS)
        release_sites(connection, [one for row in taken if row.id not in seeds for one in (row.id, row.visits)])
        own = select(site.c.id, site.c.token, *_HOST).join(_host, _host.c.id == site.c.visits)
        rows = connection.execute(own.where(site.c.id.in_(ids)).order_by(site.c.id))
        return [
            ClaimedSite(
                row.id,
                row.host_key,
                row.token,
                row.next_due_at,
                tuple(seeds[row.id]),
                fresh=row.id not in begun,
                pause_ms=row.pause_ms,
                pushbacks=row.pushbacks,
                slowest_ms=row.slowest_ms,
                visits=row.visits,
                window=window_of(row),
            )
            for row in rows
            if row.id in seeds
        ]


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
