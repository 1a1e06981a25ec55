"""When a page that was just visited is due again, by one of four policies, with the reason in words."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from scrawler.features.revisit.policies.estimator import DAY_S
from scrawler.features.revisit.policies.policy import Demand, freshness


class Policy(StrEnum):
    """How visits are divided among pages."""

    FIXED = "fixed"  # all pages equally often
    PROPORTIONAL = "proportional"  # as often as they change: worse than fixed, as Cho and Garcia-Molina prove
    ADAPTIVE = "adaptive"  # as often as a page changes; knows no budget, and asks for what there is to be seen
    OPTIMAL = "optimal"  # so that weight x freshness is highest for the budget


class Visited(NamedTuple):
    """A page after a visit, as far as the policies ask."""

    rate: float  # of change, a second, as `estimator.estimate` has it now
    weight: float = 1.0  # its importance


class Due(NamedTuple):
    """The next visit of a page."""

    after_s: float  # seconds from this visit
    reason: str


def next_visit(policy: Policy, page: Visited, demand: Demand, every_s: float = 0.0) -> Due:
    """Return when a page is due again; always within the bounds of `demand`, which holds the budget and all pages.

    `every_s` is the interval of the fixed policy; 0: what the budget gives.
    """
    if policy is Policy.FIXED:
        every_s = demand.bounds.within(every_s) if every_s > 0 else demand.even_s()
        return Due(every_s, "all pages are visited equally often")
    if policy is Policy.PROPORTIONAL:
        return Due(demand.proportional_s(page.rate), f"visits are proportional to changes: {_often(page.rate)}")
    if policy is Policy.ADAPTIVE:
        return Due(demand.bounds.within(1 / page.rate), f"a visit for each change: {_often(page.rate)}")
    return _optimal(page, demand)


def _optimal(page: Visited, demand: Demand) -> Due:
    after_s = demand.interval_s(page.rate, page.weight)
    if demand.multiplier() * page.rate >= page.weight:
        return Due(after_s, f"{_often(page.rate)}: too often to follow with this budget, for its weight")
    return Due(after_s, f"{_often(page.rate)}: {freshness(page.rate, after_s):.0%} of the time up to date")


def _often(rate: float) -> str:
    """Say how often a page changes."""
    days = 1 / (rate * DAY_S)
    return f"it changes every {days:,.1f} days" if days >= 1 else f"it changes {1 / days:,.1f} times a day"
