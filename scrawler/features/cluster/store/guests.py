"""Guests: machines that have nothing else to do fetch what leads out of sites themselves, at the sites of others.

What guests do at a site has a row of `site` of its own, whose key is "guest " and that of the site: parties, lists and
seen filter of guests are theirs, so that the owner of the site knows nothing of them, nor they of what it has fetched.
But nobody is at a site at the same time as somebody else. A guest comes only where the site is nobody's and has no seed
left to crawl; it takes the leases on both rows in one transaction, with the politeness clock of the site itself, and
all of its checkpoints write that clock. A guest that dies leaves both rows: the site itself goes to whoever claims what
the dead have left, rests as long as after any death, and only then may another guest come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from sqlalchemy import ColumnElement, Connection, and_, exists, literal_column, or_, select, update
from sqlalchemy.engine import Dialect

from scrawler.features.cluster.declaration import FEATURE
from scrawler.features.cluster.store.left_to_send import InboxesWithLeftovers
from scrawler.model.claims import ClaimedSite, SiteState
from scrawler.model.deltas import SiteDelta
from scrawler.model.exchange import GUEST, WaitingUrl, guest_key
from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis, url_hash
from scrawler.settings import Settings
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.claims import OPEN_SEEDS, Claims, begun_sites
from scrawler.store.claims.sites import FREE, GONE, ensure_sites, ids_of_sites, lock_sites, release_sites, wake_sites
from scrawler.store.commit.batches import Batch
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import Externals
from scrawler.store.commit.inboxes import Inboxes, Lone
from scrawler.store.commit.row_writers import SiteRows, take_out
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import SLICE, AnyRow, in_state, sliced, window_of
from scrawler.store.lists.openings import Opening, opening
from scrawler.store.schema.tables import inbox, machine, seed, site
from scrawler.store.upkeep.features import need
from scrawler.urls.scope import site_key

_OPEN = (SiteState.GUEST.value, SiteState.VISITED.value)
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

    def follow(self, settings: Settings) -> None:
        """Follow other settings from now on."""
        self.max_depth = settings.max_depth

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
            need(connection, FEATURE, self._database)
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


class OwnAndGuestInboxes(InboxesWithLeftovers):
    """The inboxes of a machine that is a guest at some of its sites."""

    def __init__(
        self,
        database: Database,
        machine_id: int,
        scope: Scope,
        boundary: CrawlBoundary,
        max_depth: int,
        guests: GuestInboxes,
    ) -> None:
        """Work on `database` in the name of a machine."""
        super().__init__(database, machine_id, scope, boundary, max_depth)
        self._guests = guests

    def of_claimed(self, claimed: ClaimedSite, limit: int) -> list[WaitingUrl]:
        """Return what waits for a site, of guests where the machine is one there."""
        if claimed.guest_at:
            return self._guests.of_claimed(claimed, limit)
        return super().of_claimed(claimed, limit)


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
                guest_at=row.visits,
                window=window_of(row),
            )
            for row in rows
            if row.id in seeds
        ]


def ensure_guest_sites(connection: Connection, keys: Collection[str], dialect: Dialect) -> dict[str, int]:
    """Return the ids of the rows of guests at the sites with these keys, by their own keys; made where missing.

    So are the sites themselves, without any seed: then they are done.
    """
    ids, _ = ensure_sites(connection, keys, dialect)
    has_seeds = exists().where(seed.c.site_id == site.c.id)
    for part in sliced(sorted(ids.values())):
        never_had = site.c.id.in_(part), FREE, site.c.token == 0, ~has_seeds
        connection.execute(update(site).where(*never_had).values(state=SiteState.DONE.value))
    columns = "key_hash", "site_key", "state", "visits"
    rows = sorted((url_hash(own := guest_key(key)), own, SiteState.LEFT.value, ids[key]) for key in keys)
    BulkInsert.ignoring(site, columns, dialect).run(connection, rows)
    made: dict[str, int] = {}
    for some in sliced(rows):
        found = ids_of_sites(connection, [row[0] for row in some])
        made.update(zip((row[1] for row in some), found, strict=True))
    return made


class GuestCheckpoints(Checkpoints):
    """Commits as any machine does; what a guest has done is written to the row of the site itself as well."""

    def __init__(self, database: Database, machine_id: int, externals: Externals | None = None) -> None:
        """See `Checkpoints`."""
        super().__init__(database, machine_id, externals)
        self._sites = SiteRows(database)
        self._rows.add(self._write_hosts)

    def commit(self, deltas: Sequence[SiteDelta]) -> frozenset[int]:
        """Commit; parties of guests that move to another site are parties of guests there."""
        return super().commit([_moved_as_guests(one) if one.guest_at else one for one in deltas])

    def _locked(self, deltas: Sequence[SiteDelta]) -> Iterable[int]:
        return chain(super()._locked(deltas), (one.guest_at for one in deltas if one.guest_at))

    def _targets(self, connection: Connection, deltas: Sequence[SiteDelta]) -> dict[str, int]:
        targets = super()._targets(connection, [one for one in deltas if not one.guest_at])
        moves = (one.rehoming for delta in deltas if delta.guest_at for one in delta.seeds)
        if keys := {to.site_key.removeprefix(GUEST) for to in moves if to}:
            targets |= ensure_guest_sites(connection, keys, self._database.compiler)
        return targets

    def _write_hosts(self, batch: Batch) -> None:
        """Write clocks of the sites at which guests are, and take out what these have listed."""
        if guests := [one for one in batch.sites if one.guest_at]:
            self._sites.write(batch.connection, [(one.guest_at, one) for one in guests])
            take_out(batch.connection, [number for one in guests for number in one.taken])


def _moved_as_guests(delta: SiteDelta) -> SiteDelta:
    if not any(one.rehoming for one in delta.seeds):
        return delta
    seeds = (
        replace(one, rehoming=replace(to, site_key=guest_key(to.site_key))) if (to := one.rehoming) else one
        for one in delta.seeds
    )
    return replace(delta, seeds=tuple(seeds))
