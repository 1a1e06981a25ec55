"""What servers and owners have sent, as machines take it: from the table `pushed` into the inboxes of its sites.

A URL that was visited before is to be visited again at once, another one is judged, and listed, as any link: in both
cases the row goes in the transaction that puts one into the inbox, and that one in the checkpoint which has listed it.
Where nothing of its site is in work, the parties that take the URLs go on in the same transaction. A crawl that is
killed between any two of them goes on from there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from scrawler.features.revisit.store.rounds import Revisits, begin_round
from scrawler.features.revisit.store.tables import push_tally, pushed
from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.crawls import bump_revision
from scrawler.store.commit.inboxes import PUSHED, reopen
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import HOME_URL, AnyRow, sliced
from scrawler.store.lists.openings import GO_ON
from scrawler.store.lists.relisting import sites_in_work
from scrawler.store.schema.tables import inbox, machine, page, seed, site, url_state
from scrawler.urls.scope import scope_of

DAY: Millis = 86_400_000
_LATER: Millis = 5_000  # after which it is tried again to take what no party takes now
_PARTIES = 200  # seeds of a site that are looked at
_TALLY = ("site_id", "day", "source")
_OPEN = (SeedState.READY.value, SeedState.ACTIVE.value)


class _Where(NamedTuple):
    """To which party a URL goes, and how."""

    row: AnyRow  # of pushed
    seed: AnyRow
    visited: bool  # whether it is to be visited again


class PushedUrls:
    """Takes what was pushed, as one machine; used by one thread at a time."""

    def __init__(
        self,
        database: Database,
        machine_id: int,
        scope: Scope,
        revisits: Revisits,
        boundary: CrawlBoundary,
        pause: Millis,
    ) -> None:
        """A seed goes on in the round that it was in last, if that began less than `pause` ago."""
        self._database = database
        self._machine_id = machine_id
        self._scope = scope
        self._revisits = revisits
        self._boundary = boundary
        self._pause = pause
        self._tallies = BulkInsert.ignoring(push_tally, _TALLY, database.compiler)

    def take(self, limit: int) -> int:
        """Take up to `limit` URLs that may be asked for now; return how many are in inboxes since.

        URLs that a party in work has visited, and of which nothing is known yet, wait until it is over.
        """
        rows = self._database.reading(partial(self._due, limit=limit))
        by_site: defaultdict[int, list[AnyRow]] = defaultdict(list)
        for row in rows:
            by_site[row.site_id].append(row)
        return sum(self._take_for(site_id, some) for site_id, some in sorted(by_site.items()))

    def _due(self, connection: Connection, limit: int) -> Sequence[AnyRow]:
        if connection.scalar(select(pushed.c.id).limit(1)) is None:
            return ()
        now = database_time(connection, self._database.clock)
        query = select(pushed).where(pushed.c.due_at <= now).order_by(pushed.c.due_at, pushed.c.id).limit(limit)
        return connection.execute(query).all()

    def _take_for(self, site_id: int, rows: Sequence[AnyRow]) -> int:
        visited_by = self._visited_by(rows)
        for seed_id in sorted(set(visited_by.values())):
            self._revisits.know(seed_id)  # a seed in work is left as it is
        return self._database.retrying(partial(self._move, site_id=site_id, rows=rows, visited_by=visited_by))

    def _visited_by(self, rows: Sequence[AnyRow]) -> dict[bytes, int]:
        """Return for which seed URLs were visited last, by their hashes."""
        found: dict[bytes, int] = {}
        for part in sliced(sorted(bytes(row.url_hash) for row in rows)):
            query = select(page.c.url_hash, page.c.seed_id).where(page.c.url_hash.in_(part)).order_by(page.c.id)
            found.update((bytes(row.url_hash), row.seed_id) for row in self._database.rows(query))
        return found

    def _move(
        self, connection: Connection, site_id: int, rows: Sequence[AnyRow], visited_by: Mapping[bytes, int]
    ) -> int:
        in_work = bool(sites_in_work(connection, [site_id]))  # this locks the site
        rows = _still_there(connection, rows)
        parties = self._parties(connection, site_id)
        known = self._known(connection, rows, [one.id for one in parties])
        to: list[_Where] = []
        refused: list[AnyRow] = []
        later: list[AnyRow] = []
        is_open = in_work or any(one.state in _OPEN for one in parties)
        for row in rows:
            where = self._party_for(row, parties, known, bytes(row.url_hash) in visited_by, in_work)
            if where is not None:
                to.append(where)
            else:
                (later if is_open else refused).append(row)
        self._put(connection, site_id, to)
        if not in_work:
            self._let_go_on(connection, to)
        _take_out(connection, [*(one.row for one in to), *refused])
        _put_off(connection, later, database_time(connection, self._database.clock) + _LATER)
        self._count(connection, site_id, to, refused)
        return len(to)

    def _parties(self, connection: Connection, site_id: int) -> Sequence[AnyRow]:
        columns = (
            *(seed.c.id, seed.c.site_id, seed.c.state, seed.c.end_reason, seed.c.base_depth, seed.c.hops),
            *(seed.c.round, seed.c.round_at, HOME_URL.label("home"), site.c.key_hash),
        )
        query = select(*columns).join(site, site.c.id == seed.c.site_id).where(seed.c.site_id == site_id)
        return connection.execute(query.where(seed.c.skipped == 0).order_by(seed.c.id).limit(_PARTIES)).all()

    @staticmethod
    def _known(connection: Connection, rows: Sequence[AnyRow], seeds: Sequence[int]) -> dict[bytes, int]:
        """Return of the URLs that were visited, and of which that is known, for which seed: by their hashes."""
        found: dict[bytes, int] = {}
        for part in sliced(sorted(bytes(row.url_hash) for row in rows)):
            theirs = url_state.c.seed_id.in_(seeds), url_state.c.url_hash.in_(part)
            for row in connection.execute(select(url_state.c.url_hash, url_state.c.seed_id).where(*theirs)):
                found[bytes(row.url_hash)] = row.seed_id
        return found

    def _party_for(
        self, row: AnyRow, parties: Sequence[AnyRow], known: Mapping[bytes, int], visited: bool, in_work: bool
    ) -> _Where | None:
        """Return the party that visits a URL again, or lists it; where the site is in work, one that is at work."""
        whose = known.get(bytes(row.url_hash))
        fitting = [one for one in parties if scope_of(one.home, self._scope).contains(row.url)]
        if whose is not None:
            own = [one for one in fitting if one.id == whose]
            at_work = [one for one in own or fitting if one.state in _OPEN]
            ready = at_work if in_work else own
            return _Where(row, ready[0], True) if ready else None
        if visited:  # by a party in work: what came of it is not known yet
            return None
        for one in fitting:
            if one.state in _OPEN or (not in_work and one.end_reason in GO_ON):
                return _Where(row, one, False)
        return None

    @staticmethod
    def _put(connection: Connection, site_id: int, to: Iterable[_Where]) -> None:
        values = [
            {
                "key_hash": bytes(one.seed.key_hash),
                "url": one.row.url,
                "depth": one.seed.base_depth + 1,
                "hops": one.seed.hops,
                "seed_id": one.seed.id,
                "referrer": b"",
                "guest": PUSHED,
            }
            for one in to
        ]
        if values:
            connection.execute(insert(inbox), values)

    def _let_go_on(self, connection: Connection, to: Iterable[_Where]) -> None:
        """Let parties that have ended go on: those that visit again in a new round, unless their last one is young."""
        now = database_time(connection, self._database.clock)
        again: dict[int, bool] = {}
        seeds: dict[int, AnyRow] = {}
        for one in to:
            seeds[one.seed.id] = one.seed
            again[one.seed.id] = again.get(one.seed.id, False) or one.visited
        ended = [row for row in seeds.values() if row.state not in _OPEN]
        for row in ended:
            young = row.round > 0 and row.round_at > now - self._pause and row.end_reason in GO_ON
            if again[row.id] and not young:
                begin_round(connection, row.id, now)
        reopen(connection, ended)
        if ended:
            bump_revision(connection)

    def _count(self, connection: Connection, site_id: int, to: Sequence[_Where], refused: Sequence[AnyRow]) -> None:
        """Count what was taken, in the machine's totals last of all, as a checkpoint does."""
        day = database_time(connection, self._database.clock) // DAY
        listed = Counter(one.row.source for one in to)
        left_out = Counter(row.source for row in refused)
        for source in sorted(listed | left_out):
            self._tallies.run(connection, [(site_id, day, source)])
            mine = push_tally.c.site_id == site_id, push_tally.c.day == day, push_tally.c.source == source
            more = {
                "listed": push_tally.c.listed + listed[source],
                "refused": push_tally.c.refused + left_out[source],
            }
            connection.execute(update(push_tally).where(*mine).values(more))
        if to:
            sent = update(machine).where(machine.c.id == self._machine_id)
            connection.execute(sent.values(sent=machine.c.sent + len(to)))


def _still_there(connection: Connection, rows: Sequence[AnyRow]) -> list[AnyRow]:
    """Return those rows that no other machine has taken; the site is locked."""
    there: set[int] = set()
    for part in sliced(row.id for row in rows):
        there.update(connection.scalars(select(pushed.c.id).where(pushed.c.id.in_(part))))
    return [row for row in rows if row.id in there]


def _take_out(connection: Connection, rows: Sequence[AnyRow]) -> None:
    for part in sliced(sorted(row.id for row in rows)):
        connection.execute(delete(pushed).where(pushed.c.id.in_(part)))


def _put_off(connection: Connection, rows: Sequence[AnyRow], until: Millis) -> None:
    """Let others come first, while a party is in work that may take these later."""
    for part in sliced(sorted(row.id for row in rows)):
        connection.execute(update(pushed).where(pushed.c.id.in_(part)).values(due_at=until))
