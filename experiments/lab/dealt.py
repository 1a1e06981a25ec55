"""Small real crawls in all ways to distribute seeds, with the simulation of the same webs beside them."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

import click

from experiments.lab.crawls import Crawl, crawled
from experiments.lab.parallel import side_by_side
from experiments.lab.process import Sampler, fresh_folder
from experiments.lab.readings import DISTRIBUTOR, SHARES, WAYS, Reading, Size, gain, rules_of
from experiments.lab.recording import Sample, mean_over_time
from experiments.lab.report import ROUND, Row
from experiments.lab.scrawler_command import DATABASE
from experiments.lab.true_sites import true_sites
from scrawler import Crawl as Library
from scrawler.features.plan.simulation import Run, simulate
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import SyntheticWeb

_FEED_EVERY = 0.5  # seconds between two looks whether further seeds are to be added
_FIRST = 4  # seeds that are there at first where they are metered
_EARLY = 5 / 3  # of a dead host's time-out: as the paper's 100 s stand to 60 s

# Small pages and a fast extractor, so that the cores do not limit; a thread downloads one page at a time all the same.
_ARMS = Path(__file__).parents[1] / "arms"  # a package of two more ways, for those who put it on their path
_SETTINGS: dict[str, Any] = {
    "downloader": "requests",
    "robots": False,
    "patience": 0,
    "export": False,
    "delay_factor": 0,
    "retries": 0,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One real crawl: seconds from its first request to each of the others, and to the one that empties the queue."""

    way: str
    answered: Sequence[float]
    drained_at: float
    held: float  # seeds a thread, on the average, while the queue has seeds

    def by(self, seconds: float) -> int:
        """Return how many requests were answered by then."""
        return bisect_right(self.answered, seconds)

    def at(self, share: float) -> float:
        """Return when such a share of them was answered."""
        return self.answered[ceil(share * len(self.answered)) - 1]


@dataclass(slots=True)
class _Feeder:
    """Adds seeds to a crawl that runs, so many a second."""

    seeds: list[str]
    rate: float
    library: Library
    began: float = field(default_factory=time.monotonic)
    given: int = 0

    def sample(self, _pid: int) -> None:
        """Add what is due."""
        due = min(len(self.seeds), ceil(self.rate * (time.monotonic() - self.began)))
        if due > self.given:
            self.library.add(self.seeds[self.given : due])
            self.given = due


def real_rows(size: Size, reading: Reading, number: int, limit: float, max_pages: int) -> list[Row]:
    """Crawl one web in all ways at the same time, each with a server of its own; return a row for each.

    They wait more than they work, and so share the machine's good and bad minutes. `limit` seconds are too long.
    """
    spec = WebSpec(
        seed=number, sites=size.sites, mean_pages=size.mean_pages, max_pages=max_pages, page_bytes=2_000, links=5,
        latency_ms=1000 * size.latency, latency_spread=size.spread, hidden=0.0, alias_every=0, dead_share=reading.dead,
    )  # fmt: skip
    crawls = side_by_side(partial(_crawl, size, reading, spec, limit), WAYS)
    runs = _simulated(size, reading, spec)
    early = _EARLY * size.timeout
    rows: list[Row] = []
    for seen, run in zip(crawls, runs, strict=True):
        dealt, dealt_run = crawls[0], runs[0]
        window, planned = min(seen.drained_at, dealt.drained_at), min(run.drained_at, dealt_run.drained_at)
        rows.append(
            {
                ROUND: number,
                "arm": f"{reading}, {seen.way}",
                "sites": size.sites,
                "requests": len(seen.answered),
                **{f"s to {100 * share:g} %": seen.at(share) for share in SHARES},
                "simulated s": run.at_requests(1.0),
                "s until the queue is empty": seen.drained_at,
                "simulated s until then": run.drained_at,
                "requests/s while both queues have seeds": seen.by(window) / max(window, 1.0),
                "gain meanwhile %": gain(dealt.by(window), seen.by(window)),
                "simulated gain meanwhile %": gain(dealt_run.requests_by(planned), run.requests_by(planned)),
                f"gain in {early:g} s %": gain(dealt.by(early), seen.by(early)),
                f"simulated gain in {early:g} s %": gain(dealt_run.requests_by(early), run.requests_by(early)),
                "gain in all %": gain(seen.at(1.0), dealt.at(1.0)),
                "simulated gain in all %": gain(run.at_requests(1.0), dealt_run.at_requests(1.0)),
                "seeds a thread while the queue has seeds": seen.held,
            }
        )
    return rows


