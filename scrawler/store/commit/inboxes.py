"""Inboxes of sites: URLs that parties of other sites have found, until the owner of a site has them in its lists.

A row of `inbox` goes in the very transaction in which what it says is durable: in the checkpoint of the site's owner
that lists the URL (or knows that it is listed, or refuses it), or in one that opens a party for it here. Delivery is at
least once, for what is read and not yet taken out is read again; the seen filter of the site makes it once.
Where a site has an owner, its rows are the owner's. Where it has none, and is waiting for one, they wait as well. Only
where nothing of a site is left to do, or the site is new, somebody has to let it go on: any machine does that here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, or_, select, update
from sqlalchemy import case as sql_case
from sqlalchemy import func as sql

from scrawler.model.claims import ClaimedSite, SiteState
from scrawler.model.exchange import Exchanged, WaitingUrl
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.model.visits import KnownVisit, UrlState, known_visit
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.claims.sites import lock_sites, wake_sites
from scrawler.store.commit.row_writers import take_out
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import HOME_URL, AnyRow, sliced
from scrawler.store.lists.frontier import state_of
from scrawler.store.lists.openings import Opening, Party, opening
from scrawler.store.schema.tables import inbox, lane, machine, outbox, page, seed, site, url_state
from scrawler.urls.scope import site_key

PUSHED = 2  # value of inbox.guest: somebody else has sent it, and it comes before all others
_PARTIES = 200  # seeds of a site that is done which are looked at: one that could go on is among the first

_STATE = [url_state.c[name] for name in UrlState._fields]
_WAITING = (
    *(inbox.c.id, inbox.c.url, inbox.c.depth, inbox.c.referrer),
    *(inbox.c.key_hash, inbox.c.hops),
)


class Lone(NamedTuple):
    """A URL whose site has no owner and nothing to do, or no row at all: then `site_id` is None."""

    id: int
    url: str
    depth: int
    hops: int
    site_id: int | None
    finder: int  # the seed whose party has found it
    guest: int = 0  # as in the table


class Inboxes:
    """The inboxes of a crawl, as one machine sees them; used by one thread at a time."""

    _KINDS: tuple[int, ...] = (0, PUSHED)  # values of inbox.guest
    _OVER = SiteState.DONE  # of a site for whose URLs somebody has to let parties go on

    def __init__(
        self, database: Database, machine_id: int, scope: Scope, boundary: CrawlBoundary, max_depth: int
    ) -> None:
        """Work on `database` in the name of a machine."""
        self._database = database
        self._machine_id = machine_id
        self._scope = scope
        self._boundary = boundary
        self._seeds = Seeds(database)
        self.max_depth = max_depth  # the machine changes it while it runs, as users do

    def of_sites(self, keys: Collection[str], limit: int) -> dict[str, list[WaitingUrl]]:
        """Return what waits for these sites, by their keys: up to `limit` URLs in all, the oldest first."""
        if not self._database.rows(select(inbox.c.id).limit(1)):
            return {}  # as it mostly is, whatever a machine holds
        by_hash = {self._key_hash(key): key for key in keys}
        found: dict[str, list[WaitingUrl]] = defaultdict(list)
        left = limit
        for part in sliced(sorted(by_hash)):
            query = (
                select(*_WAITING, inbox.c.guest, inbox.c.seed_id)
                .where(inbox.c.key_hash.in_(part))
                .order_by(inbox.c.id)
                .limit(left)
            )
            for row in self._database.rows(query):
                waiting = WaitingUrl(row.id, row.url, row.depth, bytes(row.referrer), row.guest == PUSHED)
                if waiting.pushed:
                    waiting = waiting._replace(known=self._known_visit(row))
                found[by_hash[bytes(row.key_hash)]].append(waiting)
                left -= 1
            if not left:
                break
        return found

    def of_claimed(self, claimed: ClaimedSite, limit: int) -> list[WaitingUrl]:
        """Return what waits for a site that this machine has claimed."""
        return self.of_sites([claimed.key], limit).get(claimed.key, [])

    def _known_visit(self, row: AnyRow) -> KnownVisit | None:
        """Return what the last visit to a URL that was pushed has brought, if it was visited for the seed of its row.

        Its page is asked for as a whole where a server could not say that it has not changed.
        """
        mine = url_state.c.seed_id == row.seed_id, url_state.c.url_hash == url_hash(row.url)
        states = self._database.rows(select(*_STATE).where(*mine))
        return known_visit(state_of(states[0])) if states else None

    def exchanged(self) -> Exchanged:
        """Return the sums over all machines, and how many URLs wait, as they are at one moment."""
        return exchanged(self._database)

    def _key_hash(self, key: str) -> bytes:
        return url_hash(key)

    def open_parties(self, limit: int) -> int:
        """Let parties begin, or go on, for up to `limit` URLs whose sites nobody has in work.

        URLs that are fetched already, or may not enter, are taken out. Returns how many URLs were looked at. What
        several machines do at once, or one does again after a crash, comes to the same.
        """
        lone = self._lone(limit)
        if not lone:
            return 0
        known = self._known(lone)
        refusal = self._boundary.rule().refusal
        given_up = self._given_up(lone)
        done: list[int] = []
        left: list[Lone] = []
        for one in lone:
            is_over = one.id in known or one.id in given_up or one.depth > self.max_depth or refusal(one.url)
            if is_over:
                done.append(one.id)
            else:
                left.append(one)
        self._let_parties_go_on(left, done)
        return len(lone)

    def _let_parties_go_on(self, left: Sequence[Lone], done: list[int]) -> None:
        """Let those parties go on, or begin, that take these URLs; take out those that none takes, and `done`."""
        reopened: set[int] = set()
        new: dict[str, Lone] = {}  # by site, the nearest one: the others wait for whoever claims the site
        parties = self._parties({one.site_id for one in left if one.site_id is not None})
        for one in left:
            here = () if one.site_id is None else parties[one.site_id]
            what, seed_id = opening(one.url, one.depth, here, self._scope)
            if what is Opening.REOPEN:
                reopened.add(seed_id)
            elif what is Opening.NONE:
                done.append(one.id)
            elif what is Opening.NEW:
                key = site_key(one.url, self._scope)
                new[key] = min(new.get(key, one), one, key=lambda url: url.depth)
        self._let_go_on(reopened, done)
        self._begin([*new.values()])

    def _lone(self, limit: int, after: int = 0) -> list[Lone]:
        query = (
            select(
                *(inbox.c.id, inbox.c.url, inbox.c.depth, inbox.c.hops, site.c.id, inbox.c.seed_id),
                inbox.c.guest,
            )
            .select_from(inbox.outerjoin(site, site.c.key_hash == inbox.c.key_hash))
            .where(inbox.c.guest.in_(self._KINDS), inbox.c.id > after)
            .where(or_(site.c.id.is_(None), site.c.state == self._OVER.value))
            .order_by(inbox.c.id)
            .limit(limit)
        )
        return [Lone(*row) for row in self._database.plain_rows(query)]

    def _given_up(self, lone: Sequence[Lone]) -> Collection[int]:
        """Return the ids of those that nobody shall have, whatever parties there are."""
        return ()

    def _known(self, lone: Sequence[Lone]) -> set[int]:
        """Return the ids of those that have their final result, or are seeds themselves: they are listed."""
        hashes = {url_hash(one.url): one.id for one in lone if one.guest != PUSHED}
        known: set[bytes] = set()
        for part in sliced(sorted(hashes)):
            for column in (page.c.url_hash, seed.c.url_hash):
                known.update(bytes(row[0]) for row in self._database.rows(select(column).where(column.in_(part))))
        return {one.id for one in lone if one.guest != PUSHED and url_hash(one.url) in known}

    def _parties(self, site_ids: Iterable[int]) -> Mapping[int, Sequence[Party]]:
        """Return the parties of sites; all of them are over, or wait with their slow lanes."""
        parties: dict[int, list[Party]] = {}
        # One that is skipped goes on for nobody, however it ended.
        end_reason = sql_case((seed.c.skipped == 1, EndReason.SKIPPED.value), else_=seed.c.end_reason)
        columns = seed.c.id, HOME_URL, seed.c.state, end_reason, seed.c.base_depth
        for site_id in sorted(site_ids):
            query = select(*columns).where(seed.c.site_id == site_id).order_by(seed.c.id).limit(_PARTIES)
            parties[site_id] = [Party(*row) for row in self._database.plain_rows(query)]
        return parties

    def _let_go_on(self, seeds: Collection[int], done: Collection[int]) -> None:
        """Let parties that had ended go on, with whoever claims their sites; take URLs out of their inboxes.

        They become active, not ready: all active seeds of a site are taken up together, with their lists.
        """
        if not (seeds or done):
            return
        ended = select(seed.c.id, seed.c.site_id, seed.c.state).where(seed.c.id.in_(sorted(seeds)))

        def work(connection: Connection) -> None:
            rows = [row for row in connection.execute(ended) if row.state != SeedState.ACTIVE.value]
            states = {row.id: row.state for row in lock_sites(connection, {row.site_id for row in rows}).values()}
            free = [row for row in rows if states.get(row.site_id) == self._OVER.value]
            reopened = reopen(connection, free)
            received = take_out(connection, [*done])
            self._count(connection, received, reopened)

        self._database.retrying(work)

    def _begin(self, new: Sequence[Lone]) -> None:
        """Make a seed of each URL, which opens a party of its own."""
        if not new:
            return
        seeds = [NewSeed(one.url, site_key(one.url, self._scope), one.hops, base_depth=one.depth) for one in new]

        def work(connection: Connection) -> None:
            self._seeds.add_rows(connection, seeds)
            self._count(connection, take_out(connection, [one.id for one in new]))

        self._database.retrying(work)

    def _count(self, connection: Connection, received: int, reopened: int = 0) -> None:
        """Add to the machine's totals, last of all, as a checkpoint does."""
        counted = {"received": received, "reopened": reopened}
        values = {name: machine.c[name] + times for name, times in counted.items() if times}
        if values:
            connection.execute(update(machine).where(machine.c.id == self._machine_id).values(values))


