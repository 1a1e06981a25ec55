"""What visits are worth: freshness and age of a page, and how a budget of visits is best divided among pages.

Definitions and theorems are those of Cho and Garcia-Molina ("Effective page refresh policies for web crawlers", ACM
TODS 2003): pages change as Poisson processes of rates L, and are visited at equal intervals. Weights for importance
follow Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable near-optimal policies for crawling", PNAS 2018), whose own
policy, with visits at random times, is here as well (`memoryless_visits`).

The best visits maximise the sum of weight x freshness under a budget. At the optimum all pages that are visited have
the same marginal gain, the *multiplier* m:

    weight / L x (1 - (1 + r) exp(-r)) = m,   with r = L x interval,

and pages for which weight / L is below m are not visited for freshness' sake at all: they change faster than they can
be followed, for what they are worth. The left side grows with the time since the last visit: so a page is due as soon
as its `urgency` has reached m, and no plan of visits needs to be kept. m follows from the budget by bisection, over a
histogram of (rate, weight) whose cells are bounded in number (`Demand`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

_SMALL = 1e-4  # exponents below which a series is more exact than the closed form
_STEPS = 200
_PER_OCTAVE = 4  # cells of the histogram for each doubling of a rate, and of a weight
_STALE = 0.05  # a plan is kept until so many of the pages have moved to other cells
_NEAR_ENOUGH = 1e-4  # two multipliers so near to each other are mixed: the optimum is flat
_SLOWEST, _FASTEST = 1e-10, 1.0  # rates are taken to be within these, which are 133 cells
_LIGHTEST, _HEAVIEST = 1e-6, 1e9  # weights likewise, 200 cells
_LOWEST_MULTIPLIER, _HIGHEST_MULTIPLIER = 1e-24, 1e24
_SHORTEST_S = 1e-9


def freshness(rate: float, interval_s: float) -> float:
    """Return the share of time for which a copy is up to date: (1 - exp(-r)) / r for r = rate x interval."""
    exponent = rate * interval_s
    return 1 - exponent / 2 if exponent < _SMALL else -math.expm1(-exponent) / exponent


def age_s(rate: float, interval_s: float) -> float:
    """Return the mean age of a copy in seconds: 0 while it is up to date, then the time since the page changed."""
    exponent = rate * interval_s
    if exponent < _SMALL:
        return interval_s * exponent / 6
    return interval_s * (0.5 - 1 / exponent - math.expm1(-exponent) / exponent**2)


def urgency(rate: float, weight: float, since_s: float) -> float:
    """Return what one more visit is worth after so long: weighted seconds of freshness a visit, at the margin.

    It grows with the time since the last visit, up to weight / rate. Whoever visits those with the highest urgency
    first, as many as a round allows, visits as the optimum does.
    """
    return weight / rate * _gain(rate * since_s)


def best_interval(rate: float, weight: float, multiplier: float) -> float:
    """Return the seconds between visits at which the urgency reaches the multiplier; infinity: it never does."""
    wanted = multiplier * rate / weight
    return math.inf if wanted >= 1 else _gain_inverse(wanted) / rate


def memoryless_visits(rate: float, weight: float, multiplier: float) -> float:
    """Return visits a second at the optimum where visits come at random times (Azar et al., Theorem 1).

    Freshness is then visits / (visits + rate); sqrt(rate x weight / multiplier) - rate, or none.
    """
    return max(0.0, math.sqrt(rate * weight / multiplier) - rate)


class Bounds(NamedTuple):
    """Between what intervals pages are visited, whatever they are worth; in seconds."""

    shortest_s: float = 3_600.0
    longest_s: float = 365.25 * 86_400.0

    def within(self, interval_s: float) -> float:
        """Return an interval, or the bound that it passes."""
        return min(max(interval_s, self.shortest_s), self.longest_s)

    def visits(self, interval_s: float) -> float:
        """Return visits a second at an interval within the bounds; 0: none."""
        return 1 / max(self.within(interval_s), _SHORTEST_S)


NO_BOUNDS = Bounds(0.0, math.inf)


class Solution(NamedTuple):
    """The multiplier for a budget, between two numbers next to each other; `share` of the lower one's visits are made.

    Where pages are nearly alike and their changes cannot be followed, hardly any difference of the multiplier lies
    between many visits and none, and all are worth the same: a share of them uses the budget up.
    """

    low: float
    high: float
    share: float

    def visits(self, rate: float, weight: float, bounds: Bounds) -> float:
        """Return visits a second of a page at the optimum, within bounds."""
        few = bounds.visits(best_interval(rate, weight, self.high))
        more = bounds.visits(best_interval(rate, weight, self.low))
        return few + self.share * (more - few)


def solved(visits: Callable[[float], float], budget: float, near: float = 0.0, within: float = 1e-9) -> Solution:
    """Find the multiplier for which visits come to a budget; `visits` falls with it. Bisection of its logarithm.

    `near` is where to look first, 0: nobody knows; `within`, how near to each other the two numbers come. If a budget
    is less than bounds ask for, or more than all can use, the solution is the nearest that there is.
    """
    low, high = _around(visits, budget, near) if near > 0 else (_LOWEST_MULTIPLIER, _HIGHEST_MULTIPLIER)
    for _ in range(_STEPS):
        middle = math.sqrt(low) * math.sqrt(high)
        if visits(middle) > budget:
            low = middle
        else:
            high = middle
        if high < low * (1 + within):
            break
    few, more = visits(high), visits(low)
    return Solution(low, high, min(max((budget - few) / (more - few), 0.0), 1.0) if more > few else 1.0)


def _around(visits: Callable[[float], float], budget: float, near: float) -> tuple[float, float]:
    """Return two multipliers, a little apart, between which the one for a budget lies."""
    step = 1.1
    if visits(near) > budget:
        low, high = near, near * step
        while visits(high) > budget and high < _HIGHEST_MULTIPLIER:
            low, high, step = high, high * step, step * step
        return low, high
    low, high = near / step, near
    while visits(low) <= budget and low > _LOWEST_MULTIPLIER:
        low, high, step = low / step, low, step * step
    return low, high


def optimal_visits(pages: Sequence[tuple[float, float]], budget: float) -> list[float]:
    """Return visits a second of each page, (rate, weight), at the optimum; looks at all pages again and again."""

    def visits(multiplier: float) -> float:
        return sum(NO_BOUNDS.visits(best_interval(rate, weight, multiplier)) for rate, weight in pages)

    solution = solved(visits, budget)
    return [solution.visits(rate, weight, NO_BOUNDS) for rate, weight in pages]


class Demand:
    """How many pages of what rate and weight there are, and how a budget is divided among them.

    A histogram: a page comes in, goes out, or changes in constant time, and its memory does not grow with pages. Pages
    of one cell, whose rates and weights are within a fifth, are visited alike; so the budget is met as planned. The
    plan is kept until a twentieth of the pages, and as many as there are cells, have moved to other cells; then it is
    made anew from the cells alone, beginning with the multiplier that it had.
    Histograms of several machines are added by `merge`.
    """

    def __init__(self, budget: float, bounds: Bounds = NO_BOUNDS) -> None:
        """Begin without pages; the budget is in visits a second."""
        self.budget = budget
        self.bounds = bounds
        self.pages = 0
        self.change_rate = 0.0  # changes a second of all pages together
        self._cells: dict[tuple[int, int], _Cell] = {}
        self._solution: Solution | None = None
        self._planned: dict[tuple[int, int], float] = {}  # visits a second of a page of a cell
        self._moved = 0  # pages since the solution was found

    def add(self, rate: float, weight: float) -> None:
        """Count a page."""
        self._count(rate, weight, 1)

    def remove(self, rate: float, weight: float) -> None:
        """Count a page no more, which was added with these numbers."""
        self._count(rate, weight, -1)

    def replace(self, rate: float, new_rate: float, weight: float) -> None:
        """Count a page by another rate."""
        self._count(rate, weight, -1)
        self._count(new_rate, weight, 1)
        self._moved -= 1 if _bin(_rate(rate)) != _bin(_rate(new_rate)) else 2

    def count(self, rate: float, weight: float, pages: int) -> None:
        """Count so many pages that are alike."""
        self._count(rate, weight, pages)

    def merge(self, other: Demand) -> None:
        """Add the pages of another histogram."""
        for key, cell in other._cells.items():
            own = self._cells.get(key, _EMPTY)
            self._cells[key] = _Cell(own.pages + cell.pages, own.rates + cell.rates, own.weights + cell.weights)
        self.pages += other.pages
        self.change_rate += other.change_rate
        self._solution = None

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self._cells)

    def multiplier(self) -> float:
        """Return the multiplier for the budget, found anew if enough pages have changed; 0 without pages."""
        solution = self._solved()
        return solution.high if solution is not None else 0.0

    def interval_s(self, rate: float, weight: float) -> float:
        """Return the seconds between two visits of a page at the optimum, within the bounds."""
        solution = self._solved()
        if solution is None:
            return self.bounds.within(0.0)
        rate, weight = _rate(rate), _weight(weight)
        key = _bin(rate), _bin(weight)
        visits = self._planned.get(key)
        if visits is None:
            visits = solution.visits(rate, weight, self.bounds)
        return self.bounds.within(1 / visits) if visits > 0 else self.bounds.longest_s

    def proportional_s(self, rate: float) -> float:
        """Return the seconds between two visits where visits are proportional to changes; within the bounds."""
        return self.bounds.within(self.change_rate / (_rate(rate) * self.budget) if self.budget > 0 else math.inf)

    def even_s(self) -> float:
        """Return the seconds between two visits where all pages have as many; within the bounds."""
        return self.bounds.within(self.pages / self.budget if self.budget > 0 else math.inf)

    def visits(self) -> float:
        """Return the visits a second that are planned: the budget, but for what bounds ask for or forbid."""
        self._solved()
        return sum(self._cells[key].pages * visits for key, visits in self._planned.items() if key in self._cells)

    def _solved(self) -> Solution | None:
        if self.pages <= 0:
            return None
        if self._solution is None or self._moved > max(_STALE * self.pages, len(self._cells)):
            means = {key: (cell.pages, *cell.means()) for key, cell in self._cells.items()}

            def visits(multiplier: float) -> float:
                return sum(
                    pages * self.bounds.visits(best_interval(rate, weight, multiplier))
                    for pages, rate, weight in means.values()
                )

            near = self._solution.high if self._solution is not None else 0.0
            self._solution = solved(visits, self.budget, near, _NEAR_ENOUGH)
            self._planned = {
                key: self._solution.visits(rate, weight, self.bounds) for key, (_, rate, weight) in means.items()
            }
            self._moved = 0
        return self._solution

    def _count(self, rate: float, weight: float, pages: int) -> None:
        rate, weight = _rate(rate), _weight(weight)
        key = _bin(rate), _bin(weight)
        cell = self._cells.get(key, _EMPTY)
        left = _Cell(cell.pages + pages, cell.rates + pages * rate, cell.weights + pages * weight)
        if left.pages > 0:
            self._cells[key] = left
        else:
            self._cells.pop(key, None)
        self.pages += pages
        self.change_rate = max(self.change_rate + pages * rate, 0.0)
        self._moved += 1


class _Cell(NamedTuple):
    """Pages whose rates and weights are nearly the same."""

    pages: int
    rates: float  # their sum
    weights: float  # their sum

    def means(self) -> tuple[float, float]:
        """Return the mean rate and weight; sums that rounding has spoilt do no harm."""
        return _rate(self.rates / self.pages), _weight(self.weights / self.pages)


_EMPTY = _Cell(0, 0.0, 0.0)


def bin_of(rate: float, weight: float) -> tuple[int, int]:
    """Return the numbers of the cell in which pages with such a rate and weight are."""
    return _bin(_rate(rate)), _bin(_weight(weight))


def centre_of(number: int) -> float:
    """Return the rate, or weight, in the middle of those of cells with this number."""
    middle: float = 2 ** ((number + 0.5) / _PER_OCTAVE)
    return middle


def _bin(value: float) -> int:
    return math.floor(_PER_OCTAVE * math.log2(value))


def _rate(rate: float) -> float:
    """Return a rate within what is told apart; what is no number counts as the slowest."""
    return min(max(_SLOWEST, rate), _FASTEST)


def _weight(weight: float) -> float:
    """Return a weight within what is told apart; what is no number counts as the lightest."""
    return min(max(_LIGHTEST, weight), _HEAVIEST)


def _gain(exponent: float) -> float:
    """Return 1 - (1 + r) exp(-r), from 0 to 1."""
    if exponent < _SMALL:
        return exponent * exponent * (0.5 - exponent / 3)
    return -math.expm1(-exponent) - exponent * math.exp(-exponent)


def _gain_inverse(gain: float) -> float:
    """Return r for which `_gain` is this, 0 to below 1: Newton's method, kept between bounds.

    With s = ln(1 + r) - r, the gain is 1 - exp(s): solved for s, which is smooth at both ends.
    """
    if gain < _SMALL**2 / 2:
        return math.sqrt(2 * gain)
    wanted = math.log1p(-gain)
    # Between these, as r - ln(1 + r) lies between r^2 / (2 (1 + r)) and r^2 / 2, and below r.
    found = -wanted + math.sqrt(wanted * wanted - 2 * wanted)
    for _ in range(_STEPS):
        step = (math.log1p(found) - found - wanted) * (1 + found) / found
        found += step
        if abs(step) < 1e-13 * found:
            break
    return found
