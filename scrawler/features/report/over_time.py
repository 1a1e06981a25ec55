"""Pages and results over time, made of sums; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scrawler.dates import moment
from scrawler.insight.sections import STACKED, Section, Table
from scrawler.model.results import Result
from scrawler.store.sums.page_sums import PageSum
from scrawler.store.sums.periods import periods_between
from scrawler.units import human_seconds

_RESULTS_SHOWN = 7  # the most frequent ones; the others are one
OTHERS = "others"


def time_section(pages: Sequence[PageSum]) -> Section:
    """Return what came in each period from the first answer to the last; a period without any is a gap."""
    if not pages:
        return Section("time", "Over time")
    periods = periods_between(min(one.first_at for one in pages), max(one.last_at for one in pages))
    names = _shown_results(pages)
    numbers = range(periods.of(max(one.last_at for one in pages)) + 1)
    counted: list[Counter[str]] = [Counter() for _ in numbers]
    size = [0 for _ in numbers]
    for one in pages:
        number = periods.of(one.first_at)  # the periods of the sums are as long, or parts of these
        counted[number][one.result if one.result in names else OTHERS] += one.pages
        size[number] += one.bytes if one.result == Result.FETCHED else 0
    begins = [periods.begin(number) for number in numbers]
    fetched = [(begin, counted[n][Result.FETCHED], size[n]) for n, begin in enumerate(begins)]
    results = [(begin, *(counted[n][name] for name in names)) for n, begin in enumerate(begins)]
    each = f"in periods of {human_seconds(periods.length / 1000)} (UTC)"
    tables = (
        Table(
            "pages", f"Fetched pages over time, {each}", ("from_at", "pages", "bytes"), fetched, "pages", ordered=True
        ),
        Table("results", f"Results over time, {each}", ("from_at", *names), results, STACKED, ordered=True),
    )
    return Section("time", "Over time", {"period_ms": periods.length}, tables)


def _shown_results(pages: Sequence[PageSum]) -> list[str]:
    """Return the results that have a column of their own, the most frequent first, and perhaps one for the others."""
    total: Counter[str] = Counter()
    for one in pages:
        total[one.result] += one.pages
    names = [name for name, _ in sorted(total.items(), key=lambda result: (-result[1], result[0]))]
    if len(names) <= _RESULTS_SHOWN + 1:
        return names
    kept = names[:_RESULTS_SHOWN]
    if Result.FETCHED in names and Result.FETCHED not in kept:
        kept[-1] = Result.FETCHED
    return [*kept, OTHERS]


def short_times(times: Sequence[int]) -> list[str]:
    """Write times, in milliseconds since 1970, as short as they can be told apart, in UTC."""
    moments = [moment(at) for at in times]
    if len({moment.date() for moment in moments}) == 1:
        form = "%H:%M:%S" if any(moment.second for moment in moments) else "%H:%M"
    elif any(moment.hour or moment.minute for moment in moments):
        form = "%d %b %H:%M"
    else:
        form = "%d %b" if len({moment.year for moment in moments}) == 1 else "%Y-%m-%d"
    return [moment.strftime(form) for moment in moments]
