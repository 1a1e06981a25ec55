"""Which payloads a site's archive holds, and in which records: of a page that comes again only a revisit is written."""

from __future__ import annotations

from struct import Struct

from scrawler.archive.record import RevisitOf

_KEPT = 10_000  # payloads, the newest; half of them for sure
_KEY = 8  # first bytes of a digest by which it is found; the others are compared
_DATE = Struct("<q")


class ArchivedPayloads:
    """The newest payload digests of a site with their records, in some 150 bytes each.

    They stand in two generations: when the younger one is full, the elder one is forgotten.
    """

    __slots__ = ("_elder", "_younger")

    def __init__(self) -> None:
        self._younger: dict[int, bytes] = {}
        self._elder: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._younger) + len(self._elder)

    def get(self, digest: bytes) -> RevisitOf | None:
        """Return the record that holds a payload."""
        key = _key(digest)
        packed = self._younger.get(key) or self._elder.get(key)
        rest = len(digest) - _KEY
        if packed is None or packed[:rest] != digest[_KEY:]:
            return None
        (date_ms,) = _DATE.unpack_from(packed, rest)
        return RevisitOf(packed[rest + _DATE.size :].decode(), date_ms)

    def remember(self, digest: bytes, record: RevisitOf) -> None:
        """Keep in which record a payload is."""
        if len(self._younger) >= _KEPT // 2:
            self._younger, self._elder = {}, self._younger
        self._younger[_key(digest)] = digest[_KEY:] + _DATE.pack(record.date_ms) + record.url.encode()


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:_KEY], "little")
