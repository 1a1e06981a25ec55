"""Which payloads a site's archive holds, and in which records: of a page that comes again only a revisit is written."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from struct import Struct

from scrawler.archive.record import RevisitOf

_KEPT = 10_000  # payloads, the newest; half of them for sure
_KEY = 8  # first bytes of a digest by which it is found; the others are compared
_RECORD = Struct("<qI")  # date, length of the URL that follows


class ArchivedPayloads:
    """The newest payload digests of a site with their records, in some 40 bytes each and those of its URL.

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


class _Generation:
    """Records, packed behind each other, and where each begins, by the keys of the digests in order.

    As objects in a dictionary each took 170 bytes, 34 KB for a site of 200 pages.
    """

    __slots__ = ("_count", "_keys", "_places", "_records")

    def __init__(self) -> None:
        self._keys = array("Q")
        self._places = array("I")
        self._records = bytearray()
        self._count = 0  # of records, those that are found no more among them: they take memory as well

    def __len__(self) -> int:
        return self._count

    def get(self, digest: bytes) -> RevisitOf | None:
        key = _key(digest)
        index = bisect_left(self._keys, key)
        if index == len(self._keys) or self._keys[index] != key:
            return None
        begin = self._places[index]
        end = begin + len(digest) - _KEY
        if self._records[begin:end] != digest[_KEY:]:
            return None
        date_ms, length = _RECORD.unpack_from(self._records, end)
        end += _RECORD.size
        return RevisitOf(self._records[end : end + length].decode(), date_ms)

    def remember(self, digest: bytes, record: RevisitOf) -> None:
        """Keep a record; the one that has the same key, if there is one, is found no more."""
        key = _key(digest)
        index = bisect_left(self._keys, key)
        place = len(self._records)
        url = record.url.encode()
        self._records += digest[_KEY:] + _RECORD.pack(record.date_ms, len(url)) + url
        self._count += 1
        if index < len(self._keys) and self._keys[index] == key:
            self._places[index] = place
            return
        self._keys.insert(index, key)
        self._places.insert(index, place)


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:_KEY], "little")
