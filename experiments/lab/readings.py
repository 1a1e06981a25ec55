"""What paper 004's free competition may have been: crawls on virtual time, and what its figures would be there.

The paper compares its URL Distributor with free competition on 10,000 sites (section 3.3, Figures 7 and 8) and leaves
open how a thread takes seeds, whether a site rests between two requests, how fast seeds come, and how many hosts are
dead. A `Reading` fixes these four; of each, the distributor's crawl and the competition's are played through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.arms.scrawler_arms import HandCompetition, SingleCompetition
from experiments.lab.report import ROUND, Row
from scrawler.features.plan.rules import COMPETITIONS, PlannedSite, PlanRules
from scrawler.features.plan.simulation import Look, Run, simulate
from scrawler.features.synthweb.site import SiteSizes, is_dead, latency_s
from scrawler.features.synthweb.spec import WebSpec

COMPETITIONS.update(hands=HandCompetition, one=SingleCompetition)

DISTRIBUTOR = "distributor"
WAYS = (DISTRIBUTOR, "free", "one", "hands")
SHARES = (0.5, 0.9, 0.99, 1.0)  # of all pages, whose times are told
LOOKS = 150  # seconds at which the threads are looked at, one after the other
EARLY = 100.0  # seconds of which the paper's text to Figures 7 and 8 speaks ...
SETTLED = 40.0  # ... and after which its distributor held about 9 seeds a thread
ABOUT_NINE = 8.5  # seeds a thread, on the average, are about nine from here on
_HOUR = 3600.0
_NO_LIMIT = 1e12


@dataclass(frozen=True, slots=True)
class Size:
    """How large the crawls are; `latency` is the mean over sites, in seconds, `spread` the sigma of its logarithm.

    With the latency here the paper's crawl of 10,000 sites takes eight to nine hours with the distributor, near to the
    7.7 of its own. Only that length, and not what one way takes beside another one, follows from it.
    """

    sites: int = 10_000
    threads: int = 20
    seeds_per_thread: int = 10
    mean_pages: int = 40
    latency: float = 1.3
    spread: float = 1.0
    timeout: float = 60.0  # seconds that a dead host takes of its thread
    supply: float = 4.5  # seeds a second where they are metered


@dataclass(frozen=True, slots=True)
class Reading:
    """What the paper leaves open: the pause in mean latencies, the dead hosts' share, whether seeds come one by one.

    `latency` is the mean one in seconds, where it is not that of the size.
    """

    pause: float = 0.0
    dead: float = 0.0
    metered: bool = False
    latency: float = 0.0

    def __str__(self) -> str:
        parts = [f"pause {self.pause:g} x latency"]
        parts += ["metered seeds"] * self.metered
        parts += [f"{100 * self.dead:g} % dead"] * bool(self.dead or self.metered)
        parts += [f"latency {self.latency:g} s"] * bool(self.latency)
        return ", ".join(parts)


def web_of(size: Size, reading: Reading, number: int) -> list[PlannedSite]:
    """Return the sites of a random web."""
    spec = WebSpec(
        seed=number, sites=size.sites, mean_pages=size.mean_pages, latency_ms=1000 * _latency(size, reading),
        latency_spread=size.spread, dead_share=reading.dead,
    )  # fmt: skip
    sizes = SiteSizes(spec)
    return [
        PlannedSite((1,), size.timeout, answers=False)
        if is_dead(spec, site)
        else PlannedSite((sizes.pages(site),), latency_s(spec, site))
        for site in range(size.sites)
    ]


def rules_of(size: Size, reading: Reading, way: str) -> PlanRules:
    """Return the rules of the paper's threads, of which each downloads one page at a time; no processor limits."""
    return PlanRules(
        delay=reading.pause * _latency(size, reading),
        delay_factor=0.0,
        robots=False,
        threads=size.threads,
        seeds_per_thread=size.seeds_per_thread,
        distribution=way,
        blocking=True,
        cpu_per_request=0.0,
        cpu_per_seed=0.0,
        database_rows=_NO_LIMIT,
        supply=size.supply if reading.metered else 0.0,
        together=not reading.metered,
    )


def _latency(size: Size, reading: Reading) -> float:
    return reading.latency or size.latency


def compared(size: Size, reading: Reading, number: int, ways: Sequence[str] = WAYS) -> tuple[list[Row], dict[str, Run]]:
    """Play one web through in all ways; return a row for each, and the runs. The distributor is always the first."""
    sites = web_of(size, reading, number)
    runs = {way: simulate(sites, rules_of(size, reading, way), range(1, LOOKS + 1)) for way in ways}
    dealt = runs[DISTRIBUTOR]
    rows: list[Row] = [
        {ROUND: number, "arm": f"{reading}, {way}", "sites": size.sites, **_figures(run, dealt, size)}
        for way, run in runs.items()
    ]
    return rows, runs


def _figures(run: Run, dealt: Run, size: Size) -> dict[str, float]:
    """Return what came out, and by how much the distributor was ahead."""
    window = min(run.drained_at, dealt.drained_at)
    times = {f"h to {100 * share:g} %": run.at_requests(share) / _HOUR for share in SHARES}
    early = run.looks[: int(EARLY)]
    return {
        "pages": run.requests,
        **times,
        "h until the queue is empty": run.drained_at / _HOUR,
        "pages/s while both queues have seeds": run.requests_by(window) / max(window, 1.0),
        "gain meanwhile %": gain(dealt.requests_by(window), run.requests_by(window)),
        "gain in 100 s %": gain(dealt.requests_by(EARLY), run.requests_by(EARLY)),
        "gain to 99 % of pages, %": gain(run.at_requests(0.99), dealt.at_requests(0.99)),
        "gain in all %": gain(run.at_requests(1.0), dealt.at_requests(1.0)),
        "minutes saved": (run.at_requests(1.0) - dealt.at_requests(1.0)) / 60,
        "seeds a thread, 40-100 s": fmean(fmean(look.held) for look in early if look.at >= SETTLED),
        "about 9 from s on": level_from(run.looks),
        "a thread with one seed at most until s": poorest_until(run.looks),
        "full threads at 100 s": sum(held >= size.seeds_per_thread for held in run.looks[int(EARLY) - 1].held),
    }


def gain(more: float, less: float) -> float:
    """Return by how many percent something is more; 0 where there was none to compare with."""
    return 100 * (more / less - 1) if less else 0.0


def level_from(looks: Sequence[Look]) -> float:
    """Return the first second at which threads hold about nine seeds on the average; `LOOKS`: none before."""
    return next((look.at for look in looks if fmean(look.held) >= ABOUT_NINE), float(LOOKS))


def poorest_until(looks: Sequence[Look]) -> float:
    """Return until which second the last thread to get a second seed had one at most; 0: all had two at the first look.

    `LOOKS`: one has had none more by then.
    """
    threads = range(len(looks[0].held))
    firsts = [next((look.at for look in looks if look.held[thread] > 1), float(LOOKS)) for thread in threads]
    latest = max(firsts)
    return latest if latest > looks[0].at else 0.0
