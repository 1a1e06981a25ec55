"""Redirects that never reach an answer: those that lead round in a circle, and those that are too many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scrawler.model.results import Result
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import Last, PageFilter, PageLists
from scrawler.store.reading.traces import Traces
from scrawler.urls.normalise import normalise

REDIRECT_LOOP = "redirect-loop"
TOO_MANY_REDIRECTS = Result.TOO_MANY_REDIRECTS.value
MOST_REDIRECTS = 20  # that browsers follow (Fetch Standard, 4.4)


def endless_redirects(database: Database) -> dict[bytes, str]:
    """Return the URLs whose redirects never reach an answer, by their hashes, and why: one of the reasons above.

    A URL that only leads into a circle is not among them. It takes the hashes of all redirects in memory.
    """
    leads_to = {}
    redirects = PageFilter(results=(Result.REDIRECT.value, Result.TOO_MANY_REDIRECTS.value), last=Last.OF_ALL)
    for view in PageLists(database).all(redirects):
        target = normalise(view.page.detail, view.page.url).url
        if view.page.result == Result.TOO_MANY_REDIRECTS:
            leads_to[view.page.url_hash] = b""  # nobody has asked for it
        elif target:
            leads_to[view.page.url_hash] = url_hash(target)
    found = {key: REDIRECT_LOOP for circle in _circles(leads_to) if _is_closed(database, circle) for key in circle}
    return dict.fromkeys(_long(leads_to), TOO_MANY_REDIRECTS) | found


def _circles(leads_to: Mapping[bytes, bytes]) -> Iterator[list[bytes]]:
    seen: set[bytes] = set()
    for start in leads_to:
        way: dict[bytes, int] = {}
        key = start
        while key in leads_to and key not in seen:
            seen.add(key)
            way[key] = len(way)
            key = leads_to[key]
        if key in way:
            yield list(way)[way[key] :]


def _is_closed(database: Database, circle: list[bytes]) -> bool:
    """Tell whether no URL of a circle has another answer by now, as one behind a cookie gate has."""
    newest = (Traces(database).pages([key])[:1] for key in circle)
    return all(row.result == Result.REDIRECT for rows in newest for row in rows)


def _long(leads_to: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Yield what leads on more often than browsers follow, but in no circle."""
    for start in leads_to:
        key, way = start, {start}
        while (key := leads_to.get(key, b"")) in leads_to and key not in way and len(way) <= MOST_REDIRECTS:
            way.add(key)
        if key not in way and len(way) > MOST_REDIRECTS:
            yield start
