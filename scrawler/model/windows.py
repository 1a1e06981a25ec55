"""The time of the day in which the owner of a site wants it to be asked, UTC."""

from __future__ import annotations

import re
from typing import NamedTuple

from scrawler.model.terms import Millis

SHORTEST = 30  # minutes: a site that is asked for less of each day would keep its place for nothing
_DAY = 24 * 60  # minutes
_TEXT = re.compile(r"([01]?\d|2[0-3]):([0-5]\d) ?- ?([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


class Window(NamedTuple):
    """Minutes of the day; one that ends before it begins goes over midnight."""

    start: int
    end: int

    @property
    def minutes(self) -> int:
        """How long it is."""
        return (self.end - self.start) % _DAY

    def __str__(self) -> str:
        return f"{self.start // 60:02}:{self.start % 60:02}-{self.end // 60:02}:{self.end % 60:02}"


def read_window(text: str) -> Window | None:
    """Read "02:00-05:00"; None: it is not like that, or too short."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    start, start_minute, end, end_minute = map(int, found.groups())
    window = Window(60 * start + start_minute, 60 * end + end_minute)
    return window if window.minutes >= SHORTEST else None


def until_open(window: Window, now: Millis) -> Millis:
    """Return the milliseconds until a window opens; 0: it is open."""
    minute_ms = 60_000
    since_start = (now - window.start * minute_ms) % (_DAY * minute_ms)
    return 0 if since_start < window.minutes * minute_ms else _DAY * minute_ms - since_start
