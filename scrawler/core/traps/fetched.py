"""A fetched page as the rules of traps see it: the patterns of its URL, and its links as written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from scrawler.urls.hrefs import in_bytes
from scrawler.urls.patterns import Patterns, patterns_of


class FetchedPage(NamedTuple):
    """What is known of a fetched page by its URL and its links."""

    url: str
    hrefs: Sequence[str]
    patterns: Patterns
    group: str  # its kind: all queries of its path, or its own pattern; empty: nothing in it was folded
    links: int | None  # a hash of them as written; None: it has none


NO_PAGE: Final = FetchedPage("", (), Patterns("", ""), "", None)


def fetched_page(url: str, hrefs: Sequence[str]) -> FetchedPage:
    """Read what is to be known of a page."""
    patterns = patterns_of(url)
    links = _hash_of(hrefs) if hrefs else None
    return FetchedPage(url, hrefs, patterns, patterns.queries or patterns.own, links)


def _hash_of(hrefs: Sequence[str]) -> int:
    joined = in_bytes(hrefs)
    return hash(tuple(hrefs)) if joined is None else hash(joined)
