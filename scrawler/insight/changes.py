"""What changed of a URL between two of its visits: a unified diff of its text, or of its body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from scrawler.errors import NotCrawledError, SettingsError
from scrawler.insight.answer import utc
from scrawler.insight.contents import NoTextError, PageContent
from scrawler.insight.line_diff import unified
from scrawler.model.rows import PageRow

_MOST_LINES = 500_000  # of each side


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
    """Return the newest visit whose payload is another one than that before it, else the newest of all."""
    for row, before in pairwise(rows):
        if row.digest != before.digest:
            return row
    return rows[0]


def diff(old: PageRow, new: PageRow, read: Callable[[PageRow], PageContent], of_body: bool = False) -> Iterator[str]:
    """Yield the lines of a unified diff, none where both are equal: of the visible text, or of the decoded bodies.

    Raises RecordsLostError, and NoTextError where the text of what is no text is asked for.
    """
    before, after = (_lines(read(row), of_body) for row in (old, new))
    names = f"{old.url} visit {old.visit}", f"{new.url} visit {new.visit}"
    yield from unified(before, after, names, (utc(old.fetched_at), utc(new.fetched_at)))


def _lines(content: PageContent, of_body: bool) -> list[str]:
    if of_body:
        body = content.decoded().body
        if b"\0" in body:
            raise NoTextError(f"{content.page.url} is binary: its visits cannot be compared line by line")
        text = body.decode("utf-8", "replace")
    else:
        text = content.text()
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise NoTextError(f"{content.page.url} has {len(lines):,} lines: no more than {_MOST_LINES:,} are compared")
    return lines
