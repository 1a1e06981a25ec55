"""What features tell in a report on a crawl: they offer it at the place "report"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from scrawler.insight.sections import Section
from scrawler.model.terms import Millis
from scrawler.store.engines.engine import Database
from scrawler.store.sums.page_sums import PageSum


class Reported(NamedTuple):
    """What a report is on: a seed, or all of a crawl if None, with the sums of its pages.

    With `since` it is on the visits since a time alone.
    """

    database: Database
    seed_id: int | None
    pages: Sequence[PageSum]
    since: Millis = 0


class Added(NamedTuple):
    """A section, and the key of that before which it stands; where there is none, it is the last one."""

    before: str
    section: Section


class Reporter(Protocol):
    """Yields the sections that a feature adds to a report."""

    def __call__(self, asked: Reported, /) -> Iterable[Added]:
        """Raises StoreError."""
        ...


def with_added(sections: Iterable[Section], added: Iterable[Added]) -> tuple[Section, ...]:
    """Return the sections with those that are added, each at its place."""
    made = list(sections)
    for one in added:
        keys = [section.key for section in made]
        place = keys.index(one.before) if one.before in keys else len(made)
        made.insert(place, one.section)
    return tuple(made)
