"""What changed of a URL between two of its visits: a unified diff of its text, or of its body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import pairwise

from scrawler.errors import NotCrawledError, SettingsError
from scrawler.extract.charset import to_utf8
from scrawler.features.revisit.line_diff import unified
from scrawler.insight.answer import utc
from scrawler.insight.contents import NoTextError, PageContent
from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow

_MOST_LINES = 500_000  # of each side
_NO_END = "\n\\ No newline at end of file"  # the words by which patch knows it


def two_visits(rows: Sequence[PageRow], url: str, first: int | None, second: int | None) -> tuple[PageRow, PageRow]:
    """Return two visits with records: the numbers that are given, else the last one that differs, and the one before.

    `rows` come with the newest first. Raises NotCrawledError, SettingsError.
    """
    archived = [row for row in rows if row.warc_file and row.digest]
    if len(archived) < 2:
        raise NotCrawledError(f"{url} has {len(archived)} visits with a record, and two are compared")
    by_number = {row.visit: row for row in archived}
    for number in (first, second):
        if number is not None and number not in by_number:
            known = ", ".join(map(str, sorted(by_number)))
            raise SettingsError(f"visit {number} of {url} has no record; those that have: {known}")
    if first is not None:
        return by_number[first], archived[0] if second is None else by_number[second]
    new = _last_other(archived) if second is None else by_number[second]
    before = [row for row in archived if row.visit < new.visit]
    if not before:
        raise SettingsError(f"visit {new.visit} of {url} is its first one with a record")
    return before[0], new


def _last_other(rows: Sequence[PageRow]) -> PageRow:
    """Return the newest visit that has found a change, else one with other bytes, else the newest of all."""
    for row in rows[:-1]:
        if row.flags & PageFlag.CHANGED:
            return row
    for row, before in pairwise(rows):
        if row.digest != before.digest:
            return row
    return rows[0]


class Compared(Enum):
    """What of two visits is compared."""

    TEXT = "text"  # that a reader sees
    BODY = "body"  # decoded, as text: each in the charset of its page
    BYTES = "bytes"  # the decoded body as it is: each character of a line is a byte


def diff(
    old: PageRow, new: PageRow, read: Callable[[PageRow], PageContent], compared: Compared = Compared.TEXT
) -> Iterator[str]:
    """Yield the lines of a unified diff, none where both are equal.

    Of bodies it is one that `patch` takes. Bytes that are no text in UTF-8 are lone surrogates (surrogateescape).
    Raises RecordsLostError, and NoTextError where the text of what is no text is asked for.
    """
    before, after = (_lines(text, old.url) for text in _texts(old, new, read, compared))
    names = f"{old.url} visit {old.visit}", f"{new.url} visit {new.visit}"
    yield from unified(before, after, names, (utc(old.fetched_at), utc(new.fetched_at)))


def _texts(old: PageRow, new: PageRow, read: Callable[[PageRow], PageContent], compared: Compared) -> tuple[str, str]:
    contents = read(old), read(new)
    if compared is Compared.TEXT:
        before, after = (f"{content.text()}\n" for content in contents)
        return before, after
    bodies = [content.decoded().body for content in contents]
    if compared is Compared.BYTES:
        before, after = (body.decode("latin-1") for body in bodies)
        return before, after
    before, after = (_in_its_charset(content, body) for content, body in zip(contents, bodies, strict=True))
    if before == after and bodies[0] != bodies[1]:  # what differs is no character in that charset
        before, after = (body.decode("utf-8", "surrogateescape") for body in bodies)
    return before, after


def _in_its_charset(content: PageContent, body: bytes) -> str:
    text, charset = to_utf8(body, content.headers.get("content-type", ""))
    if b"\0" in text:
        raise NoTextError(f"{content.page.url} is binary: its visits cannot be compared line by line")
    return (body if charset == "utf-8" else text).decode("utf-8", "surrogateescape")  # a byte order mark stays


def _lines(text: str, url: str) -> list[str]:
    """Return lines without their ends; what makes none of the last one says so, as `patch` wants it."""
    *lines, last = text.split("\n")
    if last:
        lines.append(last + _NO_END)
    if len(lines) > _MOST_LINES:
        raise NoTextError(f"{url} has {len(lines):,} lines: no more than {_MOST_LINES:,} are compared")
    return lines
