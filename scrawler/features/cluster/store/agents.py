"""The store of an agent: one machine on a database of its own, which is the authority for its own sites alone.

Seeds and URLs of others' sites are in it as well. Its seeds wait, in case that their owner dies. Its URLs are in
`inbox`, as all that is sent: those of its own sites until they are listed, those of others' until their owner has them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from scrawler.features.cluster.store.left_to_send import InboxesWithLeftovers
from scrawler.features.cluster.store.outbox import Outbox
from scrawler.features.cluster.store.tables import slot_table
from scrawler.model.claims import ClaimedSite, SiteState
from scrawler.model.exchange import GUEST, Exchanged
from scrawler.model.rows import ExternalRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.partitions import Partition
from scrawler.store.claims.sites import lock_sites
from scrawler.store.commit.batches import Batch
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import SENT, Externals
from scrawler.store.commit.inboxes import Lone, exchanged
from scrawler.store.commit.row_writers import take_out
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.hash_ranges import HashRanges
from scrawler.store.engines.rows import AnyRow, in_order_of_id, inserting_new, sliced
from scrawler.store.schema.tables import candidate, inbox, machine, seed, site
from scrawler.urls.scope import site_key

_PAGE = 2_000  # rows that one query reads
_VIEW = "agents"  # kind of the row of `slot_table` that has the view
_REST = 20  # looks for open seeds that found none are followed by a rest of so many times their time ...
_SHORT = 0.05  # ... unless they take fewer seconds than this
_NEVER_TOO_DEEP = 1 << 30

IsMine = Callable[[str], bool]  # whether a site, by its key, is this agent's


class AgentClaims(Claims):
    """Claims of this agent's own sites; seeds of others' do not keep its crawl open."""

    def __init__(self, database: Database, machine_id: int, partition: Partition, claiming: Lock) -> None:
        """Claim in the name of `machine_id`; `claiming` is held by a claim that is being made."""
        super().__init__(database, machine_id, partition)
        self._is_mine = partition.is_mine
        self._claiming = claiming
        self._looks = 0  # that found nothing, since the last rest
        self._look_at = 0.0  # monotonic seconds of the next look

    def claim(self, sites: int, seeds_per_site: int, **how: Any) -> list[ClaimedSite]:
        """Claim as any machine does, with one map from beginning to end."""
        with self._claiming:
            return super().claim(sites, seeds_per_site, **how)

    def states_left(self) -> Set[SeedState]:
        """Tell in which states but done there are seeds of this agent's sites.

        While others have very many, it is said for a while that some are ready, rather than looked again.
        """
        states = super().states_left()
        if not states:
            return states
        began = time.monotonic()
        if began < self._look_at:
            return {SeedState.READY}
        left = {state for state in states if self._has_mine(state)}
        took = time.monotonic() - began
        self._looks = 0 if left or took < _SHORT else self._looks + 1
        if self._looks == 2:  # whoever asks whether all is over asks twice
            self._looks = 0
            self._look_at = time.monotonic() + _REST * took
        return left

    def _has_mine(self, state: SeedState) -> bool:
        """Tell whether one is there; what guests left, of a run before there were agents, nobody claims here."""
        seeds = _open_seeds(self._database, state)
        return any(self._is_mine(key) for _, key in seeds if not key.startswith(GUEST))


def _open_seeds(database: Database, state: SeedState) -> Iterator[tuple[int, str]]:
    """Yield the seeds in a state, by id, with the keys of their sites."""
    after = 0
    while True:
        query = select(seed.c.id, site.c.site_key).join(site, site.c.id == seed.c.site_id)
        rows = database.plain_rows(in_order_of_id(query.where(seed.c.id > after).limit(_PAGE), state, None))
        yield from ((row[0], row[1]) for row in rows)
        if len(rows) < _PAGE:
            return
        after = rows[-1][0]


class AgentCheckpoints(Checkpoints):
    """Commits as any machine does; a seed that its redirects lead to another site is sent there as well.

    The others have the seed at the site that it was given for, and would never hear where it leads.
    """

    def __init__(self, database: Database, machine_id: int, externals: Externals, scope: Scope) -> None:
        """See `Checkpoints`."""
        super().__init__(database, machine_id, externals)
        self._outbox = Outbox(database, scope)
        self._rows.add(self._send_moved)

    def _send_moved(self, batch: Batch) -> None:
        moved = ((one.seed_id, one.rehoming) for one in batch.seeds)
        found = [ExternalRow(seed_id, url_hash(to.home_url), to.home_url, 0, 1) for seed_id, to in moved if to]
        if number := self._outbox.send(batch.connection, found, lambda url: "", _NEVER_TOO_DEEP):
            batch.done["sent"] += number


class AgentInboxes(InboxesWithLeftovers):
    """The inboxes of this agent's own sites; those of others' are the mail's."""

    def __init__(
        self,
        database: Database,
        machine_id: int,
        scope: Scope,
        boundary: CrawlBoundary,
        max_depth: int,
        is_mine: IsMine,
    ) -> None:
        """See `Inboxes`."""
        super().__init__(database, machine_id, scope, boundary, max_depth)
        self._is_mine = is_mine

    def _lone(self, limit: int, after: int = 0) -> list[Lone]:
        """Return up to `limit` of this agent's, however many of others' are before them."""
        found: list[Lone] = []
        while len(found) < limit:
            rows = super()._lone(_PAGE, after)
            found += [one for one in rows if self._is_mine(site_key(one.url, self._scope))]
            if len(rows) < _PAGE:
                break
            after = rows[-1].id
        return found[:limit]


