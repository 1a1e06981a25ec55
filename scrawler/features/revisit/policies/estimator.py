"""How often a page changes, by checks at any intervals each of which says changed or not, and no more.

Changes are taken for a Poisson process of rate L a second (Cho and Garcia-Molina, "Estimating frequency of change", ACM
TOIT 2003). Checks that find a change after t have the probability 1 - exp(-L t), others exp(-L t); where the server
says when the last change was, a seconds ago, its density is L exp(-L a) (their section 6). So the most likely rate
solves

    (shape + dated) / L + sum over changed of t / (exp(L t) - 1)  =  prior time + unchanged time

which falls in L and has one solution. A Gamma prior of a site (`shape`, `time_s`) has the same form as dated changes,
which is why it stands in the same place. Half an interval without a change is added where there is no prior: for
regular checks that is exactly their bias-corrected estimator, and without it a page that has always changed would have
an infinite rate.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

DAY_S = 86_400.0
YEAR_S = 365.25 * DAY_S
LOWEST_RATE = 1 / (50 * YEAR_S)  # a second; slower than that and faster than a change a second nothing can be told
HIGHEST_RATE = 1.0
KEEP = 1 - 1 / 64  # of what was known remains at each check, as pages change their ways: so checks count 64 at most
_HALF_CHECK = 0.5  # Cho and Garcia-Molina's correction, in intervals without a change
_PACKED = struct.Struct("<7f")
_LONGEST_S = 50 * YEAR_S  # an interval that is longer counts as this
_SMALL, _LARGE = 1e-6, 600.0  # exponents below which a series is more exact, and above which nothing is left
_ALIKE = 1e-2  # intervals whose deviation is such a share of their mean are taken to be equal
_STEPS = 1_000  # of Newton's method, which takes some ten, and more where next to no time was without a change


class Gamma(NamedTuple):
    """What a page's rate is taken to be before it was checked: Gamma with a shape, and `time_s` for its rate."""

    shape: float
    time_s: float  # shape / time_s is the mean

    @property
    def mean(self) -> float:
        """The rate that is expected, in changes a second."""
        return self.shape / self.time_s


UNKNOWN = Gamma(0.5, 0.5 * 30 * DAY_S)  # the rates of the web are spread wide, around a month
NO_PRIOR = Gamma(0.0, 0.0)


class Checks(NamedTuple):
    """All that is kept of the checks of a page: sums, so that those of a page come to 28 bytes whatever their number.

    Intervals that ended in a change are known by number, sum and sums of squares and cubes: the equation is solved for
    two groups with these moments, which is off by far less than the estimate's own error.
    """

    checks: float = 0.0
    changed: float = 0.0  # of them that found a change of unknown time
    changed_s: float = 0.0  # sum of their intervals
    changed_sq: float = 0.0  # sum of the squares of their intervals
    changed_cube: float = 0.0  # sum of their cubes
    dated: float = 0.0  # checks that found a change whose time the server tells
    unchanged_s: float = 0.0  # all time of which is known that there was no change

    def checked(self, interval_s: float, changed: bool, age_s: float | None = None, keep: float = KEEP) -> Checks:
        """Return the checks with one more, so long after the one before; an interval of 0 or less tells nothing.

        `age_s` is how long ago the server says that the last change was, None if it does not say so, or is not
        believed. An age that contradicts what was found (a change before the last check) is ignored.
        """
        if not 0 < interval_s < math.inf:
            return self
        interval_s = min(interval_s, _LONGEST_S)
        old = Checks(*(keep * one for one in self))
        checks, unchanged_s = old.checks + 1, old.unchanged_s
        if not changed:
            return old._replace(checks=checks, unchanged_s=unchanged_s + interval_s)
        if age_s is not None and 0 <= age_s <= interval_s:
            return old._replace(checks=checks, dated=old.dated + 1, unchanged_s=unchanged_s + age_s)
        return old._replace(
            checks=checks,
            changed=old.changed + 1,
            changed_s=old.changed_s + interval_s,
            changed_sq=old.changed_sq + interval_s**2,
            changed_cube=old.changed_cube + interval_s**3,
        )

    def packed(self) -> bytes:
        """Return 28 bytes for the database; seven digits of each number are kept."""
        return _PACKED.pack(*self)

    @classmethod
    def unpacked(cls, packed: bytes) -> Checks:
        """Return the checks that were packed; none if these are not 28 bytes of them."""
        if len(packed) != _PACKED.size:
            return cls()
        found = cls(*_PACKED.unpack(packed))
        return found if all(0 <= one < math.inf for one in found) else cls()


