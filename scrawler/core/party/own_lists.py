"""The lists of one seed as its party is taken up: they are asked for what they hold again and again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from scrawler.core.party.depth import DEPTH_BUFFER
from scrawler.core.party.entries import Entry, decode
from scrawler.model.lanes import CHUNK_ENTRIES, NORMAL, ChunkRow


class Chunks(Protocol):
    """The part of the store that keeps chunks."""

    def chunks(self, seed_id: int, kind: int, position: int, entries: int) -> list[ChunkRow]:
        """The chunk that holds a position, and those that follow it, up to so many entries."""


class OwnLists:
    """Reads the lists of one seed after the other; of a list with one chunk that is kept until the next seed's turn.

    So is it with nearly all seeds that have moved to another site: to read the same few entries six times took longer
    than all else that is done for them.
    """

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self._seed_id = 0
        self._short: dict[int, list[ChunkRow]] = {}  # by kind of lane

    def begin(self, seed_id: int) -> None:
        """Read the lists of a seed anew from now on."""
        self._seed_id = seed_id
        self._short = {}

    def entries(self, first: int, kind: int = NORMAL.number) -> Iterator[tuple[int, Entry]]:
        """Yield the entries of a lane from a position on, each with its own."""
        rows = self._read(first, kind)
        while rows:
            entries = chain.from_iterable(decode(row.data) for row in rows)
            yield from ((at, entry) for at, entry in enumerate(entries, rows[0].first) if at >= first)
            first = rows[-1].first + rows[-1].count
            if rows[-1].count < CHUNK_ENTRIES:
                return  # no other chunk is behind one that is not full
            rows = self._read(first, kind)

    def _read(self, first: int, kind: int) -> list[ChunkRow]:
        short = self._short.get(kind)
        if short is None:
            rows = self._chunks.chunks(self._seed_id, kind, first, DEPTH_BUFFER)
            if len(rows) == 1 and rows[0].first == 0 and rows[0].count < CHUNK_ENTRIES:
                self._short[kind] = rows
            return rows
        return [row for row in short if first < row.first + row.count]
