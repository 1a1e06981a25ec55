"""Claims: how a machine comes to own sites, gets their seeds, and lets go of them again.

A claim takes two steps, on `site` only: candidates in index order without locks, then as many as wanted locked by
primary key, those passed over that another machine has locked; where too few are left over, further on in the index.
On a server that cannot pass over locked rows the second step is an update with a condition (see locking.py).
Sites of a machine that stopped or died come first. How many a claim may take while sites are few: see shares.py.
Where a partition says whose a site is, the candidates are those that it has found; all else stays the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, bindparam, literal_column, or_, select, update
from sqlalchemy import func as sql

from scrawler.model.claims import ClaimedSite, HeldSites, Resting, SiteState, WorkLeft
from scrawler.model.machines import LEASE
from scrawler.model.partitions import PartitionKind
from scrawler.model.seeds import Seed, SeedState
from scrawler.model.terms import Millis
from scrawler.store.claims.partitions import LivePartition, Narrowed, Partition
from scrawler.store.claims.shares import FairShare
from scrawler.store.claims.sites import (
    Open,
    by_primary_key,
    candidates,
    lock_sites,
    open_sites,
    release_sites,
    wake_rested,
)
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.locking import skips_locked
from scrawler.store.engines.rows import SEED_COLUMNS, SLICE, AnyRow, among, seed_of, sliced, window_of
from scrawler.store.schema.tables import lane, machine, seed, site

_SPREAD = 4  # for each site that is wanted so many are looked at, for other machines look as well
_FARTHEST = 1_024  # where those are locked more are looked at, up to this: machines cannot have locked so many
_SUBSELECTS = 200  # subselects of one query, of which SQLite allows 500
_FEW = 4  # sites that are claimed together have few seeds up to this mean
_WAKE_EVERY = 2.0  # seconds between two looks at sites that rest
_DAY: Millis = 24 * 3600 * 1000  # no pause that a setting allows is longer
OPEN_SEEDS = (SeedState.ACTIVE.value, SeedState.READY.value)
_CLAIMED = (
    *(site.c.id, site.c.site_key, site.c.token, site.c.next_due_at),
    *(site.c.pushbacks, site.c.pause_ms, site.c.slowest_ms, site.c.window_from, site.c.window_to),
)

_BEGUN = select(seed.c.site_id).join(lane, lane.c.seed_id == seed.c.id).where(among(seed.c.site_id)).distinct()
_SEEDS = select(*SEED_COLUMNS).where(among(seed.c.id))
_SOME_SEEDS = (
    select(*SEED_COLUMNS)
    .where(among(seed.c.site_id), seed.c.state == bindparam("state"))
    .limit(bindparam("most", type_=Integer))
)

_LEFT = tuple(state for state in SeedState if state is not SeedState.DONE)
_ANY_LEFT = select(
    *(select(seed.c.id).where(seed.c.state == state.value).limit(1).scalar_subquery() for state in _LEFT)
)


class Claims:
    """Claims for one machine (a row of the table machine)."""

    def __init__(self, database: Database, machine_id: int, partition: Partition | None = None) -> None:
        """Claim in the name of `machine_id` what `partition` says is its own; None: whatever is open."""
        self._database = database
        self._machine_id = machine_id
        self._partition = partition or LivePartition(database, machine_id, PartitionKind.INDEPENDENT)
        self._share = FairShare(machine_id)
        self._owned: Mapping[str, Any] = {
            "owner": machine_id,
            "token": site.c.token + 1,
            "state": SiteState.ACTIVE.value,
        }
        self._own_sites = update(site).where(among(site.c.id)).values(self._owned)
        now: ColumnElement[int] = literal_column(database.clock)
        begun = {"started_at": sql.coalesce(seed.c.started_at, now), "machine_id": machine_id}
        self._begin = update(seed).where(among(seed.c.id)).values(state=SeedState.ACTIVE.value, **begun)
        self._wake_at = 0.0  # monotonic seconds of the next look at sites that rest
        # What was being claimed when the connection broke is ours if that was committed.
        self._unsure: list[ClaimedSite] = []
        self._unsure_seeds: dict[tuple[int, int], tuple[Seed, ...]] = {}  # (site id, token) -> seeds

    def claim(
        self,
        sites: int,
        seeds_per_site: int,
        *,
        machines: int = 1,
        seats_elsewhere: int = 0,
        by_urls: bool = False,
        longest_rest: Millis = _DAY,
    ) -> list[ClaimedSite]:
        """Own up to `sites` more sites; each comes with its active seeds and ready ones up to `seeds_per_site` in all.

        Sites and parties that were begun come before new ones. While sites are few, they are shared out among
        `machines`, of which the others can hold `seats_elsewhere` seeds; `by_urls` as in `FairShare`. Never waits for
        another machine: a site that one has locked is being claimed or committed and is not free; if that comes to
        nothing, the next look finds it. Fewer than wanted come only if all that was open at that moment is locked or
        somebody else's share. A machine that was declared dead gets none: its heartbeat tells it. So an empty list does
        not mean that the crawl has ended: see `states_left`. A site that a dead machine has left without any seed to
        crawl comes as well: it is given back at once, and rests first, for the dead one may have asked it. No site can
        have to rest longer than `longest_rest`, by what settings say.
        """
        narrowed = self._partition.narrowed(sites, machines, seats_elsewhere)

        def work(connection: Connection) -> list[ClaimedSite]:
            if not self._unsure or not self._own(connection, self._unsure):  # an earlier try has claimed nothing
                self._wake_rested(connection, longest_rest)
                if narrowed is None:
                    self._unsure = self._claim(connection, sites, seeds_per_site, machines, seats_elsewhere, by_urls)
                else:
                    self._unsure = self._take_narrowed(connection, narrowed, sites, seeds_per_site)
            return self._unsure

        if narrowed == [] and not self._unsure and time.monotonic() < self._wake_at:
            return []  # nothing to write
        claimed = self._database.retrying(work)
        self._unsure = []
        for one in narrowed or ():
            self._partition.forget(one.ids)
        return claimed

    def more(self, site_id: int, token: int, limit: int) -> tuple[Seed, ...]:
        """Make up to `limit` more ready seeds of an owned site active; none if the site is no longer owned."""

        def work(connection: Connection) -> tuple[Seed, ...]:
            if not self._still_own(connection, {site_id: token}):
                return ()
            unsure = self._unsure_seeds.get((site_id, token), ())
            if not unsure or not _are_active(connection, unsure):  # an earlier try has claimed nothing
                begun = self._begin_seeds(connection, [site_id], limit, (SeedState.READY.value,))
                unsure = self._unsure_seeds[site_id, token] = tuple(begun.get(site_id, ()))
            return unsure

        seeds = self._database.retrying(work)
        self._unsure_seeds.pop((site_id, token), None)
        return seeds

    def held(self) -> HeldSites | None:
        """Return how many sites each machine at work owns; None while there are sites to claim.

        None as well where a partition says whose each site is: what is given back would be this machine's again.
        """
        if not self._partition.is_open:
            return None
        return self._database.reading(lambda connection: self._share.held(connection, self._database.clock))

    def tell_urls_left(self, urls: int) -> None:
        """Tell other machines how many URLs are left at this machine's sites."""
        mine = update(machine).where(machine.c.id == self._machine_id).values(urls_left=urls)
        self._database.retrying(lambda connection: connection.execute(mine))

    def states_left(self) -> Set[SeedState]:
        """Tell in which states but done there are seeds: a look into an index for each, for machines ask often."""

        def work(connection: Connection) -> Set[SeedState]:
            return {state for state, found in zip(_LEFT, connection.execute(_ANY_LEFT).one(), strict=True) if found}

        return self._database.reading(work)

    def work_left(self) -> WorkLeft:
        """Count the seeds of the crawl by state, from an index alone."""
        query = select(seed.c.state, sql.count()).group_by(seed.c.state)
        counts = self._database.reading(lambda connection: {row[0]: row[1] for row in connection.execute(query)})
        return WorkLeft(**{state.value: counts.get(state.value, 0) for state in SeedState})

    def resting(self) -> Resting:
        """Count the sites that rest now, those that machines hold among them."""
        clock: ColumnElement[int] = literal_column(self._database.clock)
        states = SiteState.RESTING.value, SiteState.ACTIVE.value
        rests = or_(site.c.state == SiteState.RESTING.value, site.c.pushbacks > 0)
        query = select(sql.count(), sql.min(site.c.next_due_at - clock))
        query = query.where(site.c.state.in_(states), rests, site.c.next_due_at > clock)
        number, left = self._database.reading(lambda connection: connection.execute(query).one())
        return Resting(number, max(0, left or 0))

    def _wake_rested(self, connection: Connection, longest_rest: Millis) -> None:
        if time.monotonic() >= self._wake_at:
            self._wake_at = time.monotonic() + _WAKE_EVERY
            wake_rested(connection, database_time(connection, self._database.clock), longest_rest)

    def _own(self, connection: Connection, claimed: Iterable[ClaimedSite]) -> bool:
        held = {one.id: one.token for one in claimed}
        return len(self._still_own(connection, held)) == len(held)

    def _still_own(self, connection: Connection, held: Mapping[int, int]) -> list[int]:
        rows = lock_sites(connection, held)
        return [row.id for row in rows.values() if (row.owner, row.token) == (self._machine_id, held[row.id])]

    def _claim(
        self,
        connection: Connection,
        wanted: int,
        seeds_per_site: int,
        machines: int,
        seats_elsewhere: int,
        by_urls: bool,
    ) -> list[ClaimedSite]:
        sources = open_sites(connection, self._machine_id)
        allowed = self._share.allowed(connection, wanted, machines, seats_elsewhere, by_urls)
        claimed = self._take_from(connection, sources, allowed, seeds_per_site)
        if allowed < wanted:
            left_over = self._share.left_over(connection, sources, wanted - len(claimed))
            claimed += self._take_from(connection, left_over, wanted - len(claimed), seeds_per_site)
        return claimed

    def _take_narrowed(
        self, connection: Connection, narrowed: list[Narrowed], wanted: int, seeds_per_site: int
    ) -> list[ClaimedSite]:
        if not open_sites(connection, self._machine_id):
            return []  # others have declared this machine dead
        claimed: list[ClaimedSite] = []
        for source, ids in narrowed:
            rows = self._hold(connection, source.condition, ids, wanted - len(claimed))
            claimed += self._take(connection, rows, seeds_per_site, source)
        return claimed

    def _take_from(
        self, connection: Connection, sources: Iterable[Open], wanted: int, seeds_per_site: int
    ) -> list[ClaimedSite]:
        claimed: list[ClaimedSite] = []
        for source in sources:
            after, spread = 0, 1 if self._database.dialect == "sqlite" else _SPREAD  # SQLite's writers come one by one
            while (missing := wanted - len(claimed)) and spread <= _FARTHEST:
                ids = candidates(connection, source.condition, after, wanted * spread)
                rows = self._hold(connection, source.condition, ids, missing)
                claimed += self._take(connection, rows, seeds_per_site, source)
                if len(rows) == missing:
                    after = rows[-1].id  # the rows behind it have not been tried
                elif len(ids) == wanted * spread:
                    after, spread = ids[-1], 2 * spread
                else:
                    break
        return claimed

    def _hold(
        self, connection: Connection, condition: ColumnElement[bool], ids: list[int], wanted: int
    ) -> list[AnyRow]:
        """Own the first `wanted` sites among `ids` that fulfil the condition still; return them as they were."""
        if not skips_locked(connection):
            return self._hold_by_condition(connection, condition, ids, wanted)
        rows = _lock(connection, condition, ids, wanted)
        for part in sliced([row.id for row in rows]):
            connection.execute(self._own_sites, {"among": part})
        return rows

    def _hold_by_condition(
        self, connection: Connection, condition: ColumnElement[bool], ids: list[int], wanted: int
    ) -> list[AnyRow]:
        """Do the same on a server that cannot pass over locked rows: it changes those that fulfil the condition still.

        Who comes second waits for the first one, a claim or a commit, and changes no row then.
        """
        rows: list[AnyRow] = []
        at = 0
        while at < len(ids) and len(rows) < wanted:
            part = ids[at : at + min(SLICE, wanted - len(rows))]
            at += len(part)
            mine = update(site).with_hint("FORCE INDEX (PRIMARY)", dialect_name="mysql")  # see `by_primary_key`
            if connection.execute(mine.where(site.c.id.in_(part), condition).values(self._owned)).rowcount:
                # None of them was this machine's before.
                columns = *(one for one in _CLAIMED if one is not site.c.token), (site.c.token - 1).label("token")
                query = select(*columns).where(site.c.id.in_(part), site.c.owner == self._machine_id)
                rows += connection.execute(query.order_by(site.c.id))
        return rows

    def _take(self, connection: Connection, rows: list[AnyRow], seeds_per_site: int, source: Open) -> list[ClaimedSite]:
        ids = [row.id for row in rows]
        begun = begun_sites(connection, ids)
        seeds = self._begin_seeds(connection, ids, seeds_per_site, OPEN_SEEDS)
        if not source.after_death:
            release_sites(connection, [one for one in ids if one not in seeds])  # nothing is to be crawled
        return [
            ClaimedSite(
                row.id,
                row.site_key,
                row.token + 1,
                row.next_due_at,
                tuple(seeds.get(row.id, ())),
                fresh=row.id not in begun,
                after_death=source.after_death,
                silent_since=source.last_beat + LEASE,
                pause_ms=row.pause_ms,
                slowest_ms=row.slowest_ms,
                pushbacks=row.pushbacks,
                window=window_of(row),
            )
            for row in rows
            if row.id in seeds or source.after_death
        ]

    def _begin_seeds(
        self, connection: Connection, site_ids: list[int], limit: int, states: tuple[str, ...]
    ) -> dict[int, list[Seed]]:
        """Make up to `limit` seeds of each site active, in the order of `states`, then of id.

        Those that are active already all come, however many: their lists would be taken for those of ended seeds.
        """
        found: dict[int, list[Seed]] = {}
        for row in sorted(
            _first_seeds(connection, site_ids, limit, states), key=lambda row: (states.index(row.state), row.id)
        ):
            mine = found.setdefault(row.site_id, [])
            if row.state == SeedState.ACTIVE or len(mine) < limit:
                mine.append(seed_of(row, SeedState.ACTIVE))
        self._mark_active(connection, [one.id for seeds in found.values() for one in seeds])
        return found

    def _mark_active(self, connection: Connection, seed_ids: list[int]) -> None:
        for part in sliced(sorted(seed_ids)):
            connection.execute(self._begin, {"among": part})