class Rate(NamedTuple):
    """A rate that was estimated, and how sure it is."""

    per_s: float  # changes a second
    error: float  # standard error as a share of it, by the Fisher information; infinite where nothing is known


def estimate(checks: Checks, prior: Gamma = UNKNOWN) -> Rate:
    """Return the most likely rate of change of a page, with what is known of its site as prior.

    With `NO_PRIOR` it is the estimator of Cho and Garcia-Molina, which is free of bias where checks are regular and
    frequent enough; a page that was never checked then has the lowest rate.
    """
    dated, unchanged_s = checks.dated, checks.unchanged_s
    if prior.shape == 0:
        dated = _dated_without_bias(checks)
        unchanged_s += _HALF_CHECK * _mean_interval(checks) if checks.changed else 0.0
    groups = _two_groups(checks)
    rate = most_likely(groups, unchanged_s + prior.time_s, prior.shape + dated)
    information = (prior.shape + checks.dated) / rate**2 + sum(n * _information(rate, t) for n, t in groups)
    return Rate(rate, 1 / (rate * math.sqrt(information)) if information > 0 else math.inf)


def regular_rate(checks: float, changed: float, interval_s: float) -> float:
    """Return Cho and Garcia-Molina's estimate for regular checks: -ln((n - X + 0.5) / (n + 0.5)) / I."""
    return -math.log((checks - changed + _HALF_CHECK) / (checks + _HALF_CHECK)) / interval_s


def most_likely(changed: Sequence[tuple[float, float]], unchanged_s: float, dated: float = 0.0) -> float:
    """Return the most likely rate of intervals that ended in a change, as (number, seconds), and of time without one.

    Newton's method on the equation times L, whose left side is convex and falls: from 0 it comes to the solution from
    below, without passing it. Where there is none, or it lies outside, the lowest or the highest rate.
    """
    rate = 0.0
    for _ in range(_STEPS):
        value, slope = dated - unchanged_s * rate, unchanged_s
        for number, seconds in changed:
            part, fall = _expected_changes(rate * seconds)
            value += number * part
            slope += number * fall * seconds
        if slope <= 0:
            return HIGHEST_RATE if value > 0 else LOWEST_RATE
        step = value / slope
        rate += step
        if rate >= HIGHEST_RATE or step <= 1e-10 * rate:
            break
    return min(max(rate, LOWEST_RATE), HIGHEST_RATE)


