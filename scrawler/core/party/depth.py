"""Depth URL Buffer and Depth URL File: a party's URLs as an append-only list with a cursor (a lane).

The newest entries stand in the tail; a full tail becomes a numbered, compressed, immutable chunk (the file), and
leaves memory once it is durable. What is read next is in memory as well (the buffer), up to as many entries as the
setting `depth_buffer` says, read back several chunks at a time. So a list of any length needs little memory, and a
checkpoint writes no more than what is new and the chunk that is not yet full: a whole buffer of 1,024 entries took
767 us of each checkpoint, one of 128 takes 40.

Entries are kept as the lines of their chunks, which are compressed but for the tail and the chunk that is read, where
URLs stand without the origin that nearly all of a site have in common: as objects 200 URLs took 40 KB of each site.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final

from scrawler.archive.gzipping import zlib_stream
from scrawler.model.lanes import CHUNK_ENTRIES, ChunkRow, LaneKey, LaneKind, LaneState, lane_key
from scrawler.model.terms import Millis
from scrawler.model.visits import KnownVisit
from scrawler.tuples.classes import NamedTuple
from scrawler.tuples.quick import quick

_OPENED = 32  # entries of a chunk that are unpacked at a time
DEPTH_BUFFER = 1024  # entries of a lane that are read at a time, and kept in memory to be read, unless the user says so


class EntryRole(Enum):
    """What a URL was listed as."""

    PAGE = auto()
    ASSET = auto()  # an image, script or style of a page
    SITEMAP = auto()


_PAGE: Final = EntryRole.PAGE


@quick
class Entry(NamedTuple):
    """One listed URL; `position` is where it stands in the lister's lane of its role, `not_before` UTC milliseconds.

    `depth` counts links from the seed's URL; that of a sitemap is one more for each index between. `referrer` is the
    hash of the URL of the page that listed it first, empty where none did.
    """

    url: str
    depth: int
    position: int
    not_before: Millis = 0
    role: EntryRole = EntryRole.PAGE
    referrer: bytes = b""

    @property
    def stored_depth(self) -> int:
        """The depth as chunks have it: for an asset, which is never the seed's URL itself, it is negative."""
        return -self.depth if self.role is EntryRole.ASSET else self.depth

    @property
    def stored_position(self) -> int:
        """The position as chunks and page rows have it: -1, -2, ... for a sitemap."""
        return -1 - self.position if self.role is EntryRole.SITEMAP else self.position


def stored_entry(url: str, depth: int, position: int, not_before: Millis = 0, referrer: bytes = b"") -> Entry:
    """Return an entry of its stored numbers.

    So its role goes with it through all lanes, chunks and machines, and where there are pages alone it costs nothing.
    """
    if position < 0:
        return Entry(url, depth, -1 - position, not_before, EntryRole.SITEMAP, referrer)
    if depth < 0:
        return Entry(url, -depth, position, not_before, EntryRole.ASSET, referrer)
    return Entry(url, depth, position, not_before, _PAGE, referrer)


def encode(entries: list[Entry]) -> bytes:
    """Pack entries for a chunk row: a line each, compressed (normalised URLs hold neither space nor newline).

    A line is depth, position, time, referrer and URL, or the URL alone where the rest follows from the line before:
    the same depth and referrer, the next position, and no time. So the URLs that a page brings have its hash once, as
    hexadecimal digits; it stands in no line of a URL that no page has listed, as in all lines of schema 4 and before.
    """
    lines = _Lines(0)
    for entry in entries:
        lines.append(entry)
    return lines.packed()


def decode(data: bytes) -> list[Entry]:
    """Unpack what `encode` packed."""
    return list(_Lines(0, zlib.decompress(data)))


def decode_urls(data: bytes) -> Iterator[str]:
    """Yield only the URLs of a chunk, for rebuilding a seen filter."""
    for line in zlib.decompress(data).decode().split("\n"):
        yield line.rpartition(" ")[2]


def find(data: bytes, url: str) -> tuple[int, Entry] | None:
    """Return the entry of a URL in a chunk, and where it stands there."""
    if url.encode() not in zlib.decompress(data):  # cheaper than to unpack all of it
        return None
    return next(((at, entry) for at, entry in enumerate(decode(data)) if entry.url == url), None)


_Told = tuple[int, int, bytes]  # depth and position of an entry as they are stored, and its referrer
_NOTHING_TOLD: _Told = (0, 0, b"")


