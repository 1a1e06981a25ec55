"""What the places of a machine wait for, told from the states of their sites: nothing is noted while it crawls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import islice
from math import inf

from scrawler.core.party.site import SiteContext

_LOOKED_AT = 50  # origins of one site that are looked at: a domain may have thousands
_SITES = 300  # of more than twice as many sites some are looked at, one in so many, and stand for the others


class Wait(StrEnum):
    """What a place that is held by a collector waits for; a site has one reason, which counts for each of its seeds."""

    ANSWER = "answer"  # a page was asked for
    ROBOTS = "robots"  # a robots.txt was asked for
    DELAY = "delay"  # the pause between two requests to a host
    RESTING = "resting"  # a server has asked for time, or failed
    RETRY = "retry"  # all that is left is to be tried again later
    LINE = "line"  # others ask at its IP address
    PLACE = "place"  # one for itself: it has waited without, and others have taken all
    NAME = "name"  # the look-up of a host's address
    STORE = "store"  # the database is to tell something
    PAUSED = "paused"  # an order of the user's
    OUTAGE = "outage"  # no host answers
    OUTBOX = "outbox"  # other machines have not acknowledged what they were sent
    DATABASE = "database"  # rows wait to be written, or the lease is not renewed
    TURN = "turn"  # nothing: it is about to go on


def waits(sites: Sequence[SiteContext], now: float, held_up: Wait | None) -> Mapping[str, int]:
    """Count the seeds that are held by what they wait for, at machine time `now`. Called under the turn.

    `held_up` is what keeps the whole machine from starting requests, if anything does.
    """
    found: Counter[str] = Counter()
    each = max(1, len(sites) // _SITES)
    for site in sites[::each]:
        found[_wait(site, now, held_up).value] += each * site.count
    return dict(found)


def _wait(site: SiteContext, now: float, held_up: Wait | None) -> Wait:
    if site.in_flight:
        return Wait.ANSWER if site.fetching else Wait.ROBOTS
    if site.waiting:
        pending = any(origin.pending for origin in islice(site.origins.values(), _LOOKED_AT))
        return Wait.NAME if pending else Wait.STORE
    if held_up is not None:
        return held_up
    if site.queues_at is not None:
        return Wait.LINE
    if site.comes_back:
        return Wait.PLACE
    at = site.wake_at
    if now < at < inf:
        return _pause(site, at)
    return Wait.TURN


def _pause(site: SiteContext, at: float) -> Wait:
    """Tell for what a site waits that is looked at again at a time."""
    if at <= site.rest_until or any(at <= until for until in site.health.rests.values()):
        return Wait.RESTING
    return Wait.DELAY if any(at <= due for due in site.due.values()) else Wait.RETRY
