"""ETag and Last-Modified of a page, true or not, and the answer 304 to who knows it already (RFC 9110, section 13)."""

from __future__ import annotations

import math
from email.utils import format_datetime, parsedate_to_datetime
from enum import IntEnum
from typing import NamedTuple

from scrawler.features.synthweb.changes import Clock, PageChanges
from scrawler.features.synthweb.site import mix
from scrawler.features.synthweb.spec import Validators

_LONG_AGO = -1e9  # virtual seconds: when a page that never changes, or says so, was last modified
_YEAR_S = 365 * 86_400.0


class Lie(IntEnum):
    """What a site does that lies."""

    ALWAYS_NEW = 0  # all has been modified just now, with an ETag that no answer had
    NEVER_NEW = 1  # nothing has ever been modified: it answers 304 although the page has changed
    FUTURE = 2  # all will be modified in a year; its ETag is true


class Validator(NamedTuple):
    """What an answer says of its version; empty: nothing."""

    etag: str = ""
    modified: str = ""  # a date as in HTTP

    @property
    def fields(self) -> str:
        """The header fields that say it."""
        etag = f"ETag: {self.etag}\r\n" if self.etag else ""
        return f"{etag}Last-Modified: {self.modified}\r\n" if self.modified else etag

    def is_known(self, if_none_match: str, if_modified_since: str) -> bool:
        """Tell whether a client has this version; a date counts only where it names no ETag."""
        if if_none_match:
            tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
            return bool(self.etag) and ("*" in tags or self.etag in tags)
        if not (if_modified_since and self.modified):
            return False
        try:
            return parsedate_to_datetime(self.modified) <= parsedate_to_datetime(if_modified_since)
        except (ValueError, TypeError):  # no date, or one without a time zone
            return False


def lie_of(seed: int, site: int) -> Lie:
    """Return what a site does where sites lie."""
    return Lie(mix(seed, site, 9) % 3)


def validator_of(kind: Validators, lie: Lie, changes: PageChanges, at: float, clock: Clock, answer: int) -> Validator:
    """Return what the answer to a request for a page says of it at a virtual time; `answer` numbers the answers."""
    if kind is Validators.NONE:
        return Validator()
    last = changes.last(at)
    modified = _LONG_AGO if last == -math.inf else last
    etag = version(changes, at)
    if kind is Validators.LYING:
        if lie is Lie.ALWAYS_NEW:
            modified, etag = at, f"{etag}-{answer}"
        elif lie is Lie.NEVER_NEW:
            modified, etag = _LONG_AGO, "same"
        else:
            modified = at + _YEAR_S
    return Validator(f'"{etag}"', format_datetime(clock.date(modified), usegmt=True))


def version(changes: PageChanges, at: float) -> str:
    """Return the name of what a page is at a virtual time: the time of its last change in milliseconds."""
    last = changes.last(at)
    return "v" if last == -math.inf else f"v{round(last * 1000):x}"