def _told(words: Sequence[str]) -> _Told:
    """Return what a line tells that has more words than the URL; these are the ones before it."""
    return int(words[0]), int(words[1]), bytes.fromhex(words[3]) if len(words) > 3 else b""


def _origin_of(url: str) -> str:
    end = url.find("/", 8)  # behind https://
    return url[:end] if end > 0 else ""


def _without(origin: str, text: bytes) -> bytes:
    """Return lines whose URLs of an origin begin with their path, as no other word of a line does."""
    begin = f"{origin}/".encode()
    short = text.replace(b"\n" + begin, b"\n/").replace(b" " + begin, b" /")
    return short[len(begin) - 1 :] if short.startswith(begin) else short


def _with(origin: str, text: bytes) -> bytes:
    """Return lines with whole URLs, as chunks have them."""
    begin = f"{origin}/".encode()
    whole = text.replace(b"\n/", b"\n" + begin).replace(b" /", b" " + begin)
    return begin[:-1] + whole if whole.startswith(b"/") else whole


class _Lines:
    """Entries that follow each other in a lane, as the lines of a chunk: it grows at its end, and is read in order.

    URLs of one origin stand in it without that. It is as given, or that of the first URL.
    """

    __slots__ = (
        "_before",
        "_depth",
        "_last",
        "_next",
        "_offset",
        "_position",
        "_referrer",
        "_shown",
        "_text",
        "count",
        "first",
        "origin",
    )

    def __init__(self, first: int, packed: bytes = b"", before: _Told = _NOTHING_TOLD, origin: str = "") -> None:
        self.first = first  # position in the lane
        self.origin = origin or _origin_of(packed.partition(b"\n")[0].rpartition(b" ")[2].decode())
        packed = _without(self.origin, packed) if packed and self.origin else packed
        self._text = bytearray(packed)  # each line ends with a newline
        self._before = before  # of the entry before, which the first line may follow
        self._last: _Told | None = None  # of the last entry, where one was appended
        self._rewind()
        if packed:
            self._text += b"\n"
        self.count = self._text.count(b"\n")

    def _rewind(self) -> None:
        self._next, self._offset = self.first, 0  # what is read next, and where it begins
        self._depth, self._position, self._referrer = self._before
        self._shown: Entry | None = None  # the entry before

    @property
    def end(self) -> int:
        """The position in the lane behind its last entry."""
        return self.first + self.count

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        url, depth, position, not_before, role, referrer = entry
        if role is not _PAGE:
            depth, position = entry.stored_depth, entry.stored_position
        url = self._short(url)
        if self._last == (depth, position - 1, referrer) and not not_before:
            line = f"{url}\n"
        elif referrer:
            line = f"{depth} {position} {not_before} {referrer.hex()} {url}\n"
        else:
            line = f"{depth} {position} {not_before} {url}\n"
        last = depth, position, referrer
        self._text += line.encode()  # whole or not at all, and nothing behind it raises
        self._last = last
        self.count += 1

    def extend(self, urls: Sequence[str], depth: int, position: int, role: EntryRole, referrer: bytes) -> None:
        """Add URLs of pages, or of assets, all at one depth and of one page, from a position on."""
        self.origin = self.origin or _origin_of(urls[0])
        more = _without(self.origin, "".join([f"{url}\n" for url in urls[1:]]).encode())
        first = Entry(urls[0], depth, position, 0, role, referrer)
        last = first.stored_depth, position + len(urls) - 1, referrer
        self.append(first)
        try:
            self._text += more
        except MemoryError:
            self.cut(1)
            raise
        self._last = last
        self.count += len(urls) - 1

    def cut(self, entries: int) -> None:
        """Take the last entries out again."""
        end = len(self._text)
        for _ in range(entries):
            end = self._text.rfind(b"\n", 0, end - 1) + 1
        del self._text[end:]
        self._last = None  # so that the next line says all of its entry
        self.count -= entries

    def packed(self) -> bytes:
        """Return all entries as a chunk row holds them."""
        return zlib_stream(_with(self.origin, bytes(self._text[:-1])))

    def _short(self, url: str) -> str:
        """Return how a URL stands in a line."""
        self.origin = self.origin or _origin_of(url)
        end = len(self.origin)
        return url[end:] if url[end : end + 1] == "/" and url.startswith(self.origin) else url

    def at(self, index: int) -> Entry | None:
        """Return the entry at a position in the lane; None if it is not here."""
        if index == self._next - 1:
            return self._shown
        if not self.first <= index < self.first + self.count:
            return None
        if index < self._next:
            self._rewind()
        while self._next <= index:
            self._read()
        return self._shown

    def part(self, index: int) -> _Lines:
        """Return the entry at a position in the lane and those that follow it, as many as are unpacked at a time."""
        text, begin = self._text, 0
        for _ in range(index - self.first):
            begin = text.index(10, begin) + 1
        end = begin
        for _ in range(min(_OPENED, self.end - index)):
            end = text.index(10, end) + 1
        return _Lines(index, bytes(text[begin : end - 1]), self._told_before(begin), self.origin)

    def _told_before(self, offset: int) -> _Told:
        """Return what holds for the entry whose line ends at an offset: what the last line tells that does, and on."""
        text = self._text
        url = text.rfind(b" ", 0, offset) + 1
        if not url:
            depth, position, referrer = self._before
            return depth, position + text.count(b"\n", 0, offset), referrer
        depth, position, referrer = _told(text[text.rfind(b"\n", 0, url) + 1 : url].decode().split())
        return depth, position + text.count(b"\n", url, offset) - 1, referrer

    def _read(self) -> None:
        text, begin = self._text, self._offset
        end = text.index(10, begin)
        url = text[begin:end].decode()
        self._offset = end + 1
        self._next += 1
        self._position += 1
        not_before = 0
        if " " in url:
            *words, url = url.split(" ")
            self._depth, self._position, self._referrer = _told(words)
            not_before = int(words[2])
        if url[0] == "/":
            url = self.origin + url
        self._shown = stored_entry(url, self._depth, self._position, not_before, self._referrer)

    def __iter__(self) -> Iterator[Entry]:
        """Yield all entries, from the first one."""
        for index in range(self.first, self.end):
            entry = self.at(index)
            assert entry is not None
            yield entry


