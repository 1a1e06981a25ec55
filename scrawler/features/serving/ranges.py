"""What a request asks for of a resource: whether it has changed at all, and which bytes of it (RFC 9110, 13 and 14)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from typing import NamedTuple

from scrawler.dates import mail_date

_RANGE = re.compile(r"bytes\s*=\s*(?:(\d{1,18})\s*-\s*(\d{1,18})?|-\s*(\d{1,18}))\s*", re.IGNORECASE)
_TAG = re.compile(r'(?:W/)?"[^"]*"')
_LONGEST = 8_192  # characters of a header that is looked at


class Part(NamedTuple):
    """Bytes `first` up to, and without, `end`."""

    first: int
    end: int


UNSATISFIABLE = Part(-1, -1)


def http_date(millis: int) -> str:
    """Write a date as HTTP headers have it: whole seconds."""
    return formatdate(millis // 1000, usegmt=True)


def is_unchanged(headers: Mapping[str, str], etag: str, changed_at: int) -> bool:
    """Tell whether whoever asks has what there is: by its entity tag or, without that, by the date."""
    tags = headers.get("if-none-match")
    if tags is not None:
        if tags.strip() == "*":
            return True
        return len(tags) <= _LONGEST and any(_opaque(tag) == _opaque(etag) for tag in _TAG.findall(tags))
    since = mail_date(headers.get("if-modified-since", "")) if changed_at else None
    return since is not None and changed_at // 1000 * 1000 <= since


def refused(headers: Mapping[str, str], etag: str, changed_at: int) -> bool:
    """Tell whether an answer is wanted only of what is not there any more (RFC 9110, 13.1.1 and 13.1.4)."""
    tags = headers.get("if-match")
    if tags is not None:
        if tags.strip() == "*":
            return False
        return len(tags) > _LONGEST or etag not in _TAG.findall(tags)  # a weak tag is never the same here
    since = mail_date(headers.get("if-unmodified-since", "")) if changed_at else None
    return since is not None and changed_at // 1000 * 1000 > since


def unsent(headers: Mapping[str, str], etag: str, changed_at: int) -> int:
    """Return the status by which a request is answered without a body, by its conditions; 0: with one."""
    if refused(headers, etag, changed_at):
        return 412
    return 304 if is_unchanged(headers, etag, changed_at) else 0


def wanted_part(headers: Mapping[str, str], size: int, etag: str, changed_at: int) -> Part | None:
    """Return which bytes are asked for; None for all of them, UNSATISFIABLE where there are none such.

    Of several ranges none is heeded: a server may answer with all, and many small ones cost it more than they save.
    """
    match = _RANGE.fullmatch(headers.get("range", ""))
    if match is None or not _applies(headers.get("if-range"), etag, changed_at):
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        length = min(int(suffix), size)
        return Part(size - length, size) if length else UNSATISFIABLE
    begin = int(first)
    if begin >= size:
        return UNSATISFIABLE
    if last is None:
        return Part(begin, size)
    return Part(begin, min(int(last) + 1, size)) if int(last) >= begin else None


def _applies(if_range: str | None, etag: str, changed_at: int) -> bool:
    """Tell whether a part is of what whoever asks has of it already; a weak tag, or another date, says no."""
    if if_range is None:
        return True
    if if_range.strip().startswith('"'):
        return if_range.strip() == etag
    return if_range.strip() == http_date(changed_at)


def _opaque(tag: str) -> str:
    return tag.removeprefix("W/")
