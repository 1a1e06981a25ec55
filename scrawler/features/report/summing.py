"""Sections and tables made of sums; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scrawler.insight.results import flag_names
from scrawler.insight.sections import Section, Table
from scrawler.model.results import Result
from scrawler.store.sums.page_classes import DEEPEST, SIZES, TIMES
from scrawler.store.sums.page_sums import KindSum, PageSum
from scrawler.store.sums.reports import Sample
from scrawler.units import format_bytes
from scrawler.urls.verdict import COUNTED_AGAIN, Verdict

MULTIMEDIA = ("image", "audio", "video")
_SUMMED = ("pages", "bytes", "requests", "listed", "retries")
TOTALS = (*_SUMMED, "elapsed_ms")  # counts of seeds that `totals_section` shows
_STATUSES_SHOWN = 30
_SAMPLES_SHOWN = 3  # samples that are shown of each reason
_TARGETS = (Verdict.INTERNAL, Verdict.EXTERNAL, Verdict.SAME_PAGE)


def totals_section(pages: Sequence[PageSum], counts: Mapping[str, int], visited_again: bool = False) -> Section:
    """Return what was asked for and what came, over all; where URLs were `visited_again`, rows are visits."""
    values = page_totals(pages)
    values |= {name: counts[name] for name in _SUMMED} | {"in_work_ms": counts["elapsed_ms"]}
    names = "urls", *_SUMMED, "retried_urls", "first_answer_at", "last_answer_at", "span_ms", "in_work_ms"
    return Section("totals", "Totals", {name: values[name] for name in names}, called=called(visited_again))


def called(visited_again: bool) -> Mapping[str, str]:
    """Return what rows are called that programs know as URLs: each is a visit where URLs were visited again."""
    return {"urls": "visits", "retried_urls": "retried_visits"} if visited_again else {}


def page_totals(pages: Sequence[PageSum]) -> dict[str, Any]:
    """Return what pages alone say of that."""
    first = min((one.first_at for one in pages), default=None)
    last = max((one.last_at for one in pages), default=None)
    return {
        "urls": sum(one.pages for one in pages),
        "pages": sum(one.pages for one in pages if one.result == Result.FETCHED),
        "bytes": sum(one.bytes for one in pages),
        "retried_urls": sum(one.retried for one in pages),
        "first_answer_at": first,
        "last_answer_at": last,
        "span_ms": None if first is None or last is None else last - first,
    }


def results_section(pages: Sequence[PageSum], visited_again: bool = False) -> Section:
    """Return final results, HTTP statuses, flags and depths; where URLs were `visited_again`, those of visits."""
    what, names = "Visits" if visited_again else "URLs", called(visited_again)
    results = [(name, *sums) for name, sums in _added((one.result, one) for one in pages)]
    statuses = [(status, *sums) for status, sums in _added((one.status, one) for one in pages if one.status)]
    flags = [(name, *sums) for name, sums in _added((name, one) for one in pages for name in flag_names(one.flags))]
    by_depth = dict(_added((one.depth, one) for one in pages))
    deepest = max((one.depth for one in pages), default=-1)
    depths = [(f"{n}+" if n == DEEPEST else n, *by_depth.get(n, (0, 0))) for n in range(deepest + 1)]
    columns, shown = ("urls", "bytes"), statuses[:_STATUSES_SHOWN]
    tables = (
        Table("results", f"{what} by final result", ("result", *columns), results, "urls", called=names),
        Table("statuses", f"{what} by HTTP status", ("status", *columns), shown, "urls", called=names),
        Table("depths", f"{what} by depth", ("depth", *columns), depths, "urls", ordered=True, called=names),
        Table("flags", "What else is to be said of pages", ("flag", *columns), flags, called=names),
    )
    return Section("results", "Results", tables=tables)


def content_tables(kinds: Sequence[KindSum]) -> tuple[Table, ...]:
    """Return fetched pages by kind of content, and by size."""
    rows = [(kind, *sums) for kind, sums in _added((one.kind, one) for one in kinds)]
    names = class_names(SIZES, format_bytes)
    media = [one for one in kinds if one.kind in MULTIMEDIA]
    return (
        Table("kinds", "Fetched pages by kind of content", ("kind", "pages", "bytes"), rows, "pages"),
        _distribution("sizes", "Fetched pages by size", "size", ((one.size, one) for one in kinds), names),
        _distribution("media_sizes", "Images, audio, video by size", "size", ((m.size, m) for m in media), names),
    )


def times_table(kinds: Sequence[KindSum]) -> Table:
    """Return fetched pages by response time."""
    names = class_names(TIMES, "{:,} ms".format)
    return _distribution("times", "Fetched pages by response time", "time", ((one.time, one) for one in kinds), names)


def verdicts_table(verdicts: Mapping[str, int]) -> tuple[dict[str, float], Table]:
    """Return the shares of internal and external links, and all verdicts."""
    links = sum(times for verdict, times in verdicts.items() if verdict not in COUNTED_AGAIN)
    shares = {f"{kind.value.replace('-', '_')}_share": verdicts.get(kind, 0) / max(links, 1) for kind in _TARGETS}
    rows = sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))
    return {"links": links, **shares}, Table("verdicts", "Links by verdict", ("verdict", "links"), rows, "links")


def samples_table(samples: Iterable[Sample]) -> Table:
    """Return a few refused links of each reason."""
    kept: dict[str, list[Sample]] = {}
    for sample in samples:
        of_reason = kept.setdefault(sample.reason, [])
        if len(of_reason) < _SAMPLES_SHOWN:
            of_reason.append(sample)
    rows = [tuple(sample) for reason in sorted(kept) for sample in kept[reason]]
    return Table("samples", "Some refused links of each reason", ("reason", "url", "evidence"), rows)


def class_names(bounds: Sequence[int], written: Callable[[int], str]) -> list[str]:
    """Name the classes between bounds: "< 1KB", "< 10KB", ..., ">= 1MB"."""
    return [*(f"< {written(bound)}" for bound in bounds), f">= {written(bounds[-1])}"]


def _distribution(
    key: str, title: str, column: str, sums: Iterable[tuple[int, KindSum]], names: Sequence[str]
) -> Table:
    found = dict(_added(sums))
    rows = [(name, *found.get(index, (0, 0))) for index, name in enumerate(names)] if found else []
    return Table(key, title, (column, "pages", "bytes"), rows, "pages", ordered=True)


def _added(sums: Iterable[tuple[str | int, PageSum | KindSum]]) -> list[tuple[str | int, tuple[int, int]]]:
    """Add up pages and bytes by key; the keys with most pages first."""
    added: dict[str | int, tuple[int, int]] = {}
    for key, one in sums:
        pages, size = added.get(key, (0, 0))
        added[key] = (pages + one.pages, size + one.bytes)
    return sorted(added.items(), key=lambda item: (-item[1][0], str(item[0])))
