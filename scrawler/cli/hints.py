"""What a crawl's user can do when a run has brought nothing."""

from __future__ import annotations

from collections.abc import Mapping

from scrawler.api.running import private_advice
from scrawler.core.progress import RunSummary
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.lists.retries import LIMITS, RETRYABLE

_FINE = (EndReason.COMPLETED.value, EndReason.COVERED.value)


def what_next(summary: RunSummary) -> str:
    """Say what can be done where a run found nothing to fetch; empty where it did."""
    seeds = summary.seeds
    number = sum(seeds.values())
    if not number:
        return "warning: this crawl has no seeds yet; `scrawler import FILE` brings some"
    if private := private_advice(summary):
        retry = f"`--allow-private --retry {EndReason.PRIVATE_ADDRESS.value}`"
        return f"{private}: give the same command again with {retry}"
    undone = sum(seeds.get(state.value, 0) for state in SeedState)
    if undone or summary.requests or summary.lookups or summary.outcome != "ended":
        return ""
    again = [reason.value for reason in RETRYABLE if reason not in LIMITS and seeds.get(reason.value)]
    retry = f"`--retry {','.join(again)}` lets those go on that failed; " if again else ""
    return (
        f"{_ended(number, seeds)}, there was nothing left to fetch; {retry}`scrawler run --again` visits all pages"
        " again, `scrawler import FILE` brings more seeds, `scrawler seeds promote` makes seeds of the candidates"
    )


def _ended(number: int, seeds: Mapping[str, int]) -> str:
    """Say that all seeds have ended, and how, if any of them is not simply done."""
    ended = {name: count for name, count in seeds.items() if count}
    if ended.keys() <= set(_FINE):
        return "the only seed is done" if number == 1 else f"all {number:,} seeds are done"
    if number == 1:
        return f"the only seed has ended as {next(iter(ended))}"
    by_number = sorted(ended.items(), key=lambda one: (-one[1], one[0]))
    return f"all {number:,} seeds have ended ({', '.join(f'{name}: {count:,}' for name, count in by_number)})"
