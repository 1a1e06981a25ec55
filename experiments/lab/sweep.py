"""The distributor against free competition, simulated with the planner (paper 004, section 3.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import exp
from statistics import NormalDist

from experiments.lab.plots import Line, Panel
from experiments.lab.report import Row
from scrawler.features.plan.rules import PlannedSite, PlanRules
from scrawler.features.plan.simulation import simulate
from scrawler.features.synthweb.site import mix

_ORDERS = 3  # of the same sites, whose means are told


def sweep(quick: bool) -> list[Row]:
    """Simulate both distributions over the skew of sizes and of response times, and over the number of sites."""
    most, spreads = (400, (0.0, 1.0, 2.0)) if quick else (10_000, (0.0, 0.5, 1.0, 1.5, 2.0))
    skews = [(most, size, latency) for latency in (0.0, 1.0, 2.0) for size in spreads]
    numbers = [(sites, 1.5, 1.0) for sites in (200, 400, 1_000, 2_000, 4_000, 10_000) if sites <= most]
    return [_swept(*one) for one in dict.fromkeys([*skews, *numbers])]


def _swept(number: int, size: float, latency: float) -> Row:
    """Return means over some orders of the same sites: it matters when the largest ones begin."""
    means: defaultdict[str, float] = defaultdict(float)
    for order in range(_ORDERS):
        for name, value in _gain(_shuffled_sites(number, size, latency, order)).items():
            means[name] += value / _ORDERS
    return {"sites": number, "size sigma": size, "latency sigma": latency, **means}


def _gain(sites: Sequence[PlannedSite]) -> dict[str, float]:
    """Simulate the paper's threads with both distributions."""
    dealt, free = (
        simulate(sites, PlanRules(delay=0.0, blocking=True, distribution=name)) for name in ("distributor", "free")
    )
    return {
        "distributor s": dealt.seconds,
        "free s": free.seconds,
        "moves": float(dealt.moves),
        "sooner done %": 100 * (free.seconds / dealt.seconds - 1),
        "higher rate %": 100 * (dealt.requests / free.requests_by(dealt.seconds) - 1),
    }


def _shuffled_sites(number: int, size: float, latency: float, order: int) -> list[PlannedSite]:
    """Return sites of 40 pages and 0.3 s on the average, both lognormal, independent of each other."""
    sizes, times = _lognormal(number, 40.0, size, 2 * order), _lognormal(number, 0.3, latency, 2 * order + 1)
    return [PlannedSite((max(1, round(pages)),), seconds) for pages, seconds in zip(sizes, times, strict=True)]


def _lognormal(number: int, mean: float, sigma: float, seed: int) -> list[float]:
    """Return the quantiles of a lognormal distribution with this mean, shuffled."""
    normal = NormalDist()
    values = [mean * exp(sigma * normal.inv_cdf((n + 0.5) / number) - sigma**2 / 2) for n in range(number)]
    order = sorted(range(number), key=lambda n: mix(seed, n))
    return [values[n] for n in order]


def gains_text(swept: Sequence[Row]) -> str:
    """Say what the distributor brings, from the least to the most."""
    rates, times = ([float(row[column]) for row in swept] for column in ("higher rate %", "sooner done %"))
    by_then = f"{min(rates):+.1f} to {max(rates):+.1f} % pages by the time it is done"
    return f"{by_then}; it is done {min(times):+.1f} to {max(times):+.1f} % sooner"


def sweep_panels(swept: Sequence[Row]) -> list[Panel]:
    """Draw the gains over the skew of sizes, by that of response times, and over the number of sites."""
    most = max(int(row["sites"]) for row in swept)
    columns = {"sooner done": "sooner done %", "higher rate until then": "higher rate %"}
    by_skew = [
        Panel(f"{most:,} sites: {name}", "sigma of site sizes", "%", _by_latency(swept, most, column))
        for name, column in columns.items()
    ]
    same = sorted((row for row in swept if (row["size sigma"], row["latency sigma"]) == (1.5, 1.0)), key=_sites)
    xs = [float(_sites(row)) for row in same]
    lines = [Line(name, xs, [float(row[column]) for row in same], points=True) for name, column in columns.items()]
    return [*by_skew, Panel("sigma 1.5 of sizes, 1 of response times", "sites", "%", lines, log_x=True)]


def _by_latency(swept: Sequence[Row], sites: int, column: str) -> list[Line]:
    rows = sorted((row for row in swept if row["sites"] == sites), key=lambda row: float(row["size sigma"]))
    return [
        Line(
            f"sigma of response times {latency:g}",
            [float(row["size sigma"]) for row in rows if row["latency sigma"] == latency],
            [float(row[column]) for row in rows if row["latency sigma"] == latency],
            points=True,
        )
        for latency in sorted({float(row["latency sigma"]) for row in rows})
    ]


def _sites(row: Row) -> int:
    return int(row["sites"])
