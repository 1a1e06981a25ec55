"""What servers and owners send, as `scrawler listen` keeps it: URLs, keys, and that it is alive.

What is acknowledged was committed. `scrawler.features.revisit.store.pushed` brings all of it to the lists of parties,
on any machine.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy import func as sql

from scrawler.errors import StoreError
from scrawler.features.push.store.tables import listener, push_key
from scrawler.features.revisit.store.pushed import DAY
from scrawler.features.revisit.store.tables import push_tally, pushed
from scrawler.model.scope import Scope
from scrawler.model.servers import Reserved
from scrawler.model.terms import Millis, url_hash
from scrawler.model.windows import Window, until_open
from scrawler.store.claims.processes import identify, runs
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import HOME_URL, AnyRow, sliced, window_of
from scrawler.store.schema.tables import seed, site
from scrawler.urls.scope import scope_of

BEAT_EVERY = 5.0  # seconds between two signs of life
_DEAD_AFTER: Millis = 30_000
_PARTIES = 200  # seeds of a site that are looked at
_PUSHED = ("site_id", "url", "url_hash", "source", "at", "due_at", "proof")
_NEVER: Millis = 1 << 53  # when URLs are due of which it is not proved that they may be pushed
_UNPROVED = 10_000  # URLs of a site that may wait for that: as many as one message has
_TALLY = ("site_id", "day", "source")
_GONE_AFTER = 30 * DAY  # tallies and listeners are kept for so long


class KnownSite(NamedTuple):
    """A site of which the crawl has seeds."""

    id: int
    key: str
    homes: tuple[str, ...]  # of its first seeds
    window: Window | None

    def has(self, url: str, scope: Scope) -> bool:
        """Whether a URL is in the scope of one of its parties."""
        return any(scope_of(home, scope).contains(url) for home in self.homes)


class Accepted(NamedTuple):
    """What became of URLs that were sent."""

    accepted: int  # they are durable
    over_quota: int  # they are not


class KeyView(NamedTuple):
    """A key for pings, as far as anybody can know it."""

    name: str  # the first digits of its hash
    host: str
    created_at: Millis
    used_at: Millis


@dataclass(frozen=True, slots=True)
class ListenerView:
    """How a listener stands."""

    address: str
    host: str
    pid: int
    started_at: Millis
    heartbeat_age_ms: Millis
    alive: bool
    stopped: bool  # in order


class Tally(NamedTuple):
    """What came in by one way, in all days that are kept."""

    source: str
    accepted: int
    refused: int
    listed: int


class Pushes:
    """Keeps what is sent; any thread may use it."""

    def __init__(self, database: Database, per_day: int, waiting: int) -> None:
        """A site may have `waiting` URLs that no machine has taken yet, and send `per_day` in all."""
        self._database = database
        self._per_day = per_day
        self._waiting = waiting
        self._file = database.file
        self._first = _identity(self._file)
        self._rows = BulkInsert.ignoring(pushed, _PUSHED, database.compiler)
        self._tallies = BulkInsert.ignoring(push_tally, _TALLY, database.compiler)

    def check_file(self) -> None:
        """Raise StoreError if the file of the database was taken away: what is kept there nobody would find."""
        if _identity(self._file) != self._first:
            raise StoreError(
                f"database {self._database.where} was moved away, removed or replaced while it was in use: put it back"
                " and start again, or start with another one"
            )

    def site(self, key: str) -> KnownSite | None:
        """Return a site by its key, if the crawl has seeds there."""
        by_key = site.c.key_hash == url_hash(key)
        rows = self._database.rows(select(site.c.id, site.c.window_from, site.c.window_to).where(by_key))
        if not rows:
            return None
        theirs = seed.c.site_id == rows[0].id, seed.c.skipped == 0, seed.c.guest_of.is_(None)
        homes = self._database.rows(select(HOME_URL).where(*theirs).order_by(seed.c.id).limit(_PARTIES))
        return KnownSite(rows[0].id, key, tuple(row[0] for row in homes), window_of(rows[0])) if homes else None

    def accept(self, of: KnownSite, urls: Sequence[str], source: str) -> Accepted:
        """Keep URLs of a site, as far as its quota allows; what waits already is not counted again."""
        self.check_file()
        return self._database.retrying(partial(self._accept, of=of, urls=urls, source=source))

    def _accept(self, connection: Connection, of: KnownSite, urls: Sequence[str], source: str) -> Accepted:
        now = database_time(connection, self._database.clock)
        day = now // DAY
        self._tallies.run(connection, [(of.id, day, source)])
        today = push_tally.c.site_id == of.id, push_tally.c.day == day
        sent = sum(connection.scalars(select(push_tally.c.accepted).where(*today).with_for_update()))
        room = max(0, min(self._per_day - sent, self._waiting - _waits(connection, of.id, pushed.c.proof == "")))
        by_hash = {url_hash(url): url for url in urls}
        known = _proved(connection, of.id, by_hash)
        new = [key for key in by_hash if key not in known]
        due_at = now if of.window is None else now + until_open(of.window, now)
        taken = sorted(new[:room])
        self._rows.run(connection, [(of.id, by_hash[key], key, source, now, due_at, "") for key in taken])
        for part in sliced(taken):  # somebody else may have sent them who has not proved that they may
            theirs = pushed.c.site_id == of.id, pushed.c.url_hash.in_(part), pushed.c.proof != ""
            connection.execute(update(pushed).where(*theirs).values(proof="", due_at=due_at, source=source))
        self._add(connection, of.id, day, source, len(taken), max(0, len(new) - room))
        return Accepted(len(taken) + len(known), max(0, len(new) - room))

    def accept_unproved(self, of: KnownSite, urls: Sequence[str], source: str, proof: str) -> Accepted:
        """Keep URLs of which it has still to be proved that their sender may push them: `proof` says by what.

        Those that wait for another proof are not kept for this one, nor what there is no room for.
        """

        def work(connection: Connection) -> Accepted:
            now = database_time(connection, self._database.clock)
            room = max(0, _UNPROVED - _waits(connection, of.id, pushed.c.proof != ""))
            rows = sorted((url_hash(url), url) for url in urls)
            others = _unproved_by_others(connection, of.id, [key for key, _ in rows], proof)
            taken = [row for row in rows if row[0] not in others][:room]
            self._rows.run(connection, [(of.id, url, key, source, now, _NEVER, proof) for key, url in taken])
            return Accepted(len(taken), len(rows) - len(taken))

        self.check_file()
        return self._database.retrying(work)

    def unproved(self) -> list[tuple[str, str]]:
        """Return site key and proof of all that is not proved yet."""
        query = select(site.c.site_key, pushed.c.proof).join(site, site.c.id == pushed.c.site_id)
        rows = self._database.rows(query.where(pushed.c.due_at >= _NEVER).distinct().limit(_UNPROVED))
        return [(row.site_key, row.proof) for row in rows]

    def proved(self, of: KnownSite, source: str, proof: str, holds: bool) -> None:
        """Let URLs be asked for that waited for a proof, or forget them if it does not hold."""
        theirs = pushed.c.site_id == of.id, pushed.c.due_at >= _NEVER, pushed.c.proof == proof

        def urls(connection: Connection) -> list[str]:
            return list(connection.scalars(select(pushed.c.url).where(*theirs).limit(_UNPROVED)))

        def forget(connection: Connection) -> int:
            return connection.execute(delete(pushed).where(*theirs)).rowcount

        waited = self._database.reading(urls)
        if holds and waited:
            self.accept(of, waited, source)
        left = self._database.retrying(forget)  # over the quota, or all
        if left and not holds:
            self.refused({(of.id, source): left})

    @staticmethod
    def _add(connection: Connection, site_id: int, day: int, source: str, accepted: int, refused: int) -> None:
        mine = push_tally.c.site_id == site_id, push_tally.c.day == day, push_tally.c.source == source
        more = {"accepted": push_tally.c.accepted + accepted, "refused": push_tally.c.refused + refused}
        connection.execute(update(push_tally).where(*mine).values(more))

    def refused(self, counts: Mapping[tuple[int, str], int]) -> None:
        """Count what was refused, by site (0: none that is known) and source."""

        def work(connection: Connection) -> None:
            day = database_time(connection, self._database.clock) // DAY
            for (site_id, source), times in sorted(counts.items()):
                self._tallies.run(connection, [(site_id, day, source)])
                self._add(connection, site_id, day, source, 0, times)

        if counts:
            self._database.retrying(work)

    def reserve(self, key: str, width: float) -> Reserved:
        """Reserve a site for one request of up to `width` seconds, if no machine has it and its pause is over.

        Whoever takes the site up meanwhile begins after that time.
        """

        def work(connection: Connection) -> Reserved:
            now = database_time(connection, self._database.clock)
            mine = site.c.key_hash == url_hash(key)
            row = connection.execute(select(site.c.owner, site.c.next_due_at).where(mine).with_for_update()).first()
            if row is None:
                return Reserved(0.0, 0)
            if row.owner is not None:
                return Reserved(inf, 0)
            if row.next_due_at > now:
                return Reserved((row.next_due_at - now) / 1000, 0)
            until = now + int(width * 1000)
            connection.execute(update(site).where(mine).values(next_due_at=until))
            return Reserved(0.0, until)

        return self._database.retrying(work)

    def asked(self, key: str, reserved: Reserved, pause: float) -> None:
        """Give back what is left of a reserved time: whoever takes the site up keeps a pause from now on."""

        def work(connection: Connection) -> None:
            due_at = database_time(connection, self._database.clock) + int(pause * 1000)
            mine = site.c.key_hash == url_hash(key), site.c.owner.is_(None), site.c.next_due_at == reserved.until
            connection.execute(update(site).where(*mine).values(next_due_at=due_at))

        if reserved.until:
            self._database.retrying(work)

    # -- keys ----------------------------------------------------------------------------------------------

    def add_key(self, of: KnownSite, host: str, digest: bytes) -> None:
        """Keep the SHA-256 of a key with which a site may be pinged."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            values = {"key_hash": digest, "site_id": of.id, "host": host, "created_at": now}
            connection.execute(insert(push_key).values(values))

        self._database.retrying(work)

    def key_site(self, digest: bytes) -> int | None:
        """Return the id of the site that a key is for, None where there is none."""
        rows = self._database.rows(select(push_key.c.site_id).where(push_key.c.key_hash == digest))
        return rows[0].site_id if rows else None

    def key_used(self, digest: bytes) -> None:
        """Note that a key was used."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            connection.execute(update(push_key).where(push_key.c.key_hash == digest).values(used_at=now))

        self._database.retrying(work)

    def all_keys(self) -> list[KeyView]:
        """Return all keys, as far as anybody can know them."""
        rows = self._database.rows(select(push_key).order_by(push_key.c.created_at, push_key.c.key_hash))
        return [KeyView(bytes(row.key_hash).hex()[:12], row.host, row.created_at, row.used_at) for row in rows]

    def remove_keys(self, name: str) -> int:
        """Remove the keys of a host, or the one of a name; return how many there were."""
        found = [one for one in self._database.rows(select(push_key)) if _is_called(one, name)]

        def work(connection: Connection) -> None:
            for one in found:
                connection.execute(delete(push_key).where(push_key.c.key_hash == bytes(one.key_hash)))

        if found:
            self._database.retrying(work)
        return len(found)

    # -- listeners -----------------------------------------------------------------------------------------

    def begin(self, address: str) -> int:
        """Note that a listener begins; return its number."""

        def work(connection: Connection) -> int:
            now = database_time(connection, self._database.clock)
            old = listener.c.heartbeat_at < now - _GONE_AFTER
            connection.execute(delete(listener).where(old))
            connection.execute(delete(push_tally).where(push_tally.c.day < (now - _GONE_AFTER) // DAY))
            values = {
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "process": identify(os.getpid()),
                "address": address,
                "started_at": now,
                "heartbeat_at": now,
            }
            made = connection.execute(insert(listener).values(values)).inserted_primary_key
            assert made is not None
            return int(made[0])

        return self._database.retrying(work)

    def beat(self, number: int, ended: bool = False) -> None:
        """Note that a listener lives, or that it has ended in order."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            values = {"heartbeat_at": now} | ({"stopped_at": now} if ended else {})
            connection.execute(update(listener).where(listener.c.id == number).values(values))

        self._database.retrying(work)