class SiteRates(NamedTuple):
    """The rates of a site's pages by their moments, of which a next page's prior is made (empirical Bayes)."""

    pages: float = 0.0
    total: float = 0.0  # sum of their rates, without prior
    squares: float = 0.0  # sum of the squares of these
    noise: float = 0.0  # sum of the squares of their standard errors: what of the spread is none of the pages'

    def replaced(self, before: Checks | None, now: Checks) -> SiteRates:
        """Return the moments after a page was checked once more; `before` is what was known of it, None if nothing.

        Sums only: the order in which a site's pages are checked makes no difference.
        """
        return self.swapped(moments_of(before) if before is not None else _NOTHING, moments_of(now))

    def swapped(self, before: SiteRates, now: SiteRates) -> SiteRates:
        """Return the moments with other ones of a page, for who keeps these (`SiteRates().replaced(None, checks)`)."""
        return SiteRates(*(max(0.0, own - old + new) for own, old, new in zip(self, before, now, strict=True)))

    def prior(self, general: Gamma = UNKNOWN) -> Gamma:
        """Return the Gamma of a page of this site; a site of which little is known is like all others (`general`).

        Its mean and variance are those of the pages, together with a few of the general kind; what the estimates
        of single pages add to the variance is taken off.
        """
        pages = self.pages + _GENERAL_PAGES
        mean = (self.total + _GENERAL_PAGES * general.mean) / pages
        squares = self.squares - self.noise + _GENERAL_PAGES * general.mean**2 * (1 + 1 / general.shape)
        variance = max(squares / pages - mean**2, mean**2 / _MOST_SHAPE)
        shape = min(max(mean**2 / variance, _LEAST_SHAPE), _MOST_SHAPE)
        return Gamma(shape, shape / mean)


_GENERAL_PAGES = 2.0  # pages of the general kind that each site has in addition
_LEAST_SHAPE, _MOST_SHAPE = 0.25, 8.0  # a prior counts as so many changes, at least and at most
_FEW_CHECKS = 3.0  # a page that was checked less often says nothing of its site
_NOTHING = SiteRates()


def moments_of(checks: Checks) -> SiteRates:
    """Return what one page adds to the rates of its site."""
    if checks.checks < _FEW_CHECKS:
        return _NOTHING
    rate, error = estimate(checks, NO_PRIOR)
    if error == math.inf:
        rate = error = 0.0
    return SiteRates(1.0, rate, rate * rate, min(error, 1.0) ** 2 * rate * rate)


def _expected_changes(exponent: float) -> tuple[float, float]:
    """Return x / (exp(x) - 1), and how steeply it falls; 1 and 0.5 for x = 0."""
    if exponent < _SMALL:
        return 1 - exponent / 2, 0.5 - exponent / 6
    if exponent > _LARGE:
        return 0.0, 0.0
    growth = math.expm1(exponent)
    return exponent / growth, (exponent * (growth + 1) / growth - 1) / growth


def _information(rate: float, seconds: float) -> float:
    """Return the Fisher information that a check has which found a change, of the rate."""
    exponent = rate * seconds
    if exponent < _SMALL:
        return 1 / rate**2
    return (seconds / (2 * math.sinh(exponent / 2))) ** 2 if exponent < _LARGE else 0.0


def _mean_interval(checks: Checks) -> float:
    """Return the mean interval of checks, dated ones aside, whose time is known in part only."""
    return (checks.changed_s + checks.unchanged_s) / checks.checks


def _dated_without_bias(checks: Checks) -> float:
    """Return for X dated changes what to count them as: X - 1 - X / (n ln(1 - X / n)), by their section 6.2."""
    share = min(checks.dated / checks.checks, 1.0) if checks.checks else 0.0
    if share < 1e-9:
        return checks.dated
    last = 0.0 if share >= 1 - 1e-9 else -share / math.log1p(-share)
    return max(checks.dated - 1 + last, 0.0)


def _two_groups(checks: Checks) -> list[tuple[float, float]]:
    """Return two groups of intervals, (number, seconds), with the moments of those with a change.

    They are the nodes of Gauss's quadrature, which integrates what is nearly a cubic in the interval nearly rightly.
    """
    number = checks.changed
    if number <= 0:
        return []
    mean = checks.changed_s / number
    square, cube = checks.changed_sq / number, checks.changed_cube / number
    variance = square - mean * mean
    if variance <= (_ALIKE * mean) ** 2:
        return [(number, mean)]
    lean = (cube - 3 * mean * square + 2 * mean**3) / (2 * variance)
    reach = math.sqrt(lean * lean + variance)
    low, high = max(mean + lean - reach, 0.0), mean + lean + reach
    share = (mean - low) / (high - low)
    return [(number * (1 - share), low), (number * share, high)]
