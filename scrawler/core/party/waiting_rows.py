"""Rows that wait for their checkpoint: in a broad crawl ten pages of each site, for fifteen seconds.

A delta has them as they wait. They are unpacked by the store thread while it writes them, some at a time, and not under
the machine's turn.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from scrawler.model.rows import ExternalRow, PageRow
from scrawler.model.terms import url_hash

_PROTOCOL: Final = 5  # the newest one: nobody else reads these bytes


class WaitingRows:
    """Page rows in the order in which they came, as bytes: 0.3 KB each, where the objects of a row take 0.8.

    To pack a row and to unpack it costs 1.4 us.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[bytes] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[PageRow]:
        for row in self._rows:
            yield PageRow(*pickle.loads(row))

    def add(self, row: PageRow) -> None:
        """Keep one more row: a copy of its bytes, for pickle cuts them from a buffer of 4 KB.

        Each would leave the rest of that as a hole in the heap, in which the next buffer has no room.
        """
        self._rows.append(b"".join((pickle.dumps(tuple(row), _PROTOCOL), b"")))


class Finding(NamedTuple):
    """Where an external URL was found first, and how often since: one object for all that a page has brought.

    Compiled, a plain tuple of a known length would be made anew for each URL, of 64 bytes.
    """

    depth: int
    times: int
    referrer: bytes


class WaitingExternals:
    """Rows of external URLs that a seed's pages have found, each with its depth, times and referrer."""

    __slots__ = ("_found", "_seed_id")

    def __init__(self, seed_id: int, found: Mapping[str, Finding]) -> None:
        self._seed_id = seed_id
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[ExternalRow]:
        for url, (depth, times, referrer) in self._found.items():
            yield ExternalRow(self._seed_id, url_hash(url), url, depth, times, referrer)
