"""Sums of pages and links as sections and tables."""

from __future__ import annotations

from scrawler.features.report.summing import (
    class_names,
    content_tables,
    results_section,
    samples_table,
    totals_section,
    verdicts_table,
)
from scrawler.insight.sections import Section, Table
from scrawler.model.results import PageFlag
from scrawler.model.seeds import SeedCounts
from scrawler.store.sums.page_classes import DEEPEST
from scrawler.store.sums.page_sums import KindSum, PageSum
from scrawler.store.sums.reports import Sample

PAGES = [
    PageSum("fetched", 200, 0, 0, 0, 1, 100, 0, 1_000, 1_000, 1),
    PageSum("fetched", 200, 2, PageFlag.NOINDEX | PageFlag.SLOW, 1, 3, 300, 2, 2_000, 9_000, 2),
    PageSum("http-error", 404, 2, 0, 0, 2, 20, 0, 500, 600, 3),
    PageSum("robots-denied", 0, 1, 0, 0, 5, 0, 0, 700, 700, 4),
]


def table(section: Section, key: str) -> Table:
    return next(table for table in section.tables if table.key == key)


def test_results_statuses_depths_and_flags() -> None:
    section = results_section(PAGES)
    assert table(section, "results").rows == [("robots-denied", 5, 0), ("fetched", 4, 400), ("http-error", 2, 20)]
    assert table(section, "statuses").rows == [(200, 4, 400), (404, 2, 20)]
    assert table(section, "depths").rows == [(0, 1, 100), (1, 5, 0), (2, 5, 320)]
    assert sorted(table(section, "flags").rows) == [("noindex", 3, 300), ("slow", 3, 300)]


def test_depths_without_pages_are_gaps_and_the_deepest_are_one() -> None:
    deep = results_section([PAGES[0], PAGES[0]._replace(depth=DEEPEST)])
    rows = table(deep, "depths").rows
    assert len(rows) == DEEPEST + 1
    assert rows[1] == (1, 0, 0)
    assert rows[-1] == (f"{DEEPEST}+", 1, 100)
    assert not list(results_section([]).filled)


def test_totals() -> None:
    counts = dict.fromkeys(SeedCounts.__dataclass_fields__, 0) | {"elapsed_ms": 5, "pages": 4}
    values = totals_section(PAGES, counts).values
    assert (values["urls"], values["pages"], values["retried_urls"]) == (11, 4, 2)
    assert (values["first_answer_at"], values["last_answer_at"], values["span_ms"]) == (500, 9_000, 8_500)
    assert totals_section([], counts).values["span_ms"] is None


def test_content_by_kind_and_size() -> None:
    kinds = [KindSum("html", 0, 0, 5, 50), KindSum("html", 1, 0, 2, 4_000), KindSum("video", 6, 8, 1, 10**9)]
    by_kind, sizes, media = content_tables(kinds)
    assert by_kind.rows == [("html", 7, 4_050), ("video", 1, 10**9)]
    assert sizes.rows[:2] == [("< 1KB", 5, 50), ("< 10KB", 2, 4_000)]
    assert sizes.rows[-1] == (">= 100MB", 1, 10**9)
    assert sum(row[1] for row in media.rows) == 1
    assert content_tables(kinds[:2])[2].rows == []
    assert class_names((1, 2), str) == ["< 1", "< 2", ">= 2"]


def test_links_are_counted_once_in_shares() -> None:
    again = {"seen": 5, "depth": 1, "trap": 2, "covered": 1, "url-filter": 4}
    values, verdicts = verdicts_table({"internal": 6, "external": 3, "scheme": 1} | again)
    assert values == {"links": 10, "internal_share": 0.6, "external_share": 0.3, "same_page_share": 0.0}
    assert verdicts.rows[0] == ("internal", 6)
    assert verdicts_table({})[0]["internal_share"] == 0


def test_some_samples_of_each_reason() -> None:
    samples = [Sample(reason, f"u{n}", "") for n in range(5) for reason in ("length", "depth")]
    assert [row[:2] for row in samples_table(samples).rows] == [
        *(("depth", f"u{n}") for n in range(3)),
        *(("length", f"u{n}") for n in range(3)),
    ]
