"""What a visit says of its URL, for the visits after it."""

from __future__ import annotations

from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.features.revisit.policies.learning import SiteLearning
from scrawler.features.revisit.policies.visit import after_visit
from scrawler.features.revisit.states import PartyVisits
from scrawler.features.revisit.told import Told, spared_state
from scrawler.fetch.downloader import Response
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.visits import UrlState, known_visit


def note_visit(
    flight: PageFlight,
    row: PageRow,
    response: Response | None,
    visits: PartyVisits,
    learning: SiteLearning | None,
    told: Told | None,
    text_print: bytes = b"",
) -> PageRow:
    """Note the state of the URL that an entry names, and what has changed; return its row with flags of that.

    `response` is the answer, if one came; `learning` is taught what the visit shows of its site, and `told` is held
    against it. `text_print` is of its text, if texts are compared.
    """
    site, party, known = flight.site, flight.party, flight.known
    before = known.state if known is not None else None
    if before is not None and row.result == Result.SPARED.value:
        spared = spared_state(before, row.visit, row.fetched_at)
        visits.note(spared, ())
        _forget(site, spared)
        return row
    etag = last_modified = ""
    if response is not None:
        etag, last_modified = (response.headers.get(name, "") for name in ("etag", "last-modified"))
    original = site.archived.get(row.digest) if row.revisit and row.digest else None
    visited = after_visit(
        before,
        row,
        etag,
        last_modified,
        visits.policy,
        in_round=party.seed.round > 0,
        original=None if original is None else (original.url, original.date_ms),
        learning=learning,
        text_print=text_print,
        near=visits.near or 0,
    )
    state = visited.state
    if told is not None and state.flags & PageFlag.CHANGE_LIST and state.due_at > 0:
        state = state._replace(due_at=min(state.due_at, row.fetched_at + told.fresh_ms))
    visits.note(state, visited.changes)
    if told is not None:
        _try_lists(told, flight, visited.row)
    if before is not None and row.result == Result.NOT_MODIFIED.value:
        party.counts.saved += before.length
    _forget(site, state)
    return visited.row


def _forget(site: SiteContext, state: UrlState) -> None:
    """Forget what was known of a URL's visit before, for this one is the last now."""
    if site.visited is not None:
        site.visited.pop(state.url, None)
    if site.latest and state.url in site.latest:
        site.latest[state.url] = known_visit(state)


def _try_lists(told: Told, flight: PageFlight, row: PageRow) -> None:
    """Hold what change lists have said of a URL against what a visit has found."""
    known = flight.known
    if known is None or row.result not in (Result.FETCHED.value, Result.NOT_MODIFIED.value):
        return
    if told.unchanged(row.url_hash, known, row.fetched_at):
        told.tried(bool(row.flags & PageFlag.CHANGED))
