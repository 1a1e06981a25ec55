"""Which payloads a site's archive holds, and in which records: of a page that comes again only a revisit is written."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from struct import Struct
from threading import Lock

from scrawler.archive.gzipping import zlib_stream
from scrawler.archive.record import RevisitOf

_KEPT = 10_000  # payloads, the newest; half of them for sure: so a number of one needs 13 bits
_EARLIER_TOGETHER = 4_096  # payloads of an earlier crawl in one generation
_EARLIER_OF_SITE = 24  # generations of a site: some 100,000 payloads, in 4 MB
_KEY = 6  # first bytes of a digest by which it is found; the others are compared
_NUMBER = 16  # bits of a record's number, which stands behind its key
_RECORD = Struct("<BIq")  # length of the rest of its digest and of its URL, which follow, and date
_PACKED = 32  # records that are compressed together


class ArchivedPayloads:
    """The newest payload digests of a site with their records, in some 40 bytes each.

    They stand in two generations: when the younger one is full, the elder one is forgotten.
    """

    __slots__ = ("_elder", "_younger")

    def __init__(self) -> None:
        self._younger = _Generation()
        self._elder: _Generation | None = None

    def __len__(self) -> int:
        return len(self._younger) + (0 if self._elder is None else len(self._elder))

    def get(self, digest: bytes) -> RevisitOf | None:
        """Return the record that holds a payload."""
        found = self._younger.get(digest)
        return self._elder.get(digest) if found is None and self._elder is not None else found

    def remember(self, digest: bytes, record: RevisitOf) -> None:
        """Keep in which record a payload is."""
        if len(self._younger) >= _KEPT // 2:
            self._younger, self._elder = _Generation(), self._younger
        self._younger.remember(digest, record)


class EarlierPayloads:
    """The payload digests of a site that an earlier crawl has archived, with their records; the first to come stay.

    `room` is what all sites of a machine share: it is taken in pieces of so many payloads as stand together.
    """

    __slots__ = ("_generations", "_room", "_taken")

    def __init__(self, room: EarlierRoom) -> None:
        self._room = room
        self._generations: list[_Generation] = []
        self._taken = 0

    def get(self, digest: bytes) -> RevisitOf | None:
        """Return the record that holds a payload."""
        for one in self._generations:
            found = one.get(digest)
            if found is not None:
                return found
        return None

    def remember(self, digest: bytes, record: RevisitOf) -> bool:
        """Keep in which record a payload is; returns False where there is no room for it."""
        if not self._generations or len(self._generations[-1]) >= _EARLIER_TOGETHER:
            if len(self._generations) >= _EARLIER_OF_SITE or not self._room.take():
                return False
            self._taken += 1
            self._generations.append(_Generation())
        self._generations[-1].remember(digest, record)
        return True

    def close(self) -> None:
        """Forget them, and give their room back; calling it again does nothing."""
        self._room.give_back(self._taken)
        self._taken, self._generations = 0, []


class EarlierRoom:
    """How many generations of payloads of earlier crawls may be held at a time, by all sites of a machine."""

    def __init__(self, generations: int = 256) -> None:
        self._left = generations
        self._lock = Lock()  # sites are taken up and let go of by different threads

    def take(self) -> bool:
        """Take the room of one generation; returns False where none is left."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True

    def give_back(self, generations: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._left += generations


class _Generation:
    """Records in the order in which they came, all but the newest compressed; their numbers, by the digests in order.

    They are asked for where a payload comes again alone. As objects in a dictionary each took 170 bytes, 34 KB for a
    site of 200 pages, and packed but not compressed 95.
    """

    __slots__ = ("_blocks", "_count", "_numbers", "_open")

    def __init__(self) -> None:
        self._numbers = array("Q")  # each below the key of its digest
        self._blocks: list[bytes] = []
        self._open = b""
        self._count = 0  # of records, those that are found no more among them: they take memory as well

    def __len__(self) -> int:
        return self._count

    def get(self, digest: bytes) -> RevisitOf | None:
        key = _key(digest)
        index = bisect_left(self._numbers, key)
        if index == len(self._numbers) or self._numbers[index] >> _NUMBER != key >> _NUMBER:
            return None
        block, behind = divmod(self._numbers[index] - key, _PACKED)
        packed = zlib.decompress(self._blocks[block]) if block < len(self._blocks) else self._open
        begin = 0
        for _ in range(behind):
            rest, url, _date = _RECORD.unpack_from(packed, begin)
            begin += _RECORD.size + rest + url
        rest, url, date_ms = _RECORD.unpack_from(packed, begin)
        begin += _RECORD.size
        if packed[begin : begin + rest] != digest[_KEY:]:
            return None
        return RevisitOf(packed[begin + rest : begin + rest + url].decode(), date_ms)

    def remember(self, digest: bytes, record: RevisitOf) -> None:
        """Keep a record; the one that has the same key, if there is one, is found no more."""
        key = _key(digest)
        number = key + self._count
        index = bisect_left(self._numbers, key)
        rest, url = digest[_KEY:], record.url.encode()
        packed = self._open + _RECORD.pack(len(rest), len(url), record.date_ms) + rest + url
        is_full = self._count % _PACKED == _PACKED - 1
        if is_full:
            self._blocks.append(zlib_stream(packed))
        self._open = b"" if is_full else packed
        self._count += 1
        if index < len(self._numbers) and self._numbers[index] >> _NUMBER == key >> _NUMBER:
            self._numbers[index] = number
        else:
            self._numbers.insert(index, number)


def _key(digest: bytes) -> int:
    """Return where the number of a record with this digest begins to be looked for."""
    return int.from_bytes(digest[:_KEY], "little") << _NUMBER
