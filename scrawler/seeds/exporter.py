"""The exporter: seeds, candidate seeds and, if asked for, pages of a crawl to a file that is a seed file again."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, NamedTuple

from scrawler.model.seeds import EndReason, SeedState
from scrawler.seeds.files import Format
from scrawler.store.candidates import Candidates, CandidateView
from scrawler.store.pages import PageLine, Pages
from scrawler.store.seeds import SeedLine, Seeds


class ExportRow(NamedTuple):
    """One exported URL; the columns of CSV and the keys of JSONL (None: does not apply)."""

    url: str
    kind: str  # "seed", "candidate" or "page"
    state: str | None = None
    end_reason: str | None = None
    hops: int | None = None
    depth: int | None = None
    result: str | None = None
    status: int | None = None
    found: int | None = None  # how often a candidate was found


_row = ExportRow._make
_WRITTEN = 2_000  # rows held in memory at a time


@dataclass(frozen=True, slots=True)
class Selection:
    """What to export; with a state or end reason only seeds that have it and, if asked for, their pages."""

    state: SeedState | None = None
    end_reason: EndReason | None = None
    pages: bool = False

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


def export_urls(
    seeds: Seeds, candidates: Candidates, pages: Pages, selection: Selection, out: IO[str], written: Format
) -> ExportCounts:
    """Write the selected URLs to `out`, in bounded memory: seeds in order of import, then candidates, then pages."""
    write = _writer(out, written)
    counts = ExportCounts()
    for rows in _batches(map(_seed_row, seeds.lines(selection.state, selection.end_reason))):
        counts.seeds += len(rows)
        write(rows)
    if not selection.filtered:
        for rows in _batches(map(_candidate_row, candidates.merged())):
            counts.candidates += len(rows)
            write(rows)
    if selection.pages:
        for rows in _batches(map(_page_row, _pages(seeds, pages, selection))):
            counts.pages += len(rows)
            write(rows)
    return counts


def _batches(rows: Iterator[ExportRow]) -> Iterator[list[ExportRow]]:
    while batch := list(islice(rows, _WRITTEN)):
        yield batch


def _pages(seeds: Seeds, pages: Pages, selection: Selection) -> Iterator[PageLine]:
    if not selection.filtered:
        yield from pages.lines()
        return
    for seed in seeds.list(selection.state, selection.end_reason):
        yield from pages.lines(seed.seed.id)


# A row by its position takes a third of the time of one with names, and there are millions.


def _seed_row(seed: SeedLine) -> ExportRow:
    url, state, end_reason, hops = seed
    return _row((url, "seed", state, end_reason, hops, None, None, None, None))


def _candidate_row(candidate: CandidateView) -> ExportRow:
    return _row((candidate.url, "candidate", None, None, candidate.hops, None, None, None, candidate.times))


def _page_row(page: PageLine) -> ExportRow:
    url, depth, result, status = page
    return _row((url, "page", None, None, None, depth, result, status, None))


def _writer(out: IO[str], written: Format) -> Callable[[list[ExportRow]], object]:
    """Return what writes a batch of rows."""
    if written is Format.CSV:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(ExportRow._fields)
        return table.writerows
    if written is Format.JSONL:
        return lambda rows: out.write("".join(map(_json_line, rows)))
    return lambda rows: out.write("".join([f"{row.url}\n" for row in rows]))


def _json_line(row: ExportRow) -> str:
    return (
        json.dumps({name: value for name, value in zip(ExportRow._fields, row, strict=True) if value is not None})
        + "\n"
    )
