"""Which payloads a site's archive holds, and in which records: of a page that comes again only a revisit is written."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from struct import Struct
from typing import Final, Protocol

from scrawler.archive.gzipping import from_zlib_stream, zlib_stream
from scrawler.archive.record import RevisitOf
from scrawler.compiled import compiled_part
from scrawler.model.terms import Millis
from scrawler.urls.scope import origin

_KEPT: Final = 10_000  # payloads, the newest; half of them for sure: so a number of one needs 13 bits
_KEY: Final = 6  # first bytes of a digest by which it is found; the others are compared
_NUMBER: Final = 16  # bits of a record's number, which stands behind its key
_RECORD: Final = Struct("<BIq")  # length of the rest of its digest and of its URL, which follow, and date
_PACKED: Final = 32  # records that are compressed together

COMPILED = compiled_part("scrawler.core.party._archived")


class Records(Protocol):
    """Texts and dates by digests."""

    def __len__(self) -> int: ...

    def get(self, digest: bytes) -> tuple[str, Millis] | None:
        """Return the text and the date that stand under a digest."""

    def remember(self, digest: bytes, text: str, date_ms: Millis) -> None:
        """Keep a text and a date; what has the same key, if there is something, is found no more."""


def generation() -> Records:
    """Return a new generation, compiled where that was built."""
    return Generation() if COMPILED is None else COMPILED.Generation(zlib_stream, from_zlib_stream)


class ArchivedPayloads:
    """The newest payload digests of a site with their records, in some 40 bytes each.

    They stand in two generations: when the younger one is full, the elder one is forgotten. URLs of the origin of the
    first one are kept from their path on.
    """

    __slots__ = ("_elder", "_origin", "_younger")

    def __init__(self) -> None:
        self._younger = generation()
        self._elder: Records | None = None
        self._origin = ""

    def __len__(self) -> int:
        return len(self._younger) + (0 if self._elder is None else len(self._elder))

    def get(self, digest: bytes) -> RevisitOf | None:
        """Return the record that holds a payload."""
        found = self._younger.get(digest)
        if found is None and self._elder is not None:
            found = self._elder.get(digest)
        if found is None:
            return None
        url, date_ms = found
        return RevisitOf(self._origin + url if url.startswith("/") else url, date_ms)

    def remember(self, digest: bytes, record: RevisitOf) -> None:
        """Keep in which record a payload is."""
        if len(self._younger) >= _KEPT // 2:
            self._younger, self._elder = generation(), self._younger
        self._origin = self._origin or origin(record.url)
        kept = record.url.removeprefix(self._origin)
        self._younger.remember(digest, kept if kept.startswith("/") else record.url, record.date_ms)


class Generation:
    """Texts and dates in the order in which they came, all but the newest compressed; their numbers, by keys in order.

    A key is a digest; a record is its URL and date. They are asked for where a payload comes again alone. As objects in
    a dictionary each took 170 bytes, 34 KB for a site of 200 pages, and packed but not compressed 95.
    `_archived.c` does the same.
    """

    __slots__ = ("_blocks", "_count", "_numbers", "_open")

    def __init__(self) -> None:
        self._numbers = array("Q")  # each below the key of its digest
        self._blocks: tuple[bytes, ...] = ()
        self._open = b""
        self._count = 0  # of records, those that are found no more among them: they take memory as well

    def __len__(self) -> int:
        return self._count

    def get(self, digest: bytes) -> tuple[str, Millis] | None:
        """Return the text and the date that stand under a digest."""
        key = _key(digest)
        index = bisect_left(self._numbers, key)
        if index == len(self._numbers) or self._numbers[index] >> _NUMBER != key >> _NUMBER:
            return None
        block, behind = divmod(self._numbers[index] - key, _PACKED)
        packed = from_zlib_stream(self._blocks[block]) if block < len(self._blocks) else self._open
        begin = 0
        for _ in range(behind):
            rest, url, _date = _RECORD.unpack_from(packed, begin)
            begin += _RECORD.size + rest + url
        rest, url, date_ms = _RECORD.unpack_from(packed, begin)
        begin += _RECORD.size
        if packed[begin : begin + rest] != digest[_KEY:]:
            return None
        return packed[begin + rest : begin + rest + url].decode(), date_ms

    def remember(self, digest: bytes, text: str, date_ms: Millis) -> None:
        """Keep a text and a date; what has the same key, if there is something, is found no more."""
        key = _key(digest)
        number = key + self._count
        index = bisect_left(self._numbers, key)
        rest, url = digest[_KEY:], text.encode()
        packed = self._open + _RECORD.pack(len(rest), len(url), date_ms) + rest + url
        is_full = self._count % _PACKED == _PACKED - 1
        if is_full:
            self._blocks += (zlib_stream(packed),)
        self._open = b"" if is_full else packed
        self._count += 1
        if index < len(self._numbers) and self._numbers[index] >> _NUMBER == key >> _NUMBER:
            self._numbers[index] = number
        else:
            self._numbers.insert(index, number)


def _key(digest: bytes) -> int:
    """Return where the number of a record with this digest begins to be looked for."""
    return int.from_bytes(digest[:_KEY], "little") << _NUMBER
