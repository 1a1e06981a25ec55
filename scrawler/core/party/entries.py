"""Entries of lanes, and how they stand in memory and in chunks: as lines.

They are compressed in chunks, but for the tail and the chunk that is read, where URLs stand without the origin that
nearly all of a site have in common: as objects 200 URLs took 40 KB of each site.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from scrawler.archive.gzipping import from_zlib_stream, zlib_stream
from scrawler.model.terms import Millis

_OPENED = 32  # entries of a chunk that are unpacked at a time


class EntryRole(Enum):
    """What a URL was listed as."""

    PAGE = auto()
    ASSET = auto()  # an image, script or style of a page
    SITEMAP = auto()


_PAGE: Final = EntryRole.PAGE


class Entry(NamedTuple):
    """One listed URL; `position` is where it stands in the lister's lane of its role, `not_before` UTC milliseconds.

    `depth` counts links from the seed's URL; that of a sitemap is one more for each index between. `referrer` is the
    hash of the URL of the page that listed it first, empty where none did. `hops` counts the redirects in a row that
    have led to it: each has the depth of what redirects, and only this number ends a chain of them.
    """

    url: str
    depth: int
    position: int
    not_before: Millis = 0
    role: EntryRole = EntryRole.PAGE
    referrer: bytes = b""
    hops: int = 0

    @property
    def stored_depth(self) -> int:
        """The depth as chunks have it: for an asset, which is never the seed's URL itself, it is negative."""
        return -self.depth if self.role is EntryRole.ASSET else self.depth

    @property
    def stored_position(self) -> int:
        """The position as chunks and page rows have it: -1, -2, ... for a sitemap."""
        return -1 - self.position if self.role is EntryRole.SITEMAP else self.position


def stored_entry(
    url: str, depth: int, position: int, not_before: Millis = 0, referrer: bytes = b"", hops: int = 0
) -> Entry:
    """Return an entry of its stored numbers.

    So its role goes with it through all lanes, chunks and machines, and where there are pages alone it costs nothing.
    """
    if position < 0:
        return Entry(url, depth, -1 - position, not_before, EntryRole.SITEMAP, referrer, hops)
    if depth < 0:
        return Entry(url, -depth, position, not_before, EntryRole.ASSET, referrer, hops)
    return Entry(url, depth, position, not_before, _PAGE, referrer, hops)


def encode(entries: list[Entry]) -> bytes:
    """Pack entries for a chunk row: a line each, compressed (normalised URLs hold neither space nor newline).

    A line is depth, position, time, referrer and URL, or the URL alone where the rest follows from the line before:
    the same depth and referrer, the next position, and no time. So the URLs that a page brings have its hash once, as
    hexadecimal digits; it stands in no line of a URL that no page has listed, as in all lines of schema 4 and before.
    Where redirects have led to the URL, their number stands behind the referrer, which may be empty then: a program
    that does not know of it passes it by.
    """
    lines = Lines(0)
    for entry in entries:
        lines.append(entry)
    return lines.packed()


def decode(data: bytes) -> list[Entry]:
    """Unpack what `encode` packed."""
    return list(Lines(0, zlib.decompress(data)))


def decode_urls(data: bytes) -> Iterator[str]:
    """Yield only the URLs of a chunk, for rebuilding a seen filter."""
    for line in zlib.decompress(data).decode().split("\n"):
        yield line.rpartition(" ")[2]


def find(data: bytes, url: str) -> tuple[int, Entry] | None:
    """Return the entry of a URL in a chunk, and where it stands there."""
    if url.encode() not in zlib.decompress(data):  # cheaper than to unpack all of it
        return None
    return next(((at, entry) for at, entry in enumerate(decode(data)) if entry.url == url), None)


_Told = tuple[int, int, bytes, int]  # depth and position of an entry as they are stored, its referrer and its hops
_NOTHING_TOLD: _Told = (0, 0, b"", 0)