def exchanged(database: Database) -> Exchanged:
    """Return the sums over all machines, and how many URLs wait, in one query: so they are of one moment."""
    totals = [sql.coalesce(sql.sum(machine.c[name]), 0).label(name) for name in Exchanged._fields if name in machine.c]
    inboxes = select(sql.count(inbox.c.id)).where(inbox.c.guest != 1).scalar_subquery()
    waiting = (inboxes + select(sql.count(outbox.c.id)).scalar_subquery()).label("waiting")
    row = database.rows(select(*totals, waiting))[0]
    return Exchanged(**{name: int(getattr(row, name)) for name in Exchanged._fields})


def reopen(connection: Connection, rows: Sequence[AnyRow]) -> int:
    """Make seeds of locked sites active again; return how many of them had ended."""
    if not rows:
        return 0
    ids = [row.id for row in rows]
    connection.execute(update(lane).where(lane.c.seed_id.in_(ids)).values(holder_id=lane.c.seed_id))
    again = {"state": SeedState.ACTIVE.value, "end_reason": None, "end_detail": "", "ended_at": None}
    ended = [row.id for row in rows if row.state == SeedState.DONE.value]
    slow = [row.id for row in rows if row.state == SeedState.SLOW.value]
    connection.execute(update(seed).where(seed.c.id.in_(ended)).values(**again, reopened=seed.c.reopened + 1))
    connection.execute(update(seed).where(seed.c.id.in_(slow)).values(state=SeedState.ACTIVE.value))
    wake_sites(connection, {row.site_id for row in rows})
    return len(ended)
