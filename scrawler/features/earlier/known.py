"""What an earlier crawl knows of a site (`dedup_from`): which payloads its archive holds, and which pages, as of when.

What is known of a page is enough to ask whether it is still as it was then, and to find its body if it is.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple, Protocol

from scrawler.archive.reading import StoredAnswer
from scrawler.archive.record import RevisitOf
from scrawler.core.party.archived import Records, generation
from scrawler.model.row_kinds import Row, RowKind
from scrawler.model.terms import Millis, url_hash
from scrawler.model.visits import KnownVisit, conditions

_TOGETHER = 4_096  # payloads, or pages, in one generation
_OF_SITE = 24  # generations of a site: some 100,000 payloads, in 4 MB, and as many pages, in 12 MB
_PIECE = 64  # payloads, or pages, for which room is taken at once: many sites are small
_OF_MACHINE = 16_384  # pieces of payloads, one million; of pages half as many
_BETWEEN = "\n"  # fields of a page; no URL and no header has one


class EarlierVisit(NamedTuple):
    """A page that an earlier crawl has fetched."""

    etag: str  # as the server sent it, as are dates
    last_modified: str
    digest: bytes
    payload_url: str  # of the record that holds the payload, perhaps that of another page
    payload_at: Millis
    crawl: int  # in whose archive the page's own record is: 0 for the newest of the earlier crawls
    warc_file: str
    warc_offset: int
    warc_length: int
    length: int  # bytes of the body
    revisit: int  # 1 where its own record refers to another one for the payload


class EarlierPayloads:
    """The payload digests of a site that an earlier crawl has archived, with their records; the first to come stay."""

    __slots__ = ("_gone", "_kept")

    def __init__(self, room: EarlierRoom) -> None:
        self._kept = _Kept(room)
        self._gone = set[bytes]()  # as many as there are pages to be asked for at most

    def get(self, digest: bytes) -> RevisitOf | None:
        """Return the record that holds a payload."""
        found = None if digest in self._gone else self._kept.get(digest)
        return None if found is None else RevisitOf(*found)

    def leave(self, digest: bytes) -> None:
        """Refer to no record for a payload any more: it could not be read there."""
        self._gone.add(digest)

    def remember(self, digest: bytes, record: RevisitOf) -> bool:
        """Keep in which record a payload is; returns False where there is no room for it."""
        return self._kept.remember(digest, record.url, record.date_ms)

    def close(self) -> None:
        """Forget them, and give their room back; calling it again does nothing."""
        self._kept.close()
        self._gone.clear()


class EarlierVisits:
    """The pages of a site that an earlier crawl has fetched, and that say by what they are asked for if they change."""

    __slots__ = ("_kept",)

    def __init__(self, room: EarlierRoom) -> None:
        self._kept = _Kept(room)

    def get(self, url: str) -> EarlierVisit | None:
        """Return what is known of a page; None where that is nothing, or it is to be asked for as if it were."""
        found = self._kept.get(url_hash(url))
        if found is None or not found[0]:
            return None
        etag, modified, digest, payload_url, file, *numbers = found[0].split(_BETWEEN)
        crawl, offset, packed, length, revisit = map(int, numbers)
        return EarlierVisit(
            etag=etag,
            last_modified=modified,
            digest=bytes.fromhex(digest),
            payload_url=payload_url or url,
            payload_at=found[1],
            crawl=crawl,
            warc_file=file,
            warc_offset=offset,
            warc_length=packed,
            length=length,
            revisit=revisit,
        )

    def knows(self, url: str) -> bool:
        """Tell whether something was said of a page already."""
        return self._kept.get(url_hash(url)) is not None

    def remember(self, url: str, visit: EarlierVisit | None) -> bool:
        """Keep what is known of a page; None: all of it is to be asked for. Returns False where there is no room."""
        if visit is None:
            return self._kept.remember(url_hash(url), "", 0)
        other = "" if visit.payload_url == url else visit.payload_url
        place = visit.crawl, visit.warc_offset, visit.warc_length, visit.length, visit.revisit
        fields = visit.etag, visit.last_modified, visit.digest.hex(), other, visit.warc_file, *map(str, place)
        return self._kept.remember(url_hash(url), _BETWEEN.join(fields), visit.payload_at)

    def close(self) -> None:
        """Forget them, and give their room back; calling it again does nothing."""
        self._kept.close()


class EarlierRecords(Protocol):
    """Reads the records of earlier crawls: files, and databases. Nobody has the turn meanwhile."""

    def holds(self, url: str, digest: bytes, body: bytes) -> bool:
        """Tell whether a record of a URL holds this very payload: it was read just now."""

    def read(self, url: str, visit: EarlierVisit) -> StoredAnswer | None:
        """Return what the server of a page has answered, whole; None where that is gone, damaged, or cannot be read."""


class EarlierSite:
    """What earlier crawls know of a site, and what reads their records: the state of a site."""

    __slots__ = ("_records", "payloads", "visits")

    def __init__(self, payloads: EarlierPayloads, visits: EarlierVisits, records: EarlierRecords) -> None:
        self.payloads = payloads
        self.visits = visits
        self._records = records

    def conditions(self, url: str) -> tuple[tuple[str, str], ...]:
        """Return the headers by which a page is asked for only if it has changed since; none where it is not known."""
        visit = self.visits.get(url)
        if visit is None:
            return ()
        return conditions(
            KnownVisit(0, visit.payload_url, visit.payload_at, visit.digest, visit.etag, visit.last_modified)
        )

    def read(self, url: str, visit: EarlierVisit) -> StoredAnswer | None:
        """Return what the server of a page answered then; None where the archive does not hold that any more.

        It reads files, and perhaps a database: for that nobody has the turn.
        """
        return self._records.read(url, visit)

    def record_of(self, digest: bytes, body: bytes) -> RevisitOf | None:
        """Return a record that holds a payload, which was read there just now; None where nobody knows of such a one.

        It reads files, as `read` does. One that cannot be read is not referred to any more.
        """
        found = self.payloads.get(digest)
        if found is not None and not self._records.holds(found.url, digest, body):
            self.payloads.leave(digest)
            return None
        return found

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Do nothing: it keeps no rows."""

    def close(self) -> None:
        """Forget it, and give its room back; calling it again does nothing."""
        self.payloads.close()
        self.visits.close()


