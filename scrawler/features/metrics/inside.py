"""Figures for Prometheus that no table has: what the machines of one command know of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from scrawler.core.durable.costs import ROWS, SECONDS
from scrawler.core.machine.waits import Wait
from scrawler.core.progress import Progress

_COSTS = (
    ("seconds", SECONDS, "Time that a checkpoint took."),
    ("rows", ROWS, "Rows that a checkpoint wrote, about."),
)


def inside_families(progress: Progress | None, names: Mapping[str, str]) -> Iterator[Any]:
    """Yield families of metrics; `names` are those of the machines, by their ids. Machines without a name are gone."""
    core = import_module("prometheus_client.core")
    text = "Seeds held by collectors, by what they wait for."
    waiting = core.GaugeMetricFamily("scrawler_places_waiting", text, labels=("machine", "reason"))
    for machine, waits in (progress.waits if progress else {}).items():
        for reason in Wait if machine in names else ():
            waiting.add_metric((names[machine], reason.value), waits.get(reason.value, 0))
    yield waiting
    for name, bounds, text in _COSTS:
        family = core.HistogramMetricFamily(f"scrawler_checkpoint_{name}", text, labels=("machine",))
        for machine, costs in (progress.costs if progress else {}).items():
            if machine in names:
                cost = costs[name]
                family.add_metric((names[machine],), _buckets(bounds, cost["counts"]), cost["sum"])
        yield family


def copies_families(progress: Progress | None) -> Iterator[Any]:
    """Yield families of metrics of the copying of this command's host; none where nothing is to be copied."""
    copies = progress.copies if progress else None
    if copies is None:
        return
    core = import_module("prometheus_client.core")
    kinds = {"counter": core.CounterMetricFamily, "gauge": core.GaugeMetricFamily}
    for kind, name, text, value in (
        ("counter", "copied_files", "WARC files copied elsewhere by this command, with their indexes.", copies.files),
        ("counter", "copied_bytes", "Bytes of these WARC files.", copies.bytes),
        ("gauge", "uncopied_files", "Finished WARC files of this host that are not copied yet.", copies.waiting),
        ("gauge", "uncopied_bytes", "Bytes of these.", copies.waiting_bytes),
        ("gauge", "copying_fails", "1: copies wait, for the place is away or refuses.", bool(copies.problem)),
        ("gauge", "copying_failed_seconds", "When copying last failed, since 1970; 0: never.", copies.failed_at / 1000),
    ):
        yield kinds[kind](f"scrawler_{name}", text, value)


def _buckets(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, int]]:
    """Return how often a value was at most each bound, as text."""
    return list(zip((*map(str, bounds), "+Inf"), accumulate(counts), strict=True))
