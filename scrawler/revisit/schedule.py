"""When a page that was just visited is due again, by one of four policies, with the reason in words."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from scrawler.revisit.estimator import DAY_S
from scrawler.revisit.policy import Demand, freshness

SOONER, LATER = 0.8, 1.4  # what the adaptive policy makes of an interval; Nutch's adaptive schedule has the same


class Policy(StrEnum):
    """How visits are divided among pages."""

    FIXED = "fixed"  # all pages equally often
    PROPORTIONAL = "proportional"  # as often as they change: worse than fixed, as Cho and Garcia-Molina prove
    ADAPTIVE = "adaptive"  # sooner after a change, later after none; needs no estimate, and knows no budget
    OPTIMAL = "optimal"  # so that weight x freshness is highest for the budget


class Visited(NamedTuple):
    """A page after a visit, as far as the policies ask."""

    rate: float  # of change, a second, as `estimator.estimate` has it now
    weight: float = 1.0  # its importance
    planned_s: float = 0.0  # the interval that was planned before this visit; 0: this was the first
    changed: bool | None = None  # since the visit before; None: there was none to compare with


class Due(NamedTuple):
    """The next visit of a page."""

    after_s: float  # seconds from this visit
    reason: str


def next_visit(policy: Policy, page: Visited, demand: Demand, every_s: float = 0.0) -> Due:
    """Return when a page is due again; always within the bounds of `demand`, which holds the budget and all pages.

    `every_s` is the interval of the fixed policy, and the first one of the adaptive; 0: what the budget gives.
    """
    even_s = demand.bounds.within(every_s) if every_s > 0 else demand.even_s()
    if policy is Policy.FIXED:
        return Due(even_s, "all pages are visited equally often")
    if policy is Policy.PROPORTIONAL:
        return Due(demand.proportional_s(page.rate), f"visits are proportional to changes: {_often(page.rate)}")
    if policy is Policy.ADAPTIVE:
        return _adapted(page, demand, even_s)
    return _optimal(page, demand)


def _adapted(page: Visited, demand: Demand, even_s: float) -> Due:
    before = page.planned_s or even_s
    if page.changed is None:
        return Due(demand.bounds.within(before), "a first visit")
    factor, why = (SOONER, "it had changed") if page.changed else (LATER, "it had not changed")
    return Due(demand.bounds.within(factor * before), f"{why}: {factor} times the interval before")


def _optimal(page: Visited, demand: Demand) -> Due:
    after_s = demand.interval_s(page.rate, page.weight)
    if demand.multiplier() * page.rate >= page.weight:
        return Due(after_s, f"{_often(page.rate)}: too often to follow with this budget, for its weight")
    return Due(after_s, f"{_often(page.rate)}: {freshness(page.rate, after_s):.0%} of the time up to date")


def _often(rate: float) -> str:
    """Say how often a page changes."""
    days = 1 / (rate * DAY_S)
    return f"it changes every {days:,.1f} days" if days >= 1 else f"it changes {1 / days:,.1f} times a day"
