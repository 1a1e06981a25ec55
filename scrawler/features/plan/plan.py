"""When a crawl ends, what bounds it, and what would shorten it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from heapq import nlargest
from typing import Any, NamedTuple

from scrawler.features.plan.inputs import Inputs
from scrawler.features.plan.progress import Bound
from scrawler.features.plan.rules import PlannedSite, PlanRules
from scrawler.features.plan.simulation import Run, simulate
from scrawler.units import counted

SHARES = (0.5, 0.9, 0.97, 0.99)  # it is told when these shares of all seeds are done
TENTHS = tuple(part / 10 for part in range(10))
_LARGEST = 3  # so many of the largest sites are told
_PLAYED = 100_000  # of more sites, only so many are played through again with one thing changed
_KEPT = 1_000  # so many of the largest sites are always among those
_LESS, _MORE = 0.5, 2.0  # the range is told for sizes that are so many times the assumed ones
_NEVER = 0.01  # a bound that holds for a smaller share of the time is not told
_LIKELY = 0.98  # where one site takes this share of the crawl's time, its own pace is the bound


class Alone(NamedTuple):
    """A site that would take so long if it were the only one; `between` is from one request to the next (seconds)."""

    site: str
    requests: int
    seconds: float
    between: float


class Change(NamedTuple):
    """How long the crawl would take if one thing were different."""

    what: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A crawl as it would go; times in seconds from the first request to the last answer."""

    seconds: float
    low: float  # seconds, with half the assumed sizes; as `seconds` if nothing is assumed
    high: float  # seconds, with twice the assumed sizes
    seeds: int
    sites: int
    pages: int
    requests: int  # all requests, those for robots.txt among them
    bound: Bound
    bounds: dict[Bound, float]  # shares of the time
    tail_at: float  # second from which on no seed waits but for politeness
    tail_seeds: int  # seeds that are not done at that second
    done: dict[float, float]  # share of all seeds -> when they are done
    places: int
    held: tuple[int, ...]  # places that are taken after each tenth of the time
    largest: tuple[Alone, ...]
    changes: tuple[Change, ...]
    assumed: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether the crawl takes as long as its largest site does alone."""
        return bool(self.largest) and self.largest[0].seconds >= _LIKELY * self.seconds

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return {
            **asdict(self),
            "done": {f"{share:g}": seconds for share, seconds in self.done.items()},
            "pages_per_second": self.pages / self.seconds if self.seconds else 0.0,
            "largest": [one._asdict() for one in self.largest],
            "changes": [one._asdict() for one in self.changes],
        }


def make_plan(inputs: Inputs, rules: PlanRules, tell: Callable[[str], None] = lambda line: None) -> Plan:
    """Play a crawl through, and what would be different with other settings or sizes; `tell` hears what goes on."""
    tell(f"playing a crawl of {counted(len(inputs.sites), 'site')} through")
    run = simulate(inputs.sites, rules)
    largest = nlargest(_KEPT, range(len(inputs.sites)), key=lambda number: rules.seconds(inputs.sites[number]))
    tell("again, with other settings and sizes")
    variants = _Variants(inputs, rules, run, largest)
    range_ = variants.range()
    return Plan(
        seconds=run.seconds,
        low=min(range_),
        high=max(range_),
        seeds=len(run.ends),
        sites=run.sites,
        pages=round(inputs.pages),
        requests=run.requests,
        bound=next(iter(run.bounds), Bound.POLITENESS),
        bounds=run.bounds,
        tail_at=run.tail_at,
        tail_seeds=len(run.ends) - bisect_right(run.ends, run.tail_at),
        done={share: run.at_share(share) for share in SHARES},
        places=rules.places,
        held=tuple(run.held_by(part * run.seconds) for part in TENTHS),
        largest=tuple(_alone(inputs.keys[number], inputs.sites[number], rules) for number in largest[:_LARGEST]),
        changes=tuple(variants.changes()),
        assumed=tuple(_assumed(inputs)),
    )


def _alone(key: str, site: PlannedSite, rules: PlanRules) -> Alone:
    return Alone(key, rules.requests(site), rules.seconds(site), rules.pace(site).cycle)


class _Variants:
    """How long the crawl would take if something were different.

    Of very many sites the largest and every n-th of the others are played through, before and after: the whole crawl
    takes longer or less long in the same proportion.
    """

    def __init__(self, inputs: Inputs, rules: PlanRules, run: Run, largest: Sequence[int]) -> None:
        self._rules = rules
        self._run = run
        self._scale = 1.0
        self._inputs = inputs
        if len(inputs.sites) > _PLAYED:
            step = -(-len(inputs.sites) // _PLAYED)
            self._inputs = inputs.part(sorted({*largest, *range(0, len(inputs.sites), step)}))
            self._scale = run.seconds / simulate(self._inputs.sites, rules).seconds

    def range(self) -> list[float]:
        """Return the time, and those with other sizes if sizes are assumed."""
        factors = (_LESS, _MORE) if any(self._inputs.assumed) else ()
        return [self._run.seconds, *(self._seconds(self._inputs.scaled(factor), self._rules) for factor in factors)]

    def changes(self) -> Iterator[Change]:
        """Yield what other settings would bring."""
        rules = self._rules
        if rules.delay:
            less = replace(rules, delay=rules.delay / 2, delay_factor=rules.delay_factor / 2, haste=rules.haste / 2)
            yield Change("half the delay and delay_factor", self._seconds(self._inputs.sites, less))
        # Where politeness is all that bounds it, neither machines nor threads can help.
        others = 1.0 - self._run.bounds.get(Bound.POLITENESS, 0.0) > _NEVER
        for what, more in (
            ("twice the threads", replace(rules, threads=2 * rules.threads)),
            ("twice the machines", replace(rules, machines=2 * rules.machines, cores=2 * rules.cores)),
        ):
            yield Change(what, self._seconds(self._inputs.sites, more) if others else self._run.seconds)

    def _seconds(self, sites: Sequence[PlannedSite], rules: PlanRules) -> float:
        return self._scale * simulate(sites, rules).seconds


def _assumed(inputs: Inputs) -> Iterator[str]:
    if inputs.sizes:
        yield f"{inputs.sizes}, for {sum(inputs.assumed):,} of {counted(len(inputs.sites), 'site')}"
    if inputs.response is not None:
        yield f"{inputs.response:.2g} s a response, where none is known"
