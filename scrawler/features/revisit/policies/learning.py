"""What visits show of how often a site's pages change, kept while a machine holds the site, and by the database."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from scrawler.features.revisit.policies.demand import cell_of, is_shared, kind_of
from scrawler.features.revisit.policies.due import RevisitPolicy
from scrawler.features.revisit.policies.estimator import Checks, SiteRates, estimate, moments_of
from scrawler.features.revisit.policies.policy import Demand
from scrawler.model.visits import UrlState

_PACKED = struct.Struct("<4d")
_NOTHING = SiteRates()


class Learned(NamedTuple):
    """What is known of a URL after a visit, for its next one."""

    checks: bytes = b""  # as url_state.checks
    rate: float = 0.0  # changes a second; 0: its policy does not ask for that
    weight: float = 1.0
    cell: int = 0  # as url_state.demand_cell
    demands: tuple[Demand, ...] = ()


class SharedDemand:
    """How the budget of all sites is divided, as it was last added up; None: there is no budget, or nobody has looked.

    It is replaced as a whole, by one thread, so that others need no lock.
    """

    __slots__ = ("demand",)

    def __init__(self, demand: Demand | None = None) -> None:
        self.demand = demand


class SiteLearning:
    """The rates of a site's pages, and what its visits have moved since the last checkpoint."""

    __slots__ = ("_changed", "_news", "_own", "_shared", "_weight", "rates")

    def __init__(
        self,
        rates: SiteRates = _NOTHING,
        weight: Callable[[str, int], float] = lambda url, depth: 1.0,
        shared: SharedDemand | None = None,
        own: Demand | None = None,
    ) -> None:
        """Begin with what is known; `weight` tells what a URL at a depth weighs, `own` how the site's budget is shared.

        `own` counts the site's pages, and is kept up to date here.
        """
        self.rates = rates
        self._weight = weight
        self._shared = shared
        self._own = own
        self._news: Counter[int] = Counter()
        self._changed = False

    def learn(
        self, before: UrlState | None, url: str, depth: int, now: int, changed: bool | None, policy: RevisitPolicy
    ) -> Learned:
        """Take in a visit at a time in milliseconds; `changed`: None where there is nothing to compare with."""
        old = Checks.unpacked(before.checks) if before is not None else Checks()
        checks = old
        if before is not None and changed is not None:
            checks = old.checked((now - before.visited_at) / 1000, changed)
        packed = checks.packed() if checks.checks else b""
        counted = before.demand_cell if before is not None else 0
        unknown = policy.unknown
        if unknown is None:
            self._move(counted, 0)
            if counted:
                self._swap(moments_of(old), _NOTHING)
            return Learned(packed)
        if checks is not old or not counted:
            self._swap(moments_of(old) if counted else _NOTHING, moments_of(checks))
        rate = estimate(checks, self.rates.prior(unknown)).per_s
        weight = self._weight(url, depth)
        cell = cell_of(rate, weight, policy.shares)
        self._move(counted, cell)
        return Learned(packed, rate, weight, cell, self.demands if policy.shares else ())

    def expect(self, url: str, depth: int, policy: RevisitPolicy) -> Learned:
        """Return what is expected of a URL that is counted nowhere and was not checked; it is counted from now on."""
        unknown = policy.unknown
        if unknown is None:
            return Learned()
        rate, weight = self.rates.prior(unknown).mean, self._weight(url, depth)
        cell = cell_of(rate, weight, policy.shares)
        self._move(0, cell)
        return Learned(b"", rate, weight, cell, self.demands if policy.shares else ())

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The budgets of which visits are a part."""
        shared = self._shared.demand if self._shared is not None else None
        return tuple(one for one in (shared, self._own) if one is not None)

    @property
    def has_budget(self) -> bool:
        """Whether the site has a budget of its own."""
        return self._own is not None

    def take(self) -> tuple[bytes | None, Mapping[int, int]]:
        """Return what the next checkpoint writes: the rates if they have changed, and how cells have changed."""
        rates = pack_rates(self.rates) if self._changed else None
        news = {cell: number for cell, number in self._news.items() if number}
        self._changed, self._news = False, Counter()
        return rates, news

    def _swap(self, old: SiteRates, new: SiteRates) -> None:
        if old != new:
            self.rates = self.rates.swapped(old, new)
            self._changed = True

    def _move(self, old: int, new: int) -> None:
        if old == new:
            return
        for cell, number in ((old, -1), (new, 1)):
            if cell:
                self._news[cell] += number
                if self._own is not None and is_shared(cell):
                    self._own.count(*kind_of(cell), number)


def pack_rates(rates: SiteRates) -> bytes:
    """Return the 32 bytes for the database."""
    return _PACKED.pack(*rates)


def unpack_rates(packed: bytes) -> SiteRates:
    """Return rates that were packed; of other bytes, none."""
    if len(packed) != _PACKED.size:
        return _NOTHING
    found = SiteRates(*_PACKED.unpack(packed))
    return found if all(0 <= one < float("inf") for one in found) else _NOTHING
