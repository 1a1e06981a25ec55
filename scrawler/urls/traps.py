"""Limits on the shape of a URL, beyond which it most likely leads into a trap: an endless space of made-up pages."""

from __future__ import annotations

from typing import Final, NamedTuple

from scrawler.urls.verdict import Verdict

_BEFORE_PATH: Final = 2  # "http://" has so many slashes
_FOLDERS: Final = 1_024  # folders that a party remembers


class UrlLimits(NamedTuple):
    """What a URL may have at most."""

    segments: int  # most segments of a path
    repeats: int  # most times in a row that a segment, or a row of segments, may stand in a path
    parameters: int  # most parameters of a query


class ShapeJudge:
    """Judges URLs by their shape, and remembers folders in which any file is within the limits."""

    __slots__ = ("_few_slashes", "_good", "limits")

    def __init__(self, limits: UrlLimits) -> None:
        self.limits = limits
        self._few_slashes = _BEFORE_PATH + min(limits.segments, limits.repeats)
        self._good: dict[str, None] = {}  # mostly empty, where it takes a third of what a set takes

    def over(self, url: str) -> Verdict | None:
        """Return which of the limits a normalised URL exceeds; None: none."""
        if "?" in url:
            return over_limit(url, self.limits)
        if url.count("/") <= self._few_slashes:  # most URLs have so few slashes that nothing else has to be asked
            return None
        folder = url[: url.rindex("/")]
        if folder in self._good:
            return None
        verdict = _over_path(url, self.limits)
        if verdict is None and self._is_good(folder):
            if len(self._good) >= _FOLDERS:
                self._good.clear()
            self._good[folder] = None
        return verdict

    def allows_any_in(self, folder: str) -> bool:
        """Whether any file in a folder, given with its last slash, is within the limits, if it has no query."""
        return folder.count("/") <= self._few_slashes or self._is_good(folder[:-1])

    def _is_good(self, folder: str) -> bool:
        """Whether its segments are all different, so that with one more there is one pair of equal ones at most."""
        segments = folder.split("/")[_BEFORE_PATH + 1 :]
        return len(set(segments)) == len(segments) < self.limits.segments and self.limits.repeats > 1


def over_limit(url: str, limits: UrlLimits) -> Verdict | None:
    """Return which of the limits a normalised URL exceeds; None: none.

    As TooManyPathSegmentsDecideRule and PathologicalPathDecideRule of Heritrix; a file name counts as a segment, so
    that an endless path is refused whether or not it ends in a slash.
    """
    return _over_path(url, limits) or _over_query(url, limits)


def _over_path(url: str, limits: UrlLimits) -> Verdict | None:
    segments = _segments(url)
    if len(segments) > limits.segments:
        return Verdict.SEGMENTS
    if len(set(segments)) < len(segments) and _repeats(segments, limits.repeats):
        return Verdict.REPEATS
    return None


def _over_query(url: str, limits: UrlLimits) -> Verdict | None:
    too_many = url.count("&") >= limits.parameters and _parameters(url) > limits.parameters
    return Verdict.PARAMETERS if too_many else None


def _segments(url: str) -> list[str]:
    segments = url.partition("?")[0].split("/")[3:]
    return segments if segments[-1] else segments[:-1]


def _repeats(segments: list[str], limit: int) -> bool:
    """Tell whether a row of segments stands more than `limit` times in a row."""
    length = len(segments)
    for period in range(1, length // (limit + 1) + 1):
        run = 0  # so many segments in a row equal the one that is a period before
        for here, before in zip(segments[period:], segments, strict=False):
            run = run + 1 if here == before else 0
            if run >= period * limit:
                return True
    return False


def _parameters(url: str) -> int:
    query = url.partition("?")[2]
    return sum(1 for part in query.split("&") if part)
