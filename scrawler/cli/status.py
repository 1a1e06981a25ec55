"""`scrawler status`: how the crawl stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from scrawler.api.bare import BareCrawl
from scrawler.api.standing import standing
from scrawler.cli.database import opened
from scrawler.cli.left_out import left_out_text
from scrawler.cli.losses import WHAT_TO_DO, lost_text
from scrawler.cli.options import with_settings
from scrawler.cli.progress import left_text
from scrawler.cli.proxies import deaths_text, proxies_text
from scrawler.cli.tables import print_pairs, with_dates
from scrawler.insight.sections import label, shown
from scrawler.model.exchange import Exchanged, Guests
from scrawler.model.records import LossState
from scrawler.model.seeds import SeedState
from scrawler.seeds.json_text import json_line
from scrawler.settings import Settings, crawl_title, live_text
from scrawler.store.claims.control import Control, CrawlOrders
from scrawler.store.claims.crawls import Crawl
from scrawler.store.claims.overview import LIVING, MachineView, Summary
from scrawler.store.claims.seeds import Seeds
from scrawler.store.commit.inboxes import exchanged
from scrawler.store.lists.losses import Losses, LostTotals
from scrawler.store.reading.left_out import left_out
from scrawler.store.sums.guests import guests
from scrawler.store.sums.reports import Reports
from scrawler.units import human_bytes

_ERRORS = ("http_errors", "failures", "denied")
# Counts of seeds that are told where they are not 0; all others stand in `scrawler seeds --json`.
_TOLD = (
    *("denied", "unwanted", "trapped", "revisits", "near_duplicates", "noindex", "nofollow", "assets", "sitemap_urls"),
    *("pushed_back", "slowed", "slow_pages", "wait_ms", "internal_errors", "not_modified", "saved"),
    *(f"urls_{name}" for name in Exchanged._fields),
    *(f"guest_{name}" for name in Guests._fields),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@with_settings()
def status(settings: Settings, as_json: bool) -> None:
    """Show how the crawl stands.

    Seeds by state and end reason, pages, bytes, errors, further counts of the seeds, rate, what is ordered (pause,
    settings), what this host has copied of its WARC files (archive_to), how long the crawl takes yet by the reckoning
    of `scrawler plan`, machines by state (running, paused, stopping, stopped, dead), how many seeds each thread holds,
    and why the crawl is not over, as each machine sees it.
    """
    with opened(settings, BareCrawl) as one:
        database, crawl = one.database, one.stored
        summary, orders = one.status(), Control(database).orders()
        counts, lost = dict(Reports(database).counts(None)), Losses(database).totals()
        left = _seconds_left(one, summary, orders)
        urls, visits = exchanged(database), guests(database)
        traps = left_out(database)
        deaths, pushed_back = Seeds(database).deaths(), Seeds(database).pushed_back()
        proxies, told = Seeds(database).dead_at_proxies(), standing(one)
        if as_json:
            values = _as_json(crawl, database.where, orders, summary, counts) | {"lost": _lost_values(lost)}
            values |= {"exchange": urls._asdict(), "guests": visits._asdict(), **told.values}
            values["left_out_as_traps"] = traps._asdict()
            values["dead_as"] = deaths
            values["pushed_back_by"] = pushed_back
            values["dead_at_proxies"] = dict(zip(("seeds", "detail"), proxies, strict=True))
            click.echo(json_line(values | {"seconds_left": None if left is None else round(left, 1)}))
        else:
            ended = {str(reason): number for reason, number in summary.seeds.get(SeedState.DONE, {}).items()}
            archive = (
                left_out_text(traps, ended, pushed_back)
                | deaths_text(deaths)
                | proxies_text(*proxies)
                | _lost_text(lost)
                | dict(told.lines)
            )
            _print(crawl, database.where, orders, summary, counts | _told_of(urls) | visits.told(), archive, left)


def _told_of(urls: Exchanged) -> dict[str, int]:
    """Return what the machines have done with URLs of others, under names that say so."""
    return {f"urls_{name}": number for name, number in urls._asdict().items()}


def _errors_of(counts: Mapping[str, int]) -> int:
    """Return how many URLs have an error as their result now.

    What a retry has made good is none of them any more; machines have met it, and count it.
    """
    return sum(counts[name] for name in _ERRORS)


def _seconds_left(crawl: BareCrawl, summary: Summary, orders: CrawlOrders) -> float | None:
    """Return how long the crawl takes yet; None where no machine is at work, or nobody can tell."""
    if orders.paused or not any(machine.state.value in LIVING for machine in summary.machines):
        return None
    from scrawler.api.left import time_left  # what reckons is large, and waits until there is something to reckon

    return time_left(crawl.database, crawl.last_settings())


def _as_json(
    crawl: Crawl, where: str, orders: CrawlOrders, summary: Summary, counts: Mapping[str, int]
) -> dict[str, Any]:
    seeds = {
        state.value: {reason.value if reason else "": count for reason, count in reasons.items()}
        for state, reasons in summary.seeds.items()
    }
    return {
        "crawl": crawl.name,
        "scope": crawl.scope.value,
        "database": where,
        "paused": orders.paused,
        "settings": dict(orders.settings),
        "seeds": {state: sum(reasons.values()) for state, reasons in seeds.items()},
        "end_reasons": seeds.get("done", {}),
        "pages": counts["pages"],
        "bytes": summary.bytes,
        "errors": _errors_of(counts),
        "counts": dict(counts),
        "pages_per_second": round(summary.pages_per_second, 2),
        "machines": [with_dates(asdict(machine)) for machine in summary.machines],
    }


def _lost_values(lost: LostTotals) -> dict[str, int]:
    accepted = {f"accepted_{name}": number for name, number in lost.accepted._asdict().items()}
    return lost.open._asdict() | accepted


def _lost_text(lost: LostTotals) -> dict[str, str]:
    lines = {LossState.GONE.value: f"{lost_text(lost.open)}; {WHAT_TO_DO}"} if lost.open.files else {}
    accepted = {LossState.ACCEPTED.value: lost_text(lost.accepted)} if lost.accepted.files else {}
    return lines | accepted


def _print(
    crawl: Crawl,
    where: str,
    orders: CrawlOrders,
    summary: Summary,
    counts: Mapping[str, int],
    told: Mapping[str, str],
    left: float | None,
) -> None:
    lines = {
        "seeds " + (f"{state} ({reason})" if reason else state): f"{count:,}"
        for state, reasons in summary.seeds.items()
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1])
    }
    lines |= {
        "pages": f"{counts['pages']:,}",
        "bytes": human_bytes(summary.bytes),
        "errors": f"{_errors_of(counts):,}",
    }
    lines |= {label(name): shown(name, counts[name]) for name in _TOLD if counts[name]}
    lines |= told
    lines |= _orders_text(orders)
    states = Counter(machine.state.value for machine in summary.machines)
    if any(machine.state.value in LIVING for machine in summary.machines):
        lines["rate"] = f"{summary.pages_per_second:,.1f} pages/s in the last minute"
    if left is not None:
        lines["expected"] = f"about {left_text(left)}"
    lines["machines"] = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
    for machine in summary.machines:
        if machine.state.value in LIVING:
            lines[f"machine {machine.name}"] = _machine_text(machine)
    print_pairs(f"{crawl_title(crawl.name)}, scope {crawl.scope}, in {where}", lines)


def _orders_text(orders: CrawlOrders) -> dict[str, str]:
    lines = {"paused": "yes; `scrawler resume` lets it go on"} if orders.paused else {}
    return lines | {f"set {key}": text for key, text in live_text(orders.settings).items()}


def _machine_text(machine: MachineView) -> str:
    held = " ".join(map(str, machine.held)) or "not known yet"
    goes_on = f"; the crawl is not over: {machine.kept_open_by}" if machine.kept_open_by else ""
    return f"{machine.pages_per_second:,.1f} pages/s; seeds held by each thread: {held}{goes_on}"
