"""What a crawl's user can do when a run has brought nothing."""

from __future__ import annotations

from scrawler.core.progress import RunSummary
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.retries import LIMITS, RETRYABLE


def what_next(summary: RunSummary) -> str:
    """Say what can be done where a run found nothing to fetch; empty where it did."""
    seeds = summary.seeds
    number = sum(seeds.values())
    if not number:
        return "warning: this crawl has no seeds yet; `scrawler import FILE` brings some"
    private = seeds.get(EndReason.PRIVATE_ADDRESS.value, 0)
    if private == number:
        places = "a private address" if number == 1 else "private addresses"
        return (
            f"warning: {_all(number)} at {places}, where nothing is asked unless that is allowed:"
            f" give the same command again with `--allow-private --retry {EndReason.PRIVATE_ADDRESS.value}`"
        )
    undone = sum(seeds.get(state.value, 0) for state in SeedState)
    if undone or summary.requests or summary.lookups or summary.outcome != "ended":
        return ""
    again = [reason.value for reason in RETRYABLE if reason not in LIMITS and seeds.get(reason.value)]
    retry = f"`--retry {','.join(again)}` lets those go on that failed; " if again else ""
    return (
        f"{_all(number)} done, there was nothing left to fetch; {retry}`scrawler import FILE` brings more,"
        " `scrawler seeds promote` makes seeds of the candidates"
    )


def _all(seeds: int) -> str:
    return "the only seed is" if seeds == 1 else f"all {seeds:,} seeds are"
