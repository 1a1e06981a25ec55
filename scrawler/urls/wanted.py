"""Patterns of URLs that the user wants, or does not want: `include` and `exclude`.

They are held against normalised URLs. What a pattern may be is said in `scrawler.model.url_pattern`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic

from scrawler.model.linear import TooLongError
from scrawler.model.url_pattern import REGEX, url_pattern

_PATIENCE = 5.0  # seconds for which regular expressions may be tried on the links of one page


class UrlPatterns:
    """Says which URLs are wanted: those that an `include` fits, if there is any, and no `exclude`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = [(text, url_pattern(text)) for text in include]
        self._exclude = [(text, url_pattern(text)) for text in exclude]
        self._given = tuple(include), tuple(exclude)
        self._regexes = [text for text in (*include, *exclude) if text.startswith(REGEX)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlPatterns) and self._given == other._given

    def __hash__(self) -> int:
        return hash(self._given)

    def refusal(self, url: str) -> str:
        """Return in words why a normalised URL is not wanted, empty if it is."""
        try:
            for text, pattern in self._exclude:
                if pattern.search(url):
                    return f"excluded by {text}"
            if self._include and not any(pattern.search(url) for _, pattern in self._include):
                return f"included by none of {', '.join(text for text, _ in self._include)}"
        except TooLongError as error:
            return f"not tried: a URL of {len(url)} characters may take too long with {REGEX}{error}"
        return ""

    def sift(self, urls: Iterable[str]) -> dict[str, str]:
        """Return the URLs of one page that are not wanted, with the reasons.

        Where regular expressions have taken too long, what is left is not wanted either: a page that somebody has made
        for that costs some seconds, and names them.
        """
        if not self._regexes:
            return {url: words for url in urls if (words := self.refusal(url))}
        found: dict[str, str] = {}
        until = monotonic() + _PATIENCE
        for url in urls:
            words = self.refusal(url) if monotonic() < until else self._too_slow()
            if words:
                found[url] = words
        return found

    def _too_slow(self) -> str:
        tried = ", ".join(self._regexes)
        return f"not tried: for the links before it on its page {_PATIENCE:g} s were too few of {tried}"


def url_patterns(include: Sequence[str], exclude: Sequence[str]) -> UrlPatterns | None:
    """Return what patterns say together; None without any. Raises ValueError for one that cannot be read."""
    return UrlPatterns(include, exclude) if include or exclude else None