def begun_sites(connection: Connection, ids: Iterable[int]) -> set[int]:
    """Return which of the sites have lanes."""
    begun: set[int] = set()
    for part in sliced(ids):
        begun.update(connection.scalars(_BEGUN, {"among": part}))
    return begun


def _lock(connection: Connection, condition: ColumnElement[bool], ids: list[int], wanted: int) -> list[AnyRow]:
    """Lock the first `wanted` sites among `ids` that fulfil the condition still and that nobody else has locked."""
    rows: list[AnyRow] = []
    for part in sliced(ids):
        query = select(*_CLAIMED).where(site.c.id.in_(part), condition).order_by(site.c.id).limit(wanted - len(rows))
        rows += connection.execute(by_primary_key(query.with_for_update(skip_locked=True)))
        if len(rows) == wanted:
            break
    return rows


def _are_active(connection: Connection, seeds: Sequence[Seed]) -> bool:
    """Tell whether seeds that were ready, of a site that is owned, have been made active."""
    return connection.scalar(select(seed.c.state).where(seed.c.id == seeds[0].id)) == SeedState.ACTIVE.value


def _first_seeds(connection: Connection, site_ids: list[int], limit: int, states: tuple[str, ...]) -> Iterator[AnyRow]:
    """Read the active seeds and at least the first `limit` ready ones of each site, for many sites in few queries."""
    ids: list[int] = []
    for state in states:
        for part in sliced(site_ids):
            # Nearly all sites have a seed or two: all their seeds are read at once, unless they are many.
            most = _FEW * len(part)
            found = connection.execute(_SOME_SEEDS, {"among": part, "state": state, "most": most}).all()
            if len(found) < most:
                yield from found
            else:
                ids += _first_of_each(connection, part, limit, state)
    for part in sliced(ids):
        yield from connection.execute(_SEEDS, {"among": part})


def _first_of_each(connection: Connection, site_ids: list[int], limit: int, state: str) -> Iterator[int]:
    """Read the ids of the active seeds, or of the first `limit` in another state, of each site.

    One subselect a site: a site may have a million seeds, and a window function would read them all. Of ids alone:
    MariaDB puts each subselect with a TEXT column on disk, and takes 0.6 ms for each without.
    """
    first = "" if state == SeedState.ACTIVE.value else f" ORDER BY id LIMIT {limit:d}"
    for part in sliced(site_ids, _SUBSELECTS):
        query = " UNION ALL ".join(
            f"SELECT id FROM (SELECT id FROM seed WHERE site_id = {one:d} AND state = '{state}'{first}) AS s{number:d}"
            for number, one in enumerate(part)
        )
        yield from connection.exec_driver_sql(query).scalars()
