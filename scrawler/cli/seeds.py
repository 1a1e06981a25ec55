"""`scrawler seeds`: what came of each seed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.cli.groups import Group
from scrawler.cli.options import is_called_itself, with_settings
from scrawler.cli.tables import format_options, print_rows, seed_filters
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.settings import Settings
from scrawler.store.claims.seeds import Seeds, SeedView
from scrawler.store.lists.rounds import Rounds, RoundView

_FOR_PEOPLE = ("url", "state", "end_reason", "pages", "http_errors", "failures", "candidates", "end_detail")
_COUNTS = tuple(SeedCounts.__dataclass_fields__)
_ROUND_SHOWN = ("url", "round", "end_reason", "requests", "pages", "not_modified", "http_errors", "failures", "saved")
_ROUND = ("url", "round", "began_at", "ended_at", "end_reason", "elapsed_ms", *_COUNTS)
_ALL = (
    *("url", "site", "home_url", "hops", "rehomed", "state", "end_reason", "end_detail", "dead_as"),
    *_COUNTS,
    *("verdicts", "elapsed_ms", "added_at", "started_at", "ended_at", "machine_id", "columns"),
)


@click.group(cls=Group, invoke_without_command=True)
@seed_filters
@click.option("--rounds", is_flag=True, help="List the rounds of each seed, with what came of each.")
@format_options
@with_settings()
@click.pass_context
def seeds(
    context: click.Context,
    settings: Settings,
    rounds: bool,
    state: SeedState | None,
    end_reason: EndReason | None,
    written: str | None,
) -> None:
    """List the seeds and what came of them."""
    if not is_called_itself(context):
        return
    with opened(settings, BareCrawl) as crawl:
        if rounds:
            if state or end_reason:
                raise click.UsageError("--rounds lists those of all seeds, whatever their state")
            print_rows(map(_round, Rounds(crawl.database).of_seeds()), _ROUND if written else _ROUND_SHOWN, written)
            return
        found = Seeds(crawl.database).list(state, end_reason)
        print_rows(map(_row, found), _ALL if written else _FOR_PEOPLE, written)


def _round(view: RoundView) -> dict[str, Any]:
    return {
        "url": view.seed,
        "round": view.number,
        "began_at": view.began_at,
        "ended_at": view.ended_at,
        "end_reason": view.end_reason,
        "elapsed_ms": view.elapsed_ms,
        **asdict(view.counts),
    }


def _row(view: SeedView) -> dict[str, Any]:
    seed = view.seed
    return {
        "url": seed.url,
        "site": view.site_key,
        "home_url": seed.home_url,
        "hops": seed.hops,
        "rehomed": seed.rehomed,
        **view.standing,
        **asdict(seed.counts),
        "verdicts": dict(seed.verdicts),
        "elapsed_ms": seed.elapsed_ms,
        "added_at": view.added_at,
        "started_at": view.started_at,
        "ended_at": view.ended_at,
        "machine_id": view.machine_id,
        "columns": dict(view.columns),
    }