def _identity(file: Path | None) -> tuple[int, int] | None:
    """Return by what a file is known; None where there is none."""
    if file is None:
        return None
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _waits(connection: Connection, site_id: int, which: ColumnElement[bool]) -> int:
    return connection.scalar(select(sql.count()).where(pushed.c.site_id == site_id, which)) or 0


def _proved(connection: Connection, site_id: int, hashes: Iterable[bytes]) -> set[bytes]:
    """Return which URLs of a site wait already, and are not to be proved."""
    known: set[bytes] = set()
    for part in sliced(sorted(hashes)):
        mine = pushed.c.site_id == site_id, pushed.c.url_hash.in_(part), pushed.c.proof == ""
        known.update(bytes(one) for one in connection.scalars(select(pushed.c.url_hash).where(*mine)))
    return known


def _unproved_by_others(connection: Connection, site_id: int, hashes: Sequence[bytes], proof: str) -> set[bytes]:
    """Return which URLs of a site wait for another proof."""
    found: set[bytes] = set()
    for part in sliced(hashes):
        mine = pushed.c.site_id == site_id, pushed.c.url_hash.in_(part), pushed.c.proof != "", pushed.c.proof != proof
        found.update(bytes(one) for one in connection.scalars(select(pushed.c.url_hash).where(*mine)))
    return found


