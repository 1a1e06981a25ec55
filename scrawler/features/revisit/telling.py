"""What `scrawler why` and `scrawler report` say of visits after the first."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scrawler.features.revisit.log import Changes
from scrawler.features.revisit.store.sitemap_words import reported
from scrawler.insight.answer import Fact, utc
from scrawler.insight.reporting import Added, Reported
from scrawler.insight.sections import Section, Table
from scrawler.model.visits import LISTED, NEVER, ChangeKind, UrlState
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.reading.traces import MOST_READ, Traces
from scrawler.store.sums.reports import Reports
from scrawler.units import counted


def facts(database: Database, hashes: Collection[bytes]) -> Iterator[Fact]:
    """Say how often a URL was visited, and when it is due, where that is known."""
    if states := Changes(database).states(hashes):
        rows = len(Traces(database).pages(hashes))
        for state in states:
            yield _visits_fact(state, rows)


def sections(asked: Reported) -> Iterator[Added]:
    """Say what visits have found; of all of a crawl, what they have spared, and what words of sitemaps were worth."""
    numbers = Changes(asked.database).numbers(asked.seed_id, asked.since)
    found = {kind.value: numbers.get(kind.value, 0) for kind in ChangeKind}
    tables: tuple[Table, ...] = ()
    if not asked.since:
        counts = Reports(asked.database).counts(asked.seed_id, ("not_modified", "saved"))
        found = {"not_modified": counts["not_modified"], "saved_bytes": counts["saved"]} | found
        tables = (_sitemaps(asked),)
    yield Added("traps", Section("visits", "Visits after the first", found, tables))


def _sitemaps(asked: Reported) -> Table:
    columns = ("site", "newer_right", "older_right", "changefreq_right", "words")
    seed_id = asked.seed_id
    site_id = None if seed_id is None else Seeds(asked.database).by_ids([seed_id])[seed_id].seed.site_id
    trust = reported(asked.database, site_id)
    rows = [(one.site, *map(_percent, one[1:4]), one.held) for one in trust]
    return Table("sitemaps", "Sitemaps: shares of their words on changes that visits found true", columns, rows)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _visits_fact(state: UrlState, rows: int) -> Fact:
    """Say how often a URL was visited, and when it is due."""
    visits, times = counted(state.visit + 1, "visit"), counted(state.changes, "time")
    lines = [f"{visits} since {utc(state.known_since)}, found changed {times}"]
    if (gone := state.visit + 1 - rows) > 0 and rows < MOST_READ:
        found = counted(gone, "visit that", "visits that")
        lines.append(f"{found} found nothing new went out of the log (keep_visits); their numbers stand in reports")
    if state.changed_at:
        lines.append(f"the last change was found at {utc(state.changed_at)}")
    if state.due_at == LISTED:
        lines.append("it is listed to be visited again")
    elif state.due_at == NEVER:
        lines.append("it is not due by itself: `run --again` visits it, or `--keep` with --revisit")
    else:
        lines.append(f"it is due at {utc(state.due_at)}")
    told = [text for text in (state.etag and f"ETag {state.etag}", state.last_modified) if text]
    if told and state.payload_at:
        lines.append(f"it is asked for only if it changed since {', '.join(told)}")
    names = "visit", "visited_at", "known_since", "changed_at", "changes", "missing", "interval_ms", "etag"
    values = {name: getattr(state, name) for name in (*names, "last_modified")}
    return Fact("visits", tuple(lines), values | {"due_at": state.due_at if state.due_at > 0 else None})
