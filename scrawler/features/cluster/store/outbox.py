"""External URLs that a checkpoint brings go into the inboxes of their sites, or of guests there.

That is done in its transaction.

With a communicator those of sites that another machine has go into the outbox of the machine that has found them.

A URL is sent once for each seed that finds it, and once more where it is found nearer to a user's seed: the rows of
`candidate` say what was sent, and are kept, as those of candidates are, by the seed that found them. So no two machines
ever write the same row, and `why` knows who has sent a URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection, select, tuple_

from scrawler.features.cluster.declaration import FEATURE
from scrawler.features.cluster.store.outboxes import owners
from scrawler.model.exchange import guest_key
from scrawler.model.rows import ExternalRow
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.settings import Settings
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.commit.externals import FOR_GUESTS, KEPT, SENT, newest_part
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import candidate, inbox, outbox, seed
from scrawler.store.upkeep.features import need
from scrawler.urls.scope import site_key

_CANDIDATE = ("seed_id", "url_hash", "url", "depth", "count", "promoted", "referrer", "part")
_SENT = ("key_hash", "url", "depth", "hops", "seed_id", "referrer")
_INBOX = (*_SENT, "guest")
_OUTBOX = ("machine_id", *_SENT)
_LOOKED_UP = 200  # rows that one query looks up, each by both columns of its key


_SentRow: TypeAlias = tuple[bytes, str, int, int, int, bytes]  # as _SENT


class Carried(NamedTuple):
    """What a communicator carries for a machine: URLs of the sites that others have to whom it can send."""

    machine_id: int
    scheme: str  # of the addresses of these

    def away(self, connection: Connection, key_hashes: Iterable[bytes]) -> set[bytes]:
        """Return those of some sites that are with another machine which listens."""
        return set(owners(connection, self.machine_id, f"{self.scheme}:", key_hashes))


class _Known(NamedTuple):
    """What the database has of a URL that a seed has found before."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants here
    depth: int
    promoted: int
    part: int


class _Finder(NamedTuple):
    """How far a seed is from one that a user gave."""

    base_depth: int
    hops: int


class Outbox:
    """Sends URLs to the owners of their sites, or lays them by for guests there."""

    def __init__(self, database: Database, scope: Scope, *, for_guests: bool = False) -> None:
        """Work on `database`."""
        self.carried: Carried | None = None
        self._database = database
        self._is_noted = False  # that the database needs this feature
        self._outbox = BulkInsert.inserting(outbox, _OUTBOX, database.compiler)
        self._scope = scope
        self._for_guests = for_guests
        self._mark = FOR_GUESTS if for_guests else SENT
        self._candidates = BulkInsert.replacing(candidate, _CANDIDATE, database.compiler)
        self._inbox = BulkInsert.inserting(inbox, _INBOX, database.compiler)

    def send(
        self,
        connection: Connection,
        found: Sequence[ExternalRow],
        refusal: Callable[[str], str],
        max_depth: int,
    ) -> int:
        """Send what may enter the crawl and is no deeper than `max_depth`; the rest is kept as candidates.

        Returns how many were sent. `refusal` says why a URL may not enter, an empty text if it may.
        """
        if not found:
            return 0
        finders = _finders(connection, {row.seed_id for row in found})
        known, part = _known(connection, found), newest_part(connection)
        candidates: dict[tuple[int, bytes], tuple[int, bytes, str, int, int, int, bytes, int]] = {}
        sent: list[_SentRow] = []
        for row in found:
            key = row.seed_id, row.url_hash
            before = known.get(key, _Known(0, row.depth, KEPT, part))
            finder = finders[row.seed_id]
            depth = finder.base_depth + row.depth + 1
            is_news = before.promoted == KEPT or (before.promoted == self._mark and row.depth < before.depth)
            promoted = before.promoted
            if is_news and depth <= max_depth and not refusal(row.url):
                promoted = self._mark
                key_hash = self._key_hash(row.url)
                sent.append((key_hash, row.url, depth, finder.hops + 1, row.seed_id, row.referrer))
            nearest = min(before.depth, row.depth)
            known[key] = now = _Known(before.count + row.count, nearest, promoted, before.part)
            candidates[key] = (*key, row.url, now.depth, now.count, now.promoted, row.referrer, now.part)
        self._candidates.run(connection, [*candidates.values()])
        self._put(connection, sent)
        return len(sent)

    def _put(self, connection: Connection, sent: Sequence[_SentRow]) -> None:
        """Put each URL where its owner will find it, or whence it is carried there."""
        away: set[bytes] = set()
        if self.carried is not None and sent and not self._for_guests:
            away = self.carried.away(connection, {row[0] for row in sent})
            machine_id = self.carried.machine_id
            if away:  # a crawler without it would wait for what machines leave there
                self._is_noted = self._is_noted or need(connection, FEATURE, self._database)
            self._outbox.run(connection, [(machine_id, *row) for row in sent if row[0] in away])
        guest = int(self._for_guests)
        self._inbox.run(connection, [(*row, guest) for row in sent if row[0] not in away])

    def _key_hash(self, url: str) -> bytes:
        key = site_key(url, self._scope)
        return url_hash(guest_key(key) if self._for_guests else key)


class SentExternals:
    """External URLs are sent to the owners of their sites, or laid by for guests there."""

    def __init__(
        self, database: Database, scope: Scope, boundary: CrawlBoundary, max_depth: int, *, for_guests: bool = False
    ) -> None:
        """Work on `database`; what may not enter the crawl, or is deeper than `max_depth`, is kept, not sent."""
        self._boundary = boundary
        self._for_guests = for_guests
        self._outbox = Outbox(database, scope, for_guests=for_guests)
        self.max_depth = max_depth  # the machine changes it while it runs, as users do

    def carry(self, carried: Carried | None) -> None:
        """Leave what may be carried to a communicator from now on; None: leave nothing to it any more."""
        self._outbox.carried = carried

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> Mapping[str, int] | None:
        """Send what was found."""
        if not found:
            return None
        number = self._outbox.send(connection, found, self._boundary.rule().refusal, self.max_depth)
        return None if self._for_guests else {"sent": number}

    def become_seeds(self) -> int:
        """Leave that to the owners of the sites."""
        return 0

    def follow(self, settings: Settings) -> None:
        """Follow other settings from now on."""
        self.max_depth = settings.max_depth


def _finders(connection: Connection, ids: Iterable[int]) -> dict[int, _Finder]:
    finders: dict[int, _Finder] = {}
    for part in sliced(sorted(ids)):
        query = select(seed.c.id, seed.c.base_depth, seed.c.hops).where(seed.c.id.in_(part))
        finders.update((row[0], _Finder(row[1], row[2])) for row in connection.execute(query))
    return finders


def _known(connection: Connection, found: Sequence[ExternalRow]) -> dict[tuple[int, bytes], _Known]:
    key = tuple_(candidate.c.seed_id, candidate.c.url_hash)
    columns = (
        *(candidate.c.seed_id, candidate.c.url_hash),
        *(candidate.c.count, candidate.c.depth, candidate.c.promoted, candidate.c.part),
    )
    known: dict[tuple[int, bytes], _Known] = {}
    for part in sliced(sorted({(row.seed_id, row.url_hash) for row in found}), _LOOKED_UP):
        for row in connection.execute(select(*columns).where(key.in_(part))):
            known[row[0], bytes(row[1])] = _Known(*row[2:])
    return known
