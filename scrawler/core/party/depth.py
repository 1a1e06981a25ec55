"""Depth URL Buffer and Depth URL File: a party's URLs as an append-only list with a cursor (a lane).

The newest entries stand in the tail; a full tail becomes a numbered, compressed, immutable chunk (the file), and
leaves memory once it is durable. What is read next is in memory as well (the buffer), up to as many entries as the
setting `depth_buffer` says, read back several chunks at a time. So a list of any length needs little memory, and a
checkpoint writes no more than what is new and the chunk that is not yet full: a whole buffer of 1,024 entries took
767 us of each checkpoint, one of 128 took 40, and one of 64 leaves the database two thirds of the bytes of that.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from scrawler.core.party.entries import Entry, EntryRole, Lines, opened
from scrawler.model.lanes import CHUNK_ENTRIES, ChunkRow, LaneKey, LaneKind, LaneState, lane_key
from scrawler.model.replaced import WaitingRow
from scrawler.model.visits import KnownVisit

DEPTH_BUFFER = 1024  # entries of a lane that are read at a time, and kept in memory to be read, unless the user says so


def _turn_of(key: LaneKey) -> LaneKind:
    """Return as which kind a lane has its turn: what failed at a further visit waits as what failed at a first one."""
    if key.kind in (LaneKind.REVISIT, LaneKind.REREAD) and key.pushbacks:
        return LaneKind.PUSHED_BACK
    if key.kind is LaneKind.REREAD or (key.kind is LaneKind.REVISIT and key.retries):
        return LaneKind.RETRY
    return key.kind


class Lane:
    """A list that only grows at its end and a cursor that only moves forward.

    Life of an entry: `append` -> `peek`/`take` (handed out, in flight) -> `finish`. The cursor is the lowest
    entry not finished; what is finished beyond it is remembered, so that several can be in flight.
    `peek` returns None both for an empty lane and for one whose next chunk is not in memory: ask `missing`.
    """

    __slots__ = (
        "_ahead",
        "_buffer",
        "_cursor",
        "_dirty",
        "_most",
        "_next",
        "_open",
        "_sealed",
        "_seq",
        "_tail",
        "_tail_dirty",
        "holder_id",
        "key",
        "kind",
        "length",
        "lists_read",
        "loading",
        "ordered",
        "reads_lists",
        "refetches",
        "rereads",
        "retries_rows",
        "revisits",
        "seed_id",
        "slow",
        "turn",
        "visited",
        "waiting_rows",
    )

    def __init__(self, state: LaneState, tail: ChunkRow | None = None, depth_buffer: int = DEPTH_BUFFER) -> None:
        self.seed_id = state.seed_id
        self.key = lane_key(state.kind)
        self.kind = self.key.kind
        self.holder_id = state.holder_id
        self.slow = self.kind is LaneKind.SLOW
        self.revisits = self.kind is LaneKind.REVISIT
        self.turn = _turn_of(self.key)
        self.visited: dict[str, KnownVisit] | None = None  # its site's: what is known of URLs that are visited again
        self.reads_lists = False  # whether lists of ResourceSync may tell which of its URLs have changed
        self.lists_read = False  # whether those that stand before its pages are done
        self.refetches = self.kind is LaneKind.REFETCH  # its URLs lead nowhere new: their records were lost
        self.rereads = self.kind is LaneKind.REREAD  # its URLs have their rows: what they lead to is wanted alone
        self.retries_rows = self.refetches or self.kind is LaneKind.WANTED  # its URLs have rows, until others come
        self.waiting_rows: dict[str, tuple[WaitingRow, ...]] | None = None  # its site's: these rows
        # A user has ordered its URLs: they come before all others, whatever limits and traps say.
        self.ordered = self.retries_rows or self.rereads
        self.length = state.length
        self.loading = False  # a chunk is on its way from the store
        self._cursor = state.cursor
        self._next = state.cursor
        self._ahead = set(state.ahead) if state.ahead else None  # finished ones beyond the cursor
        self._most = depth_buffer  # entries of the buffer
        self._sealed: list[ChunkRow] = []  # full chunks no delta has taken yet
        self._buffer: list[ChunkRow] = []  # chunks that are read next, without a gap: the Depth URL Buffer
        self._open: Lines | None = None  # what is being read, a part of the first of them
        self._tail = Lines(state.length)
        self._seq = 0
        self._dirty = False
        self._tail_dirty = False
        if tail is not None:
            self._continue_after(tail)

    def _continue_after(self, tail: ChunkRow) -> None:
        if tail.count < CHUNK_ENTRIES:
            self._tail, self._seq = Lines(tail.first, zlib.decompress(tail.data)), tail.seq
        else:
            self._seq = tail.seq + 1

    @property
    def left(self) -> int:
        """How many entries have not been finished."""
        return self.length - self._cursor - (0 if self._ahead is None else len(self._ahead))

    @property
    def unfinished(self) -> bool:
        """Whether an entry is left that has not been finished (it may be in flight)."""
        return self._cursor < self.length

    @property
    def exhausted(self) -> bool:
        """Whether every entry has been handed out."""
        self._skip_finished()
        return self._next >= self.length

    @property
    def in_work(self) -> bool:
        """Whether an entry was handed out that is not finished."""
        return self._cursor < self._next

    @property
    def in_memory(self) -> int:
        """Entries that are kept in memory, but for chunks that no delta has taken yet."""
        return sum(row.count for row in self._buffer) + self._tail.count

    def append(
        self, url: str, depth: int, role: EntryRole = EntryRole.PAGE, referrer: bytes = b"", hops: int = 0
    ) -> None:
        """List a URL at the end."""
        self.append_entry(Entry(url, depth, self.length, 0, role, referrer, hops))

    def append_entry(self, entry: Entry) -> None:
        """List at the end what was listed elsewhere before."""
        self._tail.append(entry)
        self._grown(1)

    def extend(
        self,
        urls: Sequence[str],
        depth: int,
        role: EntryRole = EntryRole.PAGE,
        referrer: bytes = b"",
        position: int | None = None,
        hops: int = 0,
    ) -> None:
        """List URLs of pages, or of assets, at the end, all at one depth and found on one page.

        `position` is that of the first of them, where they are not counted by the length of the lane.
        """
        listed, before = 0, self.length if position is None else position
        while listed < len(urls):
            more = urls[listed : listed + CHUNK_ENTRIES - self._tail.count]
            self._tail.extend(more, depth, before + listed, role, referrer, hops)
            listed += len(more)
            self._grown(len(more))

    def _grown(self, more: int) -> None:
        """Count what the tail has gained; where that is full and cannot be sealed, it has gained nothing."""
        try:
            length = self.length + more
            if self._tail.count >= CHUNK_ENTRIES:
                self._seal(length)
            else:
                self._tail_dirty = True
        except MemoryError:
            self._tail.cut(more)
            raise
        self.length = length
        self._dirty = True

    def _seal(self, end: int) -> None:
        row, tail, seq = self._tail_row(), Lines(end, origin=self._tail.origin), self._seq + 1
        buffer = self._buffer
        if self._next >= row.first:
            buffer = [row]
        elif self._buffered_until() == row.first and self._buffered() + row.count <= self._most:
            buffer = [*buffer, row]
        self._sealed.append(row)  # the last step that may raise
        self._buffer = buffer
        self._seq = seq
        self._tail = tail
        self._tail_dirty = False

    def _buffered(self) -> int:
        """Return how many entries are in memory to be read, behind the cursor of those that are handed out."""
        return sum(max(0, row.first + row.count - max(row.first, self._next)) for row in self._buffer)

    def _buffered_until(self) -> int:
        """Return the position behind the last entry that is in memory to be read, -1 if there is none."""
        return self._buffer[-1].first + self._buffer[-1].count if self._buffer else -1

    def _tail_row(self) -> ChunkRow:
        tail = self._tail
        return ChunkRow(self.seed_id, self.key.number, self._seq, tail.first, tail.count, tail.packed())

    def peek(self) -> Entry | None:
        """Return the entry that `take` would hand out, if it is in memory."""
        if self._ahead is not None:
            self._skip_finished()
        index = self._next
        if index >= self._tail.first:
            self._open = None
            self._buffer = []
            return self._tail.at(index)
        found = self._open.at(index) if self._open is not None else None
        return self._from_chunks(index) if found is None else found

    def _skip_finished(self) -> None:
        while self._ahead is not None and self._next in self._ahead:
            self._next += 1

    def _from_chunks(self, index: int) -> Entry | None:
        """Go on with the chunk that holds a position, if it is in memory."""
        for rows in (self._buffer, self._sealed):
            for number, row in enumerate(rows):
                if row.first <= index < row.first + row.count:
                    self._open = opened(row.data, row.first, row.count, index)
                    self._buffer = rows[number:] if rows is self._buffer else [row]
                    return self._open.at(index)
        return None

    @property
    def missing(self) -> int | None:
        """The position whose chunk has to be read from the store before `peek` can go on, or None."""
        return self._next if not self.exhausted and self.peek() is None else None

    def filled(self, rows: Sequence[ChunkRow]) -> None:
        """Take the chunk that was asked for, and those that follow it."""
        self._open = None
        self._buffer = list(rows)

    def take(self) -> int:
        """Hand out the entry that `peek` showed; returns its index in this lane."""
        index = self._next
        self._next += 1
        return index

    def finish(self, index: int) -> None:
        """Note that an entry has its final result, or was passed to another lane."""
        self._dirty = True
        ahead = self._ahead
        if index != self._cursor:
            if ahead is None:
                ahead = self._ahead = set()
            ahead.add(index)
            return
        self._cursor += 1
        while ahead is not None and self._cursor in ahead:
            ahead.remove(self._cursor)
            self._cursor += 1
        if not ahead:
            self._ahead = None
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
        if self._tail_dirty:
            rows = [*rows, self._tail_row()]
        state = LaneState(
            self.seed_id, self.key.number, self.holder_id, self._cursor, self.length, tuple(sorted(self._ahead or ()))
        )
        self._sealed, self._dirty, self._tail_dirty = [], False, False
        return state, tuple(rows)