def _simulated(size: Size, reading: Reading, spec: WebSpec) -> list[Run]:
    sites = true_sites(SyntheticWeb(spec), size.timeout)  # its port decides in which order they are claimed, no more
    return [simulate(sites, rules_of(size, reading, way)) for way in WAYS]


def _crawl(size: Size, reading: Reading, spec: WebSpec, limit: float, way: str) -> Seen:
    with ExitStack() as stack:
        web = stack.enter_context(SynthServer(spec))
        seeds = web.web.seeds()
        sampler, environment = None, {"PYTHONPATH": str(_ARMS)}
        if reading.metered:
            folder = stack.enter_context(fresh_folder("experiment-fed"))
            database = f"sqlite:///{folder / DATABASE}"
            library = stack.enter_context(Library(database))
            sampler = Sampler(_Feeder(seeds[_FIRST:], size.supply, library).sample, _FEED_EVERY)
            seeds, environment = seeds[:_FIRST], environment | {"SCRAWLER_DB": database}
        crawl = stack.enter_context(
            crawled(
                web, seeds, timeout=limit, recording=True, sampler=sampler, environment=environment, **_SETTINGS,
                distribution=way, threads=size.threads, seeds_per_thread=size.seeds_per_thread,
                delay=reading.pause * size.latency, connect_timeout=size.timeout,
            )
        )  # fmt: skip
        if crawl.figures.timed_out or not crawl.requests:
            raise click.ClickException(f"{reading}, {way}: not finished after {limit:,.0f} s, or nothing was asked")
        return _seen(way, crawl)


def _seen(way: str, crawl: Crawl) -> Seen:
    first: dict[str, float] = {}
    for line in crawl.requests:
        first.setdefault(urlsplit(line.url).netloc, line.came)
    drained = max(first.values()) - crawl.started
    samples: list[Sample] = [sample for sample in crawl.recording() if sample.at <= crawl.started + drained]
    held = mean_over_time(samples, lambda sample: fmean(sample.held))
    return Seen(way, sorted(line.at - crawl.started for line in crawl.requests), drained, held)


def real_machines(size: Size, number: int, machines: int, limit: float, max_pages: int) -> Row:
    """Crawl a web with so many machines and the distributor, without a pause; the simulation stands beside it."""
    reading = Reading()
    spec = WebSpec(
        seed=number, sites=size.sites, mean_pages=size.mean_pages, max_pages=max_pages, page_bytes=2_000, links=5,
        latency_ms=1000 * size.latency, latency_spread=size.spread, hidden=0.0, alias_every=0,
    )  # fmt: skip
    with SynthServer(spec) as web, crawled(
        web, web.web.seeds(), timeout=limit, **_SETTINGS, machines=machines, threads=size.threads,
        seeds_per_thread=size.seeds_per_thread, delay=0,
    ) as crawl:  # fmt: skip
        if crawl.figures.timed_out or not crawl.requests:
            raise click.ClickException(f"{machines} machines: not finished after {limit:,.0f} s, or nothing was asked")
        rules = replace(rules_of(size, reading, DISTRIBUTOR), machines=machines, cores=machines)
        run = simulate(true_sites(web.web), rules)
        answered = sorted(line.at - crawl.started for line in crawl.requests)
    threads = machines * size.threads
    until = run.drained_at  # by the simulation: the same time for both
    return {
        "crawl": f"{machines} x {size.threads}, real",
        "machines": machines,
        "sites": size.sites,
        "requests": len(answered),
        "s": answered[-1],
        "simulated s": run.seconds,
        "requests/s of a thread": len(answered) / answered[-1] / threads,
        "simulated requests/s of a thread": run.requests / run.seconds / threads,
        "requests/s of a thread until the queue is empty": bisect_right(answered, until) / until / threads,
        "simulated requests/s of a thread until then": run.requests_by(until) / until / threads,
    }
