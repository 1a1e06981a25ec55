"""`scrawler status`: how the crawl stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.hints import crawl_title
from scrawler.cli.losses import WHAT_TO_DO, lost_text
from scrawler.cli.options import with_settings
from scrawler.cli.tables import json_line, print_pairs
from scrawler.insight.sections import label, shown
from scrawler.model.records import LossState
from scrawler.settings import Settings, setting_text
from scrawler.store.control import Control, CrawlOrders
from scrawler.store.crawls import Crawl, Crawls
from scrawler.store.losses import Losses, LostTotals
from scrawler.store.machines import Machines
from scrawler.store.overview import LIVING, MachineView, Summary
from scrawler.store.reports import Reports
from scrawler.units import human_bytes

# Counts of seeds that are told where they are not 0; all others stand in `scrawler seeds --json`.
_TOLD = (
    *("denied", "unwanted", "trapped", "revisits", "near_duplicates", "noindex", "nofollow", "assets", "sitemap_urls"),
    *("pushed_back", "slowed", "slow_pages", "wait_ms", "internal_errors", "not_modified"),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@with_settings()
def status(settings: Settings, as_json: bool) -> None:
    """Show how the crawl stands.

    Seeds by state and end reason, pages, bytes, errors, further counts of the seeds, rate, what is ordered (pause,
    settings), machines by state (running, paused, stopping, stopped, dead), how many seeds each thread holds, and why
    the crawl is not over, as each machine sees it.
    """
    with crawl_database(settings) as database:
        crawl = Crawls(database).open(settings.name, settings.scope)
        summary, orders = Machines(database).summary(), Control(database).orders()
        counts, lost = Reports(database).counts(None), Losses(database).totals()
        if as_json:
            values = _as_json(crawl, database.where, orders, summary, counts) | {"lost": _lost_values(lost)}
            click.echo(json_line(values))
        else:
            _print(crawl, database.where, orders, summary, counts, lost)


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
        "pages": summary.pages,
        "bytes": summary.bytes,
        "errors": summary.errors,
        "counts": dict(counts),
        "pages_per_second": round(summary.pages_per_second, 2),
        "machines": [asdict(machine) for machine in summary.machines],
    }


def _lost_values(lost: LostTotals) -> dict[str, int]:
    accepted = {f"accepted_{name}": number for name, number in lost.accepted._asdict().items()}
    return lost.open._asdict() | accepted


def _lost_text(lost: LostTotals) -> dict[str, str]:
    lines = {LossState.GONE.value: f"{lost_text(lost.open)}; {WHAT_TO_DO}"} if lost.open.files else {}
    accepted = {LossState.ACCEPTED.value: lost_text(lost.accepted)} if lost.accepted.files else {}
    return lines | accepted


def _print(
    crawl: Crawl, where: str, orders: CrawlOrders, summary: Summary, counts: Mapping[str, int], lost: LostTotals
) -> None:
    lines = {
        "seeds " + (f"{state} ({reason})" if reason else state): f"{count:,}"
        for state, reasons in summary.seeds.items()
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1])
    }
    lines |= {
        "pages": f"{summary.pages:,}",
        "bytes": human_bytes(summary.bytes),
        "errors": f"{summary.errors:,}",
    }
    lines |= {label(name): shown(name, counts[name]) for name in _TOLD if counts[name]}
    lines |= _lost_text(lost)
    lines |= _orders_text(orders)
    states = Counter(machine.state.value for machine in summary.machines)
    if any(machine.state.value in LIVING for machine in summary.machines):
        lines["rate"] = f"{summary.pages_per_second:,.1f} pages/s in the last minute"
    lines["machines"] = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
    for machine in summary.machines:
        if machine.state.value in LIVING:
            lines[f"machine {machine.name}"] = _machine_text(machine)
    print_pairs(f"{crawl_title(crawl.name)}, scope {crawl.scope}, in {where}", lines)


def _orders_text(orders: CrawlOrders) -> dict[str, str]:
    lines = {"paused": "yes; `scrawler resume` lets it go on"} if orders.paused else {}
    return lines | {f"set {key}": setting_text(key, value) for key, value in orders.settings.items()}


def _machine_text(machine: MachineView) -> str:
    held = " ".join(map(str, machine.held)) or "not known yet"
    goes_on = f"; the crawl is not over: {machine.kept_open_by}" if machine.kept_open_by else ""
    return f"{machine.pages_per_second:,.1f} pages/s; seeds held by each thread: {held}{goes_on}"
