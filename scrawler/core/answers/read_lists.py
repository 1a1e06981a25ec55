"""What the change lists of a site have come to."""

from __future__ import annotations

from scrawler.core.party.flights import PageFlight
from scrawler.core.party.publishing import CHANGE_LIST
from scrawler.core.party.told import Told
from scrawler.extract.sitemaps import Sitemap
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow


def note_list(flight: PageFlight, row: PageRow) -> None:
    """Note whether a list, or a sitemap, could be read: what a change list would have told is not known otherwise."""
    told, known = flight.party.told, flight.known
    if told is None or row.result in (Result.FETCHED.value, Result.REDIRECT.value):
        return
    was_list = known is not None and known.state is not None and bool(known.state.flags & PageFlag.CHANGE_LIST)
    if row.result == Result.NOT_MODIFIED.value:
        if was_list:
            told.note_unchanged(row.fetched_at)
    elif was_list or known is None:
        told.note_failure()


def note_list_read(told: Told, sitemap: Sitemap, row: PageRow) -> None:
    """Note that a list of changes was read; one of which not all was read tells of none."""
    if sitemap.capability != CHANGE_LIST:
        return
    if sitemap.note or row.flags & PageFlag.TRUNCATED:
        told.note_failure()
    else:
        told.note_list(sitemap.since, row.fetched_at)
