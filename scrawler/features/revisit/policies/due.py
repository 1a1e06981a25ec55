"""Policies of revisits: how long it is until a URL is visited again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from scrawler.features.revisit.policies.estimator import UNKNOWN, Gamma
from scrawler.features.revisit.policies.policy import Bounds, Demand
from scrawler.features.revisit.policies.schedule import Policy, Visited, next_visit
from scrawler.features.revisit.settings import WITH_BUDGET
from scrawler.model.terms import Millis
from scrawler.units import parse_seconds

POLICIES = ("off", *(str(policy) for policy in Policy))
_TIMES = ("revisit_interval", "revisit_min", "revisit_max")
_PER_DAY = "revisit_site_budget"
_COLUMNS = ("revisit", *_TIMES, _PER_DAY)
_MOST_PER_DAY = 10**9  # as the setting
_SHORTEST_S, _LONGEST_S = 1.0, 3650 * 86_400.0  # as those of the settings
_SHAPE = UNKNOWN.shape  # how sure it is that an unknown page changes as often as the first interval says


@dataclass(frozen=True, slots=True)
class Seen:
    """What a policy is told of a URL, with the visit that is just over; times are UTC milliseconds."""

    now: Millis  # of that visit
    last_at: Millis  # of the visit before; 0: there was none
    interval_ms: int  # that the policy has said at the visit before; 0: none
    changed: bool  # whether this visit has found it changed
    visits: int  # with this one
    changes: int  # with this one
    known_since: Millis
    rate: float = 0.0  # changes a second, as they are estimated; 0: nothing has estimated them
    weight: float = 1.0  # its importance
    demands: tuple[Demand, ...] = ()  # the budgets of which its visits are a part: of all sites, and of its own


class RevisitPolicy(Protocol):
    """Says when a URL is to be visited again. It must not block: it is asked for each page of a crawl that goes on."""

    @property
    def unknown(self) -> Gamma | None:
        """The rate that a page of an unknown site is taken to have; None: this policy asks for no rates."""

    @property
    def shares(self) -> bool:
        """Whether a budget is divided among its URLs."""

    def interval(self, seen: Seen) -> int:
        """Return the milliseconds from this visit to the next one; 0: never."""


@dataclass(frozen=True, slots=True)
class Off:
    """Nothing is due by itself."""

    unknown: Gamma | None = None
    shares: bool = False

    def interval(self, seen: Seen) -> int:
        """Return 0."""
        return 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """Each URL is visited again after the same time."""

    every_ms: int
    unknown: Gamma | None = None
    shares: bool = False

    def interval(self, seen: Seen) -> int:
        """Return that time."""
        return self.every_ms


class Learning:
    """A URL is visited as `schedule` makes it of how often it changes: by itself, or as its share of a budget.

    A page of an unknown site is taken to change once in the first interval; of one that is known, as its pages do.
    """

    def __init__(self, policy: Policy, first_ms: int, least_ms: int, most_ms: int) -> None:
        """Take times in milliseconds."""
        first_s = first_ms / 1000
        self.unknown = Gamma(_SHAPE, _SHAPE * first_s)
        self.shares = policy in WITH_BUDGET
        self._policy = policy
        self._first_ms = first_ms
        self._bounds = Bounds(least_ms / 1000, max(least_ms, most_ms) / 1000)
        self._alone = Demand(0.0, self._bounds)

    def interval(self, seen: Seen) -> int:
        """Return what `schedule` says, the later of two times where there are two budgets; 0 without a rate.

        A share of a budget is for URLs that were visited again: to begin with, each waits for the first interval.
        """
        if not seen.rate:
            return 0
        if self.shares and not (seen.last_at and seen.demands):  # nothing is known of how the budget is divided
            return self._first_ms
        page = Visited(seen.rate, seen.weight)
        demands = seen.demands if self.shares else (self._alone,)
        after_s = max(next_visit(self._policy, page, one).after_s for one in demands)
        return int(self._bounds.within(after_s) * 1000)


class Wishes(NamedTuple):
    """What settings, or the line of a seed, say of when URLs are visited again; times in milliseconds."""

    word: str  # of POLICIES
    interval_ms: int
    least_ms: int
    most_ms: int
    per_day: int | None = None  # the budget of its site

    def policy(self) -> RevisitPolicy:
        """Return the policy of this name."""
        if self.word == "off":
            return Off()
        if self.word == Policy.FIXED:
            return Fixed(self.interval_ms)
        return Learning(Policy(self.word), self.interval_ms, self.least_ms, self.most_ms)

    def of_seed(self, columns: Mapping[str, Any]) -> Wishes:
        """Return what holds for a seed whose line has further columns; one that cannot be read says nothing."""
        if not any(name in columns for name in _COLUMNS) or wrong_column(columns):
            return self
        word = str(columns.get("revisit") or self.word).strip().lower()
        given = self.interval_ms, self.least_ms, self.most_ms
        interval, least, most = (_read_ms(columns.get(name), one) for name, one in zip(_TIMES, given, strict=True))
        return Wishes(word, interval, least, most, _read_per_day(columns.get(_PER_DAY), self.per_day))


def wrong_column(columns: Mapping[str, Any]) -> str:
    """Say what is wrong with the columns of a seed's line that say when it is visited again; empty: nothing is."""
    word = columns.get("revisit")
    if word and str(word).strip().lower() not in POLICIES:
        return f"revisit is {str(word)[:40]!r}, and none of {', '.join(POLICIES)}"
    for name in _TIMES:
        try:
            _read_ms(columns.get(name), 0)
        except (ValueError, TypeError):
            return f"{name} is {str(columns[name])[:40]!r}, and no time such as 12h or 7d, of 1 second to 10 years"
    try:
        _read_per_day(columns.get(_PER_DAY), None)
    except (ValueError, TypeError):
        return f"{_PER_DAY} is {str(columns[_PER_DAY])[:40]!r}, and no number of URLs a day, of 1 to {_MOST_PER_DAY:,}"
    return ""


def _read_ms(written: object, otherwise: int) -> int:
    """Read a time in a column. Raises ValueError, TypeError."""
    if written is None or (isinstance(written, str) and not written.strip()):
        return otherwise
    seconds = parse_seconds(written)
    if isinstance(written, bool) or not isinstance(seconds, int | float | str):
        raise ValueError("not a time")
    found = float(seconds)
    if not _SHORTEST_S <= found <= _LONGEST_S:
        raise ValueError("too short or too long")
    return int(found * 1000)


def _read_per_day(written: object, otherwise: int | None) -> int | None:
    """Read a budget in a column. Raises ValueError, TypeError."""
    if written is None or (isinstance(written, str) and not written.strip()):
        return otherwise
    if isinstance(written, bool) or not isinstance(written, int | str) or not str(written).strip().isdecimal():
        raise ValueError("not a number")
    found = int(str(written).strip()[:20])
    if not 1 <= found <= _MOST_PER_DAY:
        raise ValueError("too few or too many")
    return found
