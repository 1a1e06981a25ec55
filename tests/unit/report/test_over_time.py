"""Pages and results over time: periods, gaps, names that tell the times apart, and their plot."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from scrawler.features.report.html import html_page
from scrawler.features.report.over_time import OTHERS, short_times, time_section
from scrawler.features.report.plots import stacks
from scrawler.insight.sections import Report, Table
from scrawler.model.results import Result
from scrawler.store.sums.page_sums import PageSum
from scrawler.store.sums.periods import MOST_PERIODS, periods_between

HOUR = 3_600_000
START = 1_790_000_000_000 // HOUR * HOUR


def _sum(result: str, at: int, pages: int) -> PageSum:
    return PageSum(result, 200, 0, 0, 0, pages, 10 * pages, 0, at, at + 5, 1)


def _table(sums: list[PageSum], key: str) -> Table:
    return next(table for table in time_section(sums).tables if table.key == key)


def test_each_period_has_a_row_and_one_without_pages_is_a_gap() -> None:
    sums = [_sum("fetched", START + 300, 5), _sum("http-error", START + 400, 2), _sum("fetched", START + 3_100, 1)]
    assert _table(sums, "pages").rows == [
        (START, 5, 50),
        (START + 1_000, 0, 0),
        (START + 2_000, 0, 0),
        (START + 3_000, 1, 10),
    ]
    results = _table(sums, "results")
    assert results.columns == ("from_at", "fetched", "http-error")
    assert [row[1:] for row in results.rows] == [(5, 2), (0, 0), (0, 0), (1, 0)]
    assert not list(time_section([]).filled)


def test_there_are_few_periods_however_long_a_crawl_was_and_nothing_is_lost() -> None:
    for days in (0.001, 1, 400, 20_000):
        sums = [_sum("fetched", START + int(days * 24 * HOUR) * part // 100, 1) for part in range(101)]
        rows = _table(sums, "pages").rows
        assert len(rows) <= MOST_PERIODS
        assert sum(row[1] for row in rows) == 101
    lengths = [periods_between(START, START + 10**power).length for power in range(3, 13)]
    assert all(longer % shorter == 0 for shorter, longer in pairwise(lengths))


def test_rare_results_are_one_column_and_what_was_fetched_has_its_own() -> None:
    sums = [_sum(result.value, START, 100 - number) for number, result in enumerate(reversed(Result))]
    results = _table(sums, "results")
    assert {"fetched", OTHERS} <= set(results.columns)
    assert sum(results.rows[0][1:]) == sum(one.pages for one in sums)


def test_times_are_as_short_as_they_can_be_told_apart() -> None:
    day = 24 * HOUR
    midnight = START // day * day
    assert short_times([midnight + 1_000, midnight + 2_000]) == ["00:00:01", "00:00:02"]
    assert short_times([midnight, midnight + HOUR]) == ["00:00", "01:00"]
    assert short_times([midnight, midnight + 30 * HOUR])[1].endswith(" 06:00")
    assert len(set(short_times([midnight + number * day for number in range(400)]))) == 400


def test_parts_stand_on_each_other_and_the_plot_has_a_title_and_a_legend() -> None:
    plot = ElementTree.fromstring(stacks("name", "Title", ["a", "b"], [("<one>", [3, 0]), ("two", [1, 2])]))
    bars = [(bar.attrib["class"], float(bar.attrib["height"])) for bar in plot.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars == [("s0", 112.5), ("s1", 37.5), ("s1", 75.0)]
    ElementTree.fromstring(stacks("name", "Nothing", [], []))
    page = "".join(
        html_page(Report("x", START, (time_section([_sum("fetched", START, 1), _sum("fetched", START + 1_000, 1)]),)))
    )
    assert "<figcaption>Results over time, in periods of 1.0 s (UTC)</figcaption>" in page
    assert '<span class="s0">fetched</span>' in page