def _told(words: Sequence[str]) -> _Told:
    """Return what a line tells that has more words than the URL; these are the ones before it."""
    referrer = bytes.fromhex(words[3]) if len(words) > 3 else b""
    hops = int(words[4]) if len(words) > 4 else 0
    return int(words[0]), int(words[1]), referrer, hops


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


def _told_before(text: bytes, offset: int) -> _Told:
    """Return what holds for the entry whose line ends at an offset: what the last line tells that does, and on."""
    url = text.rfind(b" ", 0, offset) + 1
    if not url:
        return _NOTHING_TOLD
    depth, position, referrer, hops = _told(text[text.rfind(b"\n", 0, url) + 1 : url - 1].decode().split(" "))
    return depth, position + text.count(b"\n", url, offset) - 1, referrer, hops


class Lines:
    """Entries that follow each other in a lane, as the lines of a chunk: it grows at its end, and is read in order.

    URLs of one origin stand in it without that. It is as given, or that of the first URL.
    """

    __slots__ = (
        "_before",
        "_depth",
        "_hops",
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
        self._text = bytearray(packed + b"\n" if packed else b"")  # each line ends with a newline
        self._before = before  # of the entry before, which the first line may follow
        self._last: _Told | None = None  # of the last entry, where one was appended
        self._rewind()
        self.count = self._text.count(b"\n")

    def _rewind(self) -> None:
        self._next, self._offset = self.first, 0  # what is read next, and where it begins
        self._depth, self._position, self._referrer, self._hops = self._before
        self._shown: Entry | None = None  # the entry before

    @property
    def end(self) -> int:
        """The position in the lane behind its last entry."""
        return self.first + self.count

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        url, depth, position, not_before, role, referrer, hops = entry
        if role is not _PAGE:
            depth, position = entry.stored_depth, entry.stored_position
        url = self._short(url)
        if self._last == (depth, position - 1, referrer, hops) and not not_before:
            line = f"{url}\n"
        elif hops:
            line = f"{depth} {position} {not_before} {referrer.hex()} {hops:02} {url}\n"
        elif referrer:
            line = f"{depth} {position} {not_before} {referrer.hex()} {url}\n"
        else:
            line = f"{depth} {position} {not_before} {url}\n"
        last = depth, position, referrer, hops
        self._text += line.encode()  # whole or not at all, and nothing behind it raises
        self._last = last
        self.count += 1

    def extend(
        self, urls: Sequence[str], depth: int, position: int, role: EntryRole, referrer: bytes, hops: int = 0
    ) -> None:
        """Add URLs of pages, or of assets, all at one depth and of one page, from a position on."""
        self.origin = self.origin or _origin_of(urls[0])
        more = _without(self.origin, "".join([f"{url}\n" for url in urls[1:]]).encode())
        first = Entry(urls[0], depth, position, 0, role, referrer, hops)
        last = first.stored_depth, position + len(urls) - 1, referrer, hops
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
            self._depth, self._position, self._referrer, self._hops = _told(words)
            not_before = int(words[2])
        if url[0] == "/":
            url = self.origin + url
        self._shown = stored_entry(url, self._depth, self._position, not_before, self._referrer, self._hops)

    def __iter__(self) -> Iterator[Entry]:
        """Yield all entries, from the first one."""
        for index in range(self.first, self.end):
            entry = self.at(index)
            assert entry is not None
            yield entry


def opened(chunk: bytes, first: int, count: int, index: int) -> Lines:
    """Return the entry at a position in the lane and those that follow it, as many as are unpacked at a time.

    `chunk` is what `encode` packed, so many entries from position `first` on.
    """
    text = from_zlib_stream(chunk) + b"\n"
    begin = 0
    for _ in range(index - first):
        begin = text.index(10, begin) + 1
    end = begin
    for _ in range(min(_OPENED, first + count - index)):
        end = text.index(10, end) + 1
    return Lines(index, text[begin : end - 1], _told_before(text, begin))