class EarlierRoom:
    """How much of what earlier crawls know may be held at a time, by all sites of a machine; in pieces of 64."""

    def __init__(self, pieces: int = _OF_MACHINE) -> None:
        self._left = pieces
        self._lock = Lock()  # sites are taken up and let go of by different threads

    @classmethod
    def of_visits(cls) -> EarlierRoom:
        """Return that for pages, which take more than payloads."""
        return cls(_OF_MACHINE // 2)

    def take(self) -> bool:
        """Take the room of one piece; returns False where none is left."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True

    def give_back(self, pieces: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._left += pieces


class _Kept:
    """Texts and dates by digests; `room`, which all sites of a machine share, is taken a piece at a time."""

    __slots__ = ("_count", "_generations", "_room", "_taken")

    def __init__(self, room: EarlierRoom) -> None:
        self._room = room
        self._generations: list[Records] = []
        self._count = 0  # of texts
        self._taken = 0  # pieces

    def get(self, digest: bytes) -> tuple[str, Millis] | None:
        for one in self._generations:
            found = one.get(digest)
            if found is not None:
                return found
        return None

    def remember(self, digest: bytes, text: str, date_ms: Millis) -> bool:
        if self._count >= _OF_SITE * _TOGETHER:
            return False
        if self._count >= self._taken * _PIECE:
            if not self._room.take():
                return False
            self._taken += 1
        if self._count % _TOGETHER == 0:
            self._generations.append(generation())
        self._generations[-1].remember(digest, text, date_ms)
        self._count += 1
        return True

    def close(self) -> None:
        self._room.give_back(self._taken)
        self._taken = self._count = 0
        self._generations = []
