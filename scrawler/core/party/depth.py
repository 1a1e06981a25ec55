"""Depth URL Buffer and Depth URL File: a party's URLs as an append-only list with a cursor (a lane).

The newest entries stand in the buffer; a full buffer becomes a numbered, compressed, immutable chunk (the file), and
leaves memory once it is durable. What is read next is in memory as well, up to IN_MEMORY entries, read back several
chunks at a time. So a list of any length needs little memory, and a checkpoint writes no more than what is new and the
chunk that is not yet full: a whole buffer of 1,024 entries took 767 us of each checkpoint, one of 128 takes 40.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scrawler.model import REFETCH_LANE, SITEMAP_LANE, ChunkRow, LaneState, Millis

CHUNK_ENTRIES = 128
IN_MEMORY = 1024  # entries of a lane that are read at a time, and kept in memory to be read
_LEVEL = 1

# Lane kinds. A URL that was tried again r times and pushed back p times stands in the lane r + 100 p, and behind the
# slow lane in SLOW - (r + 100 p): so the database knows of each entry how often it was tried.
NORMAL = 0  # the normal lane
LEFTOVER = -1  # entries out of their holder's scope, kept for the site's next seed
SITEMAP = SITEMAP_LANE  # sitemaps, which come before the normal lane
SLOW = -1000  # the slow lane: entries whose answers take longer than the first pass waits
PUSHED_BACK = 100  # lanes from here on wait for the normal lane: the server is asked for something else first
REFETCH = REFETCH_LANE  # lanes from here on, REFETCH + r + 100 p, are asked for the archive alone, before all others


def tries(kind: int) -> tuple[int, int]:
    """Return how often the entries of a lane were tried again, and pushed back."""
    if kind >= REFETCH:
        kind -= REFETCH
    pushed_back, retried = divmod(SLOW - kind if kind <= SLOW else max(kind, NORMAL), PUSHED_BACK)
    return retried, pushed_back


def after(kind: int, retries: int = 0, pushbacks: int = 0) -> int:
    """Return the kind of the lane for entries of a lane that are tried again so often, or were pushed back."""
    more = retries + pushbacks * PUSHED_BACK
    return kind - more if kind <= SLOW else max(kind, NORMAL) + more


class Entry(NamedTuple):
    """One listed URL; `position` is its place in the lister's normal lane, `not_before` UTC milliseconds.

    `depth` counts links from the seed's URL. For an asset, which is never the seed's URL itself, it is negative: so the
    mark goes with the entry through all lanes, chunks and machines, and where there are no assets it costs nothing.
    For a sitemap `position` is: its place in the lister's lane of sitemaps is -1 - position, and its depth one more for
    each index between.
    """

    url: str
    depth: int
    position: int
    not_before: Millis = 0

    @property
    def is_asset(self) -> bool:
        """Whether it was listed as an image, script or style of a page."""
        return self.depth < 0

    @property
    def is_sitemap(self) -> bool:
        """Whether it was listed as a sitemap."""
        return self.position < 0


def encode(entries: list[Entry]) -> bytes:
    """Pack entries for a chunk row: a line each, compressed (normalised URLs hold neither space nor newline).

    A line is depth, position, time and URL, or the URL alone where the rest follows from the line before: the same
    depth, the next position, and no time.
    """
    lines: list[str] = []
    next_depth = next_position = -1
    for url, depth, position, not_before in entries:
        follows = position == next_position and depth == next_depth and not not_before
        lines.append(url if follows and lines else f"{depth} {position} {not_before} {url}")
        next_depth, next_position = depth, position + 1
    return zlib.compress("\n".join(lines).encode(), _LEVEL)


def decode(data: bytes) -> list[Entry]:
    """Unpack what `encode` packed."""
    entries = []
    depth = position = 0
    for line in zlib.decompress(data).decode().split("\n"):
        if " " in line:
            depth_text, position_text, not_before, url = line.split(" ", 3)
            depth, position = int(depth_text), int(position_text)
            entries.append(Entry(url, depth, position, int(not_before)))
        else:
            position += 1
            entries.append(Entry(line, depth, position))
    return entries


def decode_urls(data: bytes) -> Iterator[str]:
    """Yield only the URLs of a chunk, for rebuilding a seen filter."""
    for line in zlib.decompress(data).decode().split("\n"):
        yield line.rpartition(" ")[2]


def find(data: bytes, url: str) -> tuple[int, Entry] | None:
    """Return the entry of a URL in a chunk, and its place there."""
    if url.encode() not in zlib.decompress(data):  # cheaper than to unpack all of it
        return None
    return next(((place, entry) for place, entry in enumerate(decode(data)) if entry.url == url), None)


class Lane:
    """A list that only grows at its end and a cursor that only moves forward.

    Life of an entry: `append` -> `peek`/`take` (handed out, in flight) -> `finish`. The cursor is the lowest
    entry not finished; what is finished beyond it is remembered, so that several can be in flight.
    `peek` returns None both for an empty lane and for one whose next chunk is not in memory: ask `missing`.
    """

    def __init__(self, state: LaneState, tail: ChunkRow | None = None) -> None:
        self.seed_id = state.seed_id
        self.kind = state.kind
        self.holder_id = state.holder_id
        self.slow = state.kind <= SLOW
        self.refetches = state.kind >= REFETCH  # its URLs lead nowhere new: their records were lost
        self.length = state.length
        self.loading = False  # a chunk is on its way from the store
        self._cursor = state.cursor
        self._next = state.cursor
        self._ahead = set(state.ahead)
        self._sealed: list[ChunkRow] = []  # full chunks no delta has taken yet
        self._head: list[Entry] = []  # the chunk that is being read, when it is not the buffer
        self._head_first = 0
        self._buffer: list[Entry] = []
        self._buffer_first = state.length
        self._seq = 0
        self._dirty = False
        self._buffer_dirty = False
        if tail is not None:
            self._continue_after(tail)

    def _continue_after(self, tail: ChunkRow) -> None:
        if tail.count < CHUNK_ENTRIES:
            self._buffer, self._buffer_first, self._seq = decode(tail.data), tail.first, tail.seq
        else:
            self._seq = tail.seq + 1

    @property
    def unfinished(self) -> bool:
        """Whether an entry is left that has not been finished (it may be in flight)."""
        return self._cursor < self.length

    @property
    def exhausted(self) -> bool:
        """Whether every entry has been handed out."""
        self._skip_finished()
        return self._next >= self.length

    def append(self, url: str, depth: int, position: int | None = None, not_before: Millis = 0) -> None:
        """List a URL at the end."""
        self._buffer.append(Entry(url, depth, self.length if position is None else position, not_before))
        self.length += 1
        self._dirty = self._buffer_dirty = True
        if len(self._buffer) >= CHUNK_ENTRIES:
            self._seal()

    def extend(self, urls: Sequence[str], depth: int) -> None:
        """List URLs at the end, all at one depth."""
        entries = [Entry(url, depth, position) for position, url in enumerate(urls, self.length)]
        listed = 0
        while listed < len(entries):
            more = entries[listed : listed + CHUNK_ENTRIES - len(self._buffer)]
            self._buffer += more
            listed += len(more)
            self.length += len(more)
            self._dirty = self._buffer_dirty = True
            if len(self._buffer) == CHUNK_ENTRIES:
                self._seal()

    def _seal(self) -> None:
        self._sealed.append(self._buffer_row())
        if self._next >= self._buffer_first:
            self._head, self._head_first = self._buffer, self._buffer_first
        elif self._head_first + len(self._head) == self._buffer_first:
            self._extend_head()
        self._seq += 1
        self._buffer, self._buffer_first, self._buffer_dirty = [], self.length, False

    def _extend_head(self) -> None:
        """Keep the buffer in memory behind the head that it follows, if there is room for it."""
        finished = self._cursor - self._head_first
        if finished >= CHUNK_ENTRIES:
            del self._head[:finished]
            self._head_first = self._cursor
        if len(self._head) + len(self._buffer) <= IN_MEMORY:
            self._head += self._buffer

    def _buffer_row(self) -> ChunkRow:
        entries = self._buffer
        return ChunkRow(self.seed_id, self.kind, self._seq, self._buffer_first, len(entries), encode(entries))

    def peek(self) -> Entry | None:
        """Return the entry that `take` would hand out, if it is in memory."""
        if self._ahead:
            self._skip_finished()
        index = self._next
        if index >= self._buffer_first:
            offset = index - self._buffer_first
            return self._buffer[offset] if offset < len(self._buffer) else None
        offset = index - self._head_first
        if 0 <= offset < len(self._head):
            return self._head[offset]
        return self._from_sealed(index)

    def _skip_finished(self) -> None:
        while self._next in self._ahead:
            self._next += 1

    def _from_sealed(self, index: int) -> Entry | None:
        for row in self._sealed:
            if row.first <= index < row.first + row.count:
                self._head, self._head_first = decode(row.data), row.first
                return self._head[index - row.first]
        return None

    @property
    def missing(self) -> int | None:
        """The position whose chunk has to be read from the store before `peek` can go on, or None."""
        return self._next if not self.exhausted and self.peek() is None else None

    def filled(self, rows: Sequence[ChunkRow]) -> None:
        """Take the chunk that was asked for, and those that follow it."""
        self._head = [entry for row in rows for entry in decode(row.data)]
        self._head_first = rows[0].first

    def take(self) -> int:
        """Hand out the entry that `peek` showed; returns its index in this lane."""
        index = self._next
        self._next += 1
        return index

    def finish(self, index: int) -> None:
        """Note that an entry has its final result, or was passed to another lane."""
        self._dirty = True
        if index != self._cursor:
            self._ahead.add(index)
            return
        self._cursor += 1
        while self._cursor in self._ahead:
            self._ahead.remove(self._cursor)
            self._cursor += 1
        self._next = max(self._next, self._cursor)  # entries finished before a crash need not be handed out

    def give_back(self) -> None:
        """Hand out again, from the cursor, what was taken and not finished (a stop, a failed write)."""
        self._next = self._cursor

    def hand_to(self, holder_id: int) -> None:
        """Let another seed of the site fetch the rest."""
        self.holder_id = holder_id
        self._dirty = True
        self.give_back()

    def take_delta(self) -> tuple[LaneState, tuple[ChunkRow, ...]] | None:
        """Return what changed since the last delta, or None."""
        if not self._dirty:
            return None
        rows = self._sealed
        if self._buffer_dirty:
            rows = [*rows, self._buffer_row()]
        state = LaneState(
            self.seed_id, self.kind, self.holder_id, self._cursor, self.length, tuple(sorted(self._ahead))
        )
        self._sealed, self._dirty, self._buffer_dirty = [], False, False
        return state, tuple(rows)
