"""When machines may ask hosts on behalf of sites that are others': the robots.txt to which theirs redirect.

The clock of a host is that of its site, whose row is made where there is none. Of a site that nobody has in work it is
moved on in that row: whoever claims the site begins after that. A machine that has the site in work knows the clock,
and nobody else does: so it is asked, by a row of the table errand, which its next heartbeat hears of, and it lends the
host for a while. All of it has its end: a machine that was killed keeps nobody waiting for longer than that.

A copy of what came of it is a row of the table robots, from which all others take it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from scrawler.model.claims import SiteState
from scrawler.model.errands import Asked, Errand, Wished
from scrawler.model.machines import BEAT_EVERY, LEASE
from scrawler.model.robots import RobotsRow
from scrawler.model.servers import Slot
from scrawler.model.terms import Millis, url_hash
from scrawler.store.claims.overview import LIVING
from scrawler.store.claims.sites import lock_sites
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import AnyRow, sliced
from scrawler.store.schema.tables import errand, machine, robots, site

LENT: Millis = 60_000  # for so long a host is kept free for a request, as it may take long
_BEGIN: Millis = 10_000  # within which that has to begin
_WISHED: Millis = 15_000  # for which a wish holds that is not repeated
_LOOK: Millis = 1_000  # after which a machine looks again whether a host was lent to it
_FRESH: Millis = 24 * 3600 * 1000  # of a copy (RFC 9309, 2.4)
_DAY: Millis = 24 * 3600 * 1000  # a time that is farther off is from before the clock was set back

_HOST = (
    *(site.c.id, site.c.key_hash, site.c.owner, site.c.next_due_at, site.c.pause_ms, site.c.slowest_ms),
    *(machine.c.state, machine.c.heartbeat_at),
)
_COPY = tuple(robots.c[name] for name in RobotsRow._fields)
_ANY = select(errand.c.site_id).limit(1)

ANY_WISHED = _ANY.scalar_subquery()  # not NULL: a machine wants something of a host that another one has, or had


class _Lent(NamedTuple):
    """A host that this machine may ask."""

    site_id: int
    url: str
    until: Millis  # as its site's clock says; 0: the site is this machine's own
    by_owner: bool


class _Answer(NamedTuple):
    found: dict[str, RobotsRow | Slot | float]
    lent: dict[str, _Lent]


class ErrandTurns:
    """Turns of one machine (a row of the table machine) at hosts that it asks for others; used by one thread."""

    def __init__(self, database: Database, machine_id: int) -> None:
        """Ask, and lend, in the name of `machine_id`."""
        self._database = database
        self._machine_id = machine_id
        self._sites = BulkInsert.ignoring(site, ("key_hash", "site_key", "state"), database.compiler)
        columns = ("site_id", "url", "machine_id", "lent_at", "ends_at")
        self._wishes = BulkInsert.replacing(errand, columns, database.compiler)
        self._copies = BulkInsert.replacing(robots, RobotsRow._fields, database.compiler)
        self._lent: dict[str, _Lent] = {}  # by key of the site

    # -- who asks ----------------------------------------------------------------------------------------------

    def ask(self, wanted: Mapping[str, Errand]) -> Mapping[str, RobotsRow | Slot | float]:
        """Return, by the keys of sites, copies of what is wanted of them, or when this machine may ask for it.

        A number is that of seconds after which it is to be asked again.
        """

        def work(connection: Connection) -> _Answer:
            copies = _copies_of(connection, [one.copy for one in wanted.values()], _FRESH, self._database.clock)
            found: dict[str, RobotsRow | Slot | float] = {
                key: copies[one.copy] for key, one in wanted.items() if one.copy in copies
            }
            left = {url_hash(key): key for key in sorted(wanted) if key not in found}
            lent: dict[str, _Lent] = {}
            if left:
                hosts = self._hosts(connection, left)
                wishes = _wishes_for(connection, [host.id for host in hosts])
                asked = monotonic()
                now = database_time(connection, self._database.clock)
                heard = monotonic()
                for host in hosts:
                    key = left[bytes(host.key_hash)]
                    turn = self._turn(connection, host, wanted[key].url, wishes.get(host.id), now)
                    if isinstance(turn, float):
                        found[key] = turn
                        continue
                    begin, lent[key] = turn
                    wait = max(0, begin - now)
                    found[key] = Slot(heard + wait / 1000, asked + (wait + _BEGIN) / 1000)
            return _Answer(found, lent)

        answer = self._database.retrying(work)
        self._lent.update(answer.lent)
        return answer.found

    def _hosts(self, connection: Connection, keys: Mapping[bytes, str]) -> list[AnyRow]:
        """Lock the rows of sites, made where they are missing, in the order of their ids."""
        ids = dict(_ids_of(connection, keys))
        missing = [(key_hash, keys[key_hash], SiteState.DONE.value) for key_hash in sorted(keys.keys() - ids.keys())]
        if missing:
            self._sites.run(connection, missing)
            ids.update(_ids_of(connection, [row[0] for row in missing]))
        lock_sites(connection, ids.values())
        owned = site.outerjoin(machine, machine.c.id == site.c.owner)
        hosts: list[AnyRow] = []
        for part in sliced(sorted(ids.values())):
            hosts += connection.execute(
                select(*_HOST).select_from(owned).where(site.c.id.in_(part)).order_by(site.c.id)
            )
        return hosts

    def _turn(
        self, connection: Connection, host: AnyRow, url: str, wish: AnyRow | None, now: Millis
    ) -> tuple[Millis, _Lent] | float:
        """Return when this machine may ask a host, and until when that is kept free, or how long it is to wait."""
        if host.owner is not None and host.owner != self._machine_id and host.state in LIVING:
            return self._turn_of_owner(connection, host, url, wish, now)
        due_at: Millis = host.next_due_at
        if host.owner not in (None, self._machine_id):  # a machine that is gone, which may have asked at last
            due_at = max(due_at, host.heartbeat_at + LEASE + host.pause_ms + host.slowest_ms)
        rest = _rest(due_at, now)
        if rest:
            return rest / 1000
        if host.owner == self._machine_id:
            return now, _Lent(host.id, url, until=0, by_owner=False)
        connection.execute(update(site).where(site.c.id == host.id).values(next_due_at=now + LENT))
        return now, _Lent(host.id, url, until=now + LENT, by_owner=False)

    def _turn_of_owner(
        self, connection: Connection, host: AnyRow, url: str, wish: AnyRow | None, now: Millis
    ) -> tuple[Millis, _Lent] | float:
        """Return when the machine that has a site lets this one ask its host; let it know that this one wants to."""
        if wish is not None and wish.ends_at > now:
            if wish.machine_id != self._machine_id:
                return _LOOK / 1000
            if wish.lent_at and wish.url == url and now < wish.lent_at + _BEGIN:
                return wish.lent_at, _Lent(host.id, url, until=wish.ends_at, by_owner=True)
            if wish.lent_at or wish.ends_at > now + _WISHED // 2:
                return _LOOK / 1000
        self._wishes.run(connection, [(host.id, url, self._machine_id, 0, now + _WISHED)])
        return _LOOK / 1000

    def over(self, asked: Mapping[str, Asked]) -> None:
        """Let others ask hosts after a pause, by the keys of their sites, and give them copies of what came."""
        lent = {key: self._lent[key] for key in asked if key in self._lent}

        def work(connection: Connection) -> None:
            rows = lock_sites(connection, [one.site_id for one in lent.values() if one.until])
            now = database_time(connection, self._database.clock)
            for key, one in sorted(lent.items(), key=lambda item: item[1].site_id):
                if one.site_id in rows:
                    self._give_back(connection, one, rows[one.site_id].owner, now, now + asked[key].pause)
            copies = ((lent[key].site_id, asked[key].copy) for key in lent)
            self._write(connection, [_of_site(copy, site_id) for site_id, copy in copies if copy is not None])

        if lent:
            self._database.retrying(work)
        for key in lent:
            del self._lent[key]

    def _give_back(self, connection: Connection, one: _Lent, owner: int | None, now: Millis, due_at: Millis) -> None:
        """Let others ask a host from a time on; the owner of its site hears of it, also if it has come meanwhile."""
        lent = site.c.id == one.site_id, site.c.next_due_at == one.until
        is_as_it_was = connection.execute(update(site).where(*lent).values(next_due_at=due_at)).rowcount
        if one.by_owner:
            mine = errand.c.site_id == one.site_id, errand.c.machine_id == self._machine_id
            connection.execute(update(errand).where(*mine).values(machine_id=0, ends_at=due_at))
        elif is_as_it_was and owner not in (None, self._machine_id):
            heard_at = max(due_at, now + 2 * BEAT_EVERY)
            self._wishes.run(connection, [(one.site_id, one.url, 0, now, heard_at)])

    def keep(self, copies: Sequence[RobotsRow]) -> None:
        """Keep copies that are no site's."""
        self._database.retrying(lambda connection: self._write(connection, copies))

    def _write(self, connection: Connection, copies: Iterable[RobotsRow]) -> None:
        self._copies.run(connection, sorted({copy.origin: copy for copy in copies}.values()))

    # -- who has the host --------------------------------------------------------------------------------------

    def wished(self) -> Sequence[Wished]:
        """Return what others want of sites that are this machine's; what counts no more is forgotten."""

        def work(connection: Connection) -> list[Wished]:
            now = database_time(connection, self._database.clock)
            connection.execute(delete(errand).where(errand.c.ends_at <= now))
            query = select(errand, site.c.next_due_at).join(site, site.c.id == errand.c.site_id)
            rows = connection.execute(query.where(site.c.owner == self._machine_id))
            return [
                Wished(
                    row.site_id,
                    row.url,
                    is_lent=row.lent_at > 0,
                    is_over=row.machine_id == 0,
                    left=(row.ends_at - now) / 1000,
                    rests=_rest(row.next_due_at, now) / 1000,
                )
                for row in rows
            ]

        return self._database.retrying(work)

    def lend(self, at: Mapping[int, Millis]) -> Collection[int]:
        """Let those who want something of sites ask from a time on, by site; return to which sites that was said.

        It is not said of a site that is another's by now, or if its time was over before it could be.
        """

        def work(connection: Connection) -> list[int]:
            rows = lock_sites(connection, at)
            mine = [row.id for row in rows.values() if row.owner == self._machine_id]
            now = database_time(connection, self._database.clock)
            lent: list[int] = []
            for site_id in mine:
                begin, until = at[site_id], at[site_id] + LENT
                wish = errand.c.site_id == site_id, errand.c.lent_at == 0, errand.c.ends_at > now
                values = {"lent_at": begin, "ends_at": until}
                if now >= begin + _BEGIN // 2:
                    continue
                if connection.execute(update(errand).where(*wish).values(values)).rowcount:
                    connection.execute(update(site).where(site.c.id == site_id).values(next_due_at=until))
                    lent.append(site_id)
            return lent

        return self._database.retrying(work)

    def give(self, copies: Mapping[int, RobotsRow]) -> None:
        """Give copies of what others want of sites, by site: then nobody needs to ask for it."""

        def work(connection: Connection) -> None:
            ids = sorted(copies)
            self._write(connection, [_of_site(copy, site_id) for site_id, copy in copies.items()])
            for part in sliced(ids):
                connection.execute(delete(errand).where(errand.c.site_id.in_(part), errand.c.lent_at == 0))

        self._database.retrying(work)

    def copies(self, names: Iterable[str]) -> Mapping[str, RobotsRow]:
        """Return the copies that the database has under these names, as far as they are fresh."""
        return self._database.reading(lambda connection: _copies_of(connection, [*names], _FRESH, self._database.clock))


