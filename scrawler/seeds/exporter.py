"""The exporter: seeds, candidate seeds and, if asked for, pages of a crawl to a file that is a seed file again."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import NamedTuple, TypeVar

from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.seeds.table_files import Column, Kind, Row, TableWriter
from scrawler.store.claims.seeds import SeedLine, Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.reading.candidates import Candidates, CandidateView
from scrawler.store.reading.page_lists import PageFilter, PageLists, PageView
from scrawler.store.reading.pages import PageLine, Pages
from scrawler.store.reading.traces import Traces


class UrlKind(StrEnum):
    """What an exported URL is to the crawl."""

    SEED = "seed"
    CANDIDATE = "candidate"
    PAGE = "page"


class ExportRow(NamedTuple):
    """One exported URL; the columns of CSV and Parquet and the keys of JSONL (None: unknown, or without meaning)."""

    url: str
    kind: str  # a UrlKind
    state: str | None = None
    end_reason: str | None = None
    hops: int | None = None
    depth: int | None = None
    result: str | None = None
    status: int | None = None
    found: int | None = None  # how often a candidate was found
    seed: str | None = None  # for which a page was fetched
    content_type: str | None = None
    length: int | None = None
    fetched_at: int | None = None
    elapsed_ms: int | None = None
    digest: str | None = None  # SHA-1 of the payload, hexadecimal
    referrer: str | None = None  # the page that listed it first
    warc_file: str | None = None
    warc_offset: int | None = None
    warc_length: int | None = None
    revisit: int | None = None
    columns: str | None = None  # JSON: further columns of a seed in its seed file
    dead_as: str | None = None  # of what a dead seed has died, a Death


_NUMBERS = frozenset(
    ("hops", "depth", "status", "found", "length", "elapsed_ms", "warc_offset", "warc_length", "revisit")
)
T = TypeVar("T")
_row = ExportRow._make
_NOTHING_MORE = (None,) * 13  # of a candidate seed or a page that has no more than a line
_RANKS = tuple(one.value for one in (SeedState.DONE, SeedState.SLOW, SeedState.ACTIVE, SeedState.READY))
_WRITTEN = 2_000  # rows held in memory at a time


def _kind(name: str) -> Kind:
    if name in ("fetched_at", "columns"):
        return Kind.TIME if name == "fetched_at" else Kind.JSON
    return Kind.NUMBER if name in _NUMBERS else Kind.TEXT


COLUMNS = tuple(Column(name, _kind(name)) for name in ExportRow._fields)


@dataclass(frozen=True, slots=True)
class Selection:
    """What to export; with a state or end reason only seeds that have it and, if asked for, their pages."""

    state: SeedState | None = None
    end_reason: EndReason | None = None
    kinds: frozenset[UrlKind] = frozenset((UrlKind.SEED, UrlKind.CANDIDATE))

    @property
    def filtered(self) -> bool:
        """Whether only some seeds are wanted; candidates have no state, so they are left out then."""
        return self.state is not None or self.end_reason is not None


@dataclass(slots=True)
class ExportCounts:
    """How many URLs of each kind were exported."""

    seeds: int = 0
    candidates: int = 0
    pages: int = 0


def export_urls(database: Database, selection: Selection, out: TableWriter, *, urls_alone: bool) -> ExportCounts:
    """Write the selected URLs to `out`, in bounded memory: seeds in order of import, then candidates, then pages.

    Of candidates and pages of which nothing but the URL is written, no more is read.
    """
    counts = ExportCounts()
    kinds = selection.kinds
    if UrlKind.SEED in kinds:
        lines = Seeds(database).lines(selection.state, selection.end_reason)
        counts.seeds = _write(out, _batches(map(_seed_row, lines)))
    if UrlKind.CANDIDATE in kinds and not selection.filtered:
        candidates = _candidate_urls if urls_alone else _all_of_candidates
        counts.candidates = _write(out, candidates(database))
    if UrlKind.PAGE in kinds:
        rows = _page_lines if urls_alone else _page_rows
        counts.pages = _write(out, _batches(_of_seeds(database, selection, partial(rows, database))))
    return counts


def export_merged(
    databases: Sequence[Database], selection: Selection, out: TableWriter, *, urls_alone: bool
) -> ExportCounts:
    """Write what several databases have, each URL once; a hash of each seed and each page is held in memory.

    So agents' databases are one crawl. A seed is as the one shows it that has crawled it, and a page as the first that
    has fetched it; of a candidate the times are added up.
    """
    counts = ExportCounts()
    kinds = selection.kinds
    best = _best_seeds(databases)
    if UrlKind.SEED in kinds:
        for number, database in enumerate(databases):
            lines = Seeds(database).lines(selection.state, selection.end_reason)
            mine = (line for line in lines if best[url_hash(line.url)][1] == number)
            counts.seeds += _write(out, _batches(map(_seed_row, mine)))
    if UrlKind.CANDIDATE in kinds and not selection.filtered:
        found = heapq.merge(*map(_hashed_candidates, databases), key=itemgetter(0))
        merged = (_added_up(rows) for hashed, rows in groupby(found, key=itemgetter(0)) if hashed not in best)
        counts.candidates = _write(out, _batches(merged))
    if UrlKind.PAGE in kinds:
        rows = _page_lines if urls_alone else _page_rows
        seen: set[bytes] = set()
        for database in databases:
            new = (row for row in _of_seeds(database, selection, partial(rows, database)) if _is_new(row.url, seen))
            counts.pages += _write(out, _batches(new))
    return counts


def _best_seeds(databases: Sequence[Database]) -> dict[bytes, tuple[int, int]]:
    """Return which database shows a seed best, by the hash of its URL: (rank, number of the database)."""
    best: dict[bytes, tuple[int, int]] = {}
    for number, database in enumerate(databases):
        for line in Seeds(database).lines(None, None):
            hashed, rank = url_hash(line.url), (_rank(line), number)
            best[hashed] = min(best.get(hashed, rank), rank)
    return best


def _rank(line: SeedLine) -> int:
    if line.end_reason == EndReason.ELSEWHERE:
        return len(_RANKS)
    return _RANKS.index(line.state)


def _hashed_candidates(database: Database) -> Iterator[tuple[bytes, ExportRow]]:
    for views in _batches(Candidates(database).merged()):
        rows = _candidate_rows(Traces(database), views)
        yield from zip((view.url_hash for view in views), rows, strict=True)


def _added_up(found: Iterable[tuple[bytes, ExportRow]]) -> ExportRow:
    rows = [row for _, row in found]
    times = sum(row.found or 0 for row in rows)
    return rows[0]._replace(found=times, hops=min(row.hops or 0 for row in rows))


def _is_new(url: str, seen: set[bytes]) -> bool:
    hashed = url_hash(url)
    if hashed in seen:
        return False
    seen.add(hashed)
    return True


def _write(out: TableWriter, batches: Iterable[Sequence[Row]]) -> int:
    number = 0
    for rows in batches:
        out.write(rows)
        number += len(rows)
    return number


def _batches(rows: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(rows, _WRITTEN)):
        yield batch


def _of_seeds(
    database: Database, selection: Selection, rows: Callable[[int | None], Iterator[ExportRow]]
) -> Iterator[ExportRow]:
    if not selection.filtered:
        yield from rows(None)
        return
    for seed in Seeds(database).list(selection.state, selection.end_reason):
        yield from rows(seed.seed.id)


def _page_lines(database: Database, seed_id: int | None) -> Iterator[ExportRow]:
    return map(_page_line, Pages(database).lines(seed_id))


def _page_rows(database: Database, seed_id: int | None) -> Iterator[ExportRow]:
    return map(_page_row, PageLists(database).all(PageFilter(seed_id)))


# A row by its position takes a third of the time of one with names, and there are millions.


def _seed_row(seed: SeedLine) -> ExportRow:
    url, state, end_reason, hops, columns, dead_as = seed
    known = url, "seed", state, end_reason, hops, None, None, None, None
    return _row((*known, *_NOTHING_MORE[2:], columns or None, dead_as))


def _candidate_urls(database: Database) -> Iterator[list[tuple[str]]]:
    return _batches(zip(Candidates(database).urls(), strict=False))


def _all_of_candidates(database: Database) -> Iterator[list[ExportRow]]:
    return map(partial(_candidate_rows, Traces(database)), _batches(Candidates(database).merged()))


def _candidate_rows(traces: Traces, candidates: list[CandidateView]) -> list[ExportRow]:
    pages = traces.urls(one.referrer for one in candidates)
    return [_candidate_row(one, pages.get(one.referrer)) for one in candidates]


def _candidate_row(candidate: CandidateView, referrer: str | None) -> ExportRow:
    return ExportRow(candidate.url, UrlKind.CANDIDATE, hops=candidate.hops, found=candidate.times, referrer=referrer)


def _page_line(page: PageLine) -> ExportRow:
    url, depth, result, status = page
    return _row((url, "page", None, None, None, depth, result, status, None, *_NOTHING_MORE))


def _page_row(view: PageView) -> ExportRow:
    page, seed, referrer, _ = view
    return _row((
        page.url, "page", None, None, None, page.depth, page.result, page.status, None, seed, page.content_type,
        page.length, page.fetched_at, page.elapsed_ms, page.digest.hex() or None, referrer or None,
        page.warc_file or None, *_place(page.warc_file, page.warc_offset, page.warc_length, page.revisit), None, None,
    ))  # fmt: skip


def _place(warc_file: str, *of_record: int) -> tuple[int | None, ...]:
    """Return what is said of a record; nothing where there is none."""
    return of_record if warc_file else (None,) * len(of_record)