def _turn_of(key: LaneKey) -> LaneKind:
    """Return as which kind a lane has its turn: what failed at a further visit waits as what failed at a first one."""
    if key.kind is LaneKind.REVISIT and key.pushbacks:
        return LaneKind.PUSHED_BACK
    if key.kind is LaneKind.REVISIT and key.retries:
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
        "reads_lists",
        "refetches",
        "revisits",
        "seed_id",
        "slow",
        "turn",
        "visited",
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
        self.length = state.length
        self.loading = False  # a chunk is on its way from the store
        self._cursor = state.cursor
        self._next = state.cursor
        self._ahead = set(state.ahead) if state.ahead else None  # finished ones beyond the cursor
        self._most = depth_buffer  # entries of the buffer
        self._sealed: list[ChunkRow] = []  # full chunks no delta has taken yet
        self._buffer: list[ChunkRow] = []  # chunks that are read next, without a gap: the Depth URL Buffer
        self._open: _Lines | None = None  # what is being read, a part of the first of them
        self._tail = _Lines(state.length)
        self._seq = 0
        self._dirty = False
        self._tail_dirty = False
        if tail is not None:
            self._continue_after(tail)

    def _continue_after(self, tail: ChunkRow) -> None:
        if tail.count < CHUNK_ENTRIES:
            self._tail, self._seq = _Lines(tail.first, zlib.decompress(tail.data)), tail.seq
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

    @property
    def in_work(self) -> bool:
        """Whether an entry was handed out that is not finished."""
        return self._cursor < self._next

    @property
    def in_memory(self) -> int:
        """Entries that are kept in memory, but for chunks that no delta has taken yet."""
        return sum(row.count for row in self._buffer) + self._tail.count

    def append(self, url: str, depth: int, role: EntryRole = EntryRole.PAGE, referrer: bytes = b"") -> None:
        """List a URL at the end."""
        self.append_entry(Entry(url, depth, self.length, 0, role, referrer))

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
    ) -> None:
        """List URLs of pages, or of assets, at the end, all at one depth and found on one page.

        `position` is that of the first of them, where they are not counted by the length of the lane.
        """
        listed, before = 0, self.length if position is None else position
        while listed < len(urls):
            more = urls[listed : listed + CHUNK_ENTRIES - self._tail.count]
            self._tail.extend(more, depth, before + listed, role, referrer)
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
        row, tail, seq = self._tail_row(), _Lines(end, origin=self._tail.origin), self._seq + 1
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
                    self._open = _Lines(row.first, zlib.decompress(row.data)).part(index)
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