def _rest(due_at: Millis, now: Millis) -> Millis:
    """Return for how long a host is left alone that is due then; for no time if the clock was set back since."""
    return due_at - now if now < due_at < now + _DAY else 0


def _of_site(copy: RobotsRow, site_id: int) -> RobotsRow:
    """Return a copy of what the host of a site has answered; only an origin's own robots.txt is the site's."""
    return copy._replace(site_id=site_id) if copy.origin.count("/") == 2 else copy


def _copies_of(connection: Connection, names: Sequence[str], fresh: Millis, clock: str) -> dict[str, RobotsRow]:
    now = database_time(connection, clock)
    found: dict[str, RobotsRow] = {}
    for part in sliced(sorted(map(url_hash, names))):
        query = select(*_COPY).where(robots.c.origin_hash.in_(part), robots.c.fetched_at > now - fresh)
        found.update((row.origin, RobotsRow._make(row)) for row in connection.execute(query))
    return found


def _ids_of(connection: Connection, hashes: Iterable[bytes]) -> Iterable[tuple[bytes, int]]:
    for part in sliced(sorted(hashes)):
        query = select(site.c.key_hash, site.c.id).where(site.c.key_hash.in_(part))
        yield from ((bytes(row.key_hash), row.id) for row in connection.execute(query))


def _wishes_for(connection: Connection, site_ids: Sequence[int]) -> dict[int, AnyRow]:
    found: dict[int, AnyRow] = {}
    for part in sliced(site_ids):
        found.update((row.site_id, row) for row in connection.execute(select(errand).where(errand.c.site_id.in_(part))))
    return found
