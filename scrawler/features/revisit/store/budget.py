"""Budgets of visits again: so many URLs a day, of all sites and of each, however many machines let rounds begin.

What is spent is a time: up to when the budget has been used. It lags behind the clock by an hour at most, or by the
time of one visit if that is longer: what nobody has used before then is lost, so that no flood follows a quiet day. It
is moved in the transaction that lists URLs to be visited, so nothing is spent twice, or for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, Table, select, update

from scrawler.model.terms import Millis
from scrawler.store.schema.tables import crawl, site

_DAY: Millis = 24 * 3600 * 1000
_HOUR: Millis = 3600 * 1000


class Allowed(NamedTuple):
    """How many visits a budget has room for, and when for the next one."""

    visits: int
    next_at: Millis


def allowance(clock: Millis, per_day: int, now: Millis) -> Allowed:
    """Return how many visits are left of a budget that is spent up to `clock`."""
    begun = _since(clock, per_day, now)
    visits = (now - begun) * per_day // _DAY
    return Allowed(visits, now if visits else begun + _time_of(1, per_day))


def spent(clock: Millis, per_day: int, now: Millis, visits: int) -> Millis:
    """Return up to when a budget is spent, after so many visits more."""
    return _since(clock, per_day, now) + _time_of(visits, per_day)


def _time_of(visits: int, per_day: int) -> Millis:
    """Return the time that visits take of a budget, rounded up: rounded down, many small steps would spend too much."""
    return -(-visits * _DAY // per_day)


def _since(clock: Millis, per_day: int, now: Millis) -> Millis:
    lag = max(_HOUR, _DAY // per_day + 1)
    return now if clock > now else max(clock, now - lag)  # a time to come was written by a clock that was ahead


class Purse(NamedTuple):
    """A budget in the database: of the crawl, or of a site."""

    table: Table
    identity: int
    per_day: int

    @classmethod
    def of_all(cls, per_day: int) -> Purse:
        """Return the budget of all sites."""
        return cls(crawl, 1, per_day)

    @classmethod
    def of_site(cls, site_id: int, per_day: int) -> Purse:
        """Return the budget of a site."""
        return cls(site, site_id, per_day)

    def left(self, connection: Connection, now: Millis) -> Allowed:
        """Return what is left of it; the row is locked, so that nobody spends it meanwhile."""
        return allowance(self._clock(connection, locked=True), self.per_day, now)

    def look(self, connection: Connection, now: Millis) -> Allowed:
        """Return what is left of it at this moment."""
        return allowance(self._clock(connection, locked=False), self.per_day, now)

    def spend(self, connection: Connection, now: Millis, visits: int) -> None:
        """Take visits out of it, in the transaction in which was asked what is left."""
        after = spent(self._clock(connection, locked=False), self.per_day, now, visits)
        mine = self.table.c.id == self.identity
        connection.execute(update(self.table).where(mine).values(revisit_clock=after))

    def _clock(self, connection: Connection, locked: bool) -> Millis:
        query = select(self.table.c.revisit_clock).where(self.table.c.id == self.identity)
        return int(connection.scalar(query.with_for_update() if locked else query) or 0)