def listeners(database: Database) -> list[ListenerView]:
    """Return the listeners that live, or else the one that was started last."""
    now = database.reading(lambda connection: database_time(connection, database.clock))
    rows = database.rows(select(listener).order_by(listener.c.id.desc()).limit(100))
    views = [_view(row, now) for row in rows]
    return [one for one in views if one.alive] or views[:1]


def _view(row: AnyRow, now: Millis) -> ListenerView:
    age = max(0, now - row.heartbeat_at)
    gone = bool(row.stopped_at) or age > _DEAD_AFTER or runs(row.process) is False
    return ListenerView(row.address, row.host, row.pid, row.started_at, age, not gone, bool(row.stopped_at))


def tallies(database: Database) -> list[Tally]:
    """Return what came in, by way."""
    sums = (sql.sum(push_tally.c[name]).label(name) for name in ("accepted", "refused", "listed"))
    query = select(push_tally.c.source, *sums).group_by(push_tally.c.source).order_by(push_tally.c.source)
    rows = database.rows(query)
    return [Tally(row.source, int(row.accepted), int(row.refused), int(row.listed)) for row in rows]


def waiting(database: Database) -> int:
    """Return how many URLs wait to be taken by a machine."""
    return int(database.rows(select(sql.count(pushed.c.id)))[0][0])


def _is_called(row: AnyRow, name: str) -> bool:
    return row.host == name or (len(name) >= 8 and bytes(row.key_hash).hex().startswith(name))