class Letter(NamedTuple):
    """A URL in the inbox of a site, as it is sent on."""

    id: int
    url: str
    depth: int
    hops: int
    referrer: bytes


class KnownView(NamedTuple):
    """What an agent remembers of the others from one life to the next."""

    views: Sequence[Mapping[str, int]]  # weights of the agents, view by view, since all was last sent again
    over: bool = False  # the agents have agreed that all is over


def agent_of(database: Database) -> str:
    """Return the name of the agent whose database it is; empty: no machine has begun yet."""
    rows = database.plain_rows(select(machine.c.agent).order_by(machine.c.id.desc()).limit(1))
    return str(rows[0][0]) if rows else ""


class Mail:
    """URLs between this agent and others, and what it remembers of them; used by the agent's thread."""

    def __init__(self, database: Database, machine_id: int, scope: Scope) -> None:
        """Work on `database` in the name of a machine."""
        self._database = database
        self._machine_id = machine_id
        self._scope = scope

    def key_of(self, url: str) -> str:
        """Return the key of a URL's site."""
        return site_key(url, self._scope)

    def letters(self, after: int, limit: int) -> list[Letter]:
        """Return what is in inboxes above an id, of whatever site, in order of id."""
        columns = inbox.c.id, inbox.c.url, inbox.c.depth, inbox.c.hops, inbox.c.referrer
        query = select(*columns).where(inbox.c.id > after).order_by(inbox.c.id).limit(limit)
        return [Letter(row[0], row[1], row[2], row[3], bytes(row[4])) for row in self._database.plain_rows(query)]

    def strike(self, ids: Sequence[int]) -> None:
        """Forget what its owner has in its own database by now."""
        self._database.retrying(lambda connection: take_out(connection, ids))

    def put(self, letters: Iterable[tuple[str, int, int, bytes]]) -> None:
        """Put what has come (URL, depth, hops, referrer) into the inboxes of its sites: durable when this returns."""
        rows = [
            {"key_hash": url_hash(self.key_of(url)), "url": url, "depth": depth, "hops": hops, "seed_id": 0}
            | {"referrer": referrer}
            for url, depth, hops, referrer in letters
        ]
        if rows:
            self._database.retrying(lambda connection: connection.execute(insert(inbox), rows))

    def sending_again(self, has_moved: IsMine) -> Iterator[int]:
        """Send all once more that was sent to sites for which `has_moved` is true; yield, page by page, how many.

        Whoever owned them has perhaps taken it with him; a site lists what it knows already no second time.
        """
        ranges = HashRanges(_PAGE)
        while not ranges.over:
            found, new = self._database.streaming(partial(self._nearest, ranges=ranges, has_moved=has_moved))
            ranges.go_on(found)
            if new:
                self._database.retrying(partial(self._send, rows=new))
            yield len(new)

    def _nearest(
        self, connection: Connection, ranges: HashRanges, has_moved: IsMine
    ) -> tuple[int, Sequence[Mapping[str, Any]]]:
        """Return how many URLs of a range were sent, and of those that are wanted again the nearest to a user's seed.

        Of a URL that many seeds have found no more than one is in memory.
        """
        depth = (seed.c.base_depth + candidate.c.depth + 1).label("depth")
        columns = candidate.c.url_hash, candidate.c.url, candidate.c.seed_id, depth, seed.c.hops, candidate.c.referrer
        query = select(*columns).join(seed, seed.c.id == candidate.c.seed_id).where(candidate.c.promoted == SENT)
        query = query.where(*ranges.hold(candidate.c.url_hash)).order_by(candidate.c.url_hash, candidate.c.seed_id)
        nearest: dict[bytes, dict[str, Any]] = {}
        for row in connection.execution_options(stream_results=True).execute(query):
            hashed = bytes(row.url_hash)
            if hashed in nearest:
                if nearest[hashed] and row.depth < nearest[hashed]["depth"]:
                    nearest[hashed] |= _letter_of(row)
            elif has_moved(key := self.key_of(row.url)):
                nearest[hashed] = {"key_hash": url_hash(key), **_letter_of(row)}
            else:
                nearest[hashed] = {}
        return len(nearest), [one for one in nearest.values() if one]

    def _send(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        connection.execute(insert(inbox), rows)
        mine = update(machine).where(machine.c.id == self._machine_id)
        connection.execute(mine.values(sent=machine.c.sent + len(rows)))

    def drop(self) -> None:
        """Forget all that waits: others have found it as well."""
        while found := self.letters(0, _PAGE):
            self.strike([one.id for one in found])

    def sums(self) -> Exchanged:
        """Return what the machines of this database have sent and received, and what waits in it."""
        return exchanged(self._database)

    def holds_others(self, is_mine: IsMine) -> bool:
        """Tell whether this machine still owns a site that is another agent's."""
        query = select(site.c.id, site.c.site_key).where(
            site.c.state == SiteState.ACTIVE.value, site.c.owner == self._machine_id
        )
        return not all(is_mine(row[1]) for row in self._database.plain_rows(query))

    def known(self) -> KnownView:
        """Return what is remembered."""
        query = select(slot_table.c.machines, slot_table.c.slots).where(slot_table.c.kind == _VIEW)
        rows = self._database.plain_rows(query)
        if not rows:
            return KnownView(())
        return KnownView(read_json(rows[0][0]), over=read_json(rows[0][1]) == ["over"])

    def remember(self, known: KnownView) -> None:
        """Remember it."""
        views = json.dumps([dict(weights) for weights in known.views])
        values = {"machines": views, "slots": json.dumps(["over"] if known.over else [])}

        def work(connection: Connection) -> None:
            nothing = {"kind": _VIEW, "version": 0, "machines": "[]", "slots": "[]"}
            connection.execute(inserting_new(slot_table, connection.dialect.name), nothing)
            mine = update(slot_table).where(slot_table.c.kind == _VIEW)
            connection.execute(mine.values(version=slot_table.c.version + 1, **values))

        self._database.retrying(work)

    def pages(self) -> int:
        """Return how many pages this agent has fetched, in all its lives."""
        return int(self._database.plain_rows(select(func.coalesce(func.sum(machine.c.pages), 0)))[0][0])

    def is_left(self) -> bool:
        """Whether there is any seed that is not done, of whatever site, or any URL that waits."""
        query = select(seed.c.id).where(seed.c.state != SeedState.DONE.value).limit(1)
        return bool(self._database.plain_rows(query) or self.letters(0, 1))

    def leave_to_others(self, is_mine: IsMine) -> int:
        """End the seeds of others' sites, which these have crawled; return how many."""
        number = 0
        for state in (SeedState.READY, SeedState.ACTIVE, SeedState.SLOW):
            ids = [seed_id for seed_id, key in _open_seeds(self._database, state) if not is_mine(key)]
            for part in sliced(ids):
                self._database.retrying(partial(self._leave, ids=part))
            number += len(ids)
        return number

    def _leave(self, connection: Connection, ids: Sequence[int]) -> None:
        sites = list(connection.scalars(select(seed.c.site_id).where(seed.c.id.in_(ids)).distinct()))
        lock_sites(connection, sites)
        now = database_time(connection, self._database.clock)
        done = {"state": SeedState.DONE.value, "end_reason": EndReason.ELSEWHERE.value, "ended_at": now}
        connection.execute(update(seed).where(seed.c.id.in_(ids)).values(**done))
        free = site.c.id.in_(sites), site.c.owner.is_(None)
        connection.execute(update(site).where(*free).values(state=SiteState.DONE.value))


def _letter_of(row: AnyRow) -> dict[str, Any]:
    return {
        "url": row.url, "seed_id": row.seed_id, "depth": row.depth, "hops": row.hops + 1,
        "referrer": bytes(row.referrer),
    }  # fmt: skip
