"""The exporter: seeds, candidate seeds and, if asked for, pages of a crawl to a file that is a seed file again."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, NamedTuple

from scrawler.model import EndReason, PageRow, SeedState
from scrawler.seeds.files import Format
from scrawler.store.candidates import Candidates, CandidateView
from scrawler.store.pages import Pages
from scrawler.store.seeds import Seeds, SeedView


class ExportRow(NamedTuple):
    """One exported URL; the columns of CSV and the keys of JSONL (None: does not apply)."""

    url: str
    kind: str  # seed, candidate, page
    state: str | None = None
    end_reason: str | None = None
    hops: int | None = None
    depth: int | None = None
    result: str | None = None
    status: int | None = None
    found: int | None = None  # times a candidate was found


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
    for seed in seeds.list(selection.state, selection.end_reason):
        counts.seeds += 1
        write(_seed_row(seed))
    if not selection.filtered:
        for candidate in candidates.merged():
            counts.candidates += 1
            write(_candidate_row(candidate))
    if selection.pages:
        for page in _pages(seeds, pages, selection):
            counts.pages += 1
            write(_page_row(page))
    return counts


def _pages(seeds: Seeds, pages: Pages, selection: Selection) -> Iterator[PageRow]:
    if not selection.filtered:
        yield from pages.all()
        return
    for seed in seeds.list(selection.state, selection.end_reason):
        yield from pages.of_seed(seed.seed.id)


def _seed_row(view: SeedView) -> ExportRow:
    seed = view.seed
    return ExportRow(seed.url, "seed", seed.state.value, seed.end_reason and seed.end_reason.value, seed.hops)


def _candidate_row(candidate: CandidateView) -> ExportRow:
    return ExportRow(candidate.url, "candidate", hops=candidate.hops, found=candidate.times)


def _page_row(page: PageRow) -> ExportRow:
    return ExportRow(page.url, "page", depth=page.depth, result=page.result, status=page.status)


def _writer(out: IO[str], written: Format) -> Callable[[ExportRow], object]:
    if written is Format.CSV:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(ExportRow._fields)
        return table.writerow
    if written is Format.JSONL:
        return lambda row: out.write(_json_line(row))
    return lambda row: out.write(row.url + "\n")


def _json_line(row: ExportRow) -> str:
    return json.dumps({name: value for name, value in row._asdict().items() if value is not None}) + "\n"
