"""Keeps what is asked on behalf of other sites in line with other machines', by the database.

A host that no site here asks may be another machine's, or nobody's. So before the first request to it the database is
asked: it has a copy, or says when the host may be asked, or that its owner is to be waited for. A heartbeat tells that
other machines want something of hosts which sites here have; then these are lent, or what is known is given. The
database is asked on the store thread; a machine that lives alone asks nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.origins import Origins, answer_of, copy_of
from scrawler.core.clock import DatabaseClock
from scrawler.core.party.site import SiteContext
from scrawler.fetch.downloader import Request, Response
from scrawler.fetch.robots import robots_url
from scrawler.model.errands import Asked, Errand, Wished
from scrawler.model.robots import RobotsRow
from scrawler.model.scope import Scope
from scrawler.model.servers import Slot
from scrawler.model.terms import Millis
from scrawler.urls.scope import host_port, site_key
from scrawler.urls.scope import origin as origin_of

if TYPE_CHECKING:
    from threading import RLock

_LOOK: Final = 1.0  # seconds after which a site looks again whose answer from the database has not come
_SOON: Final = 15.0  # seconds for which the database is asked that often ...
_LATER: Final = 5.0  # ... and the seconds between two questions from then on


class Turns(Protocol):
    """The part of the store by which machines take turns at hosts."""

    def ask(self, wanted: Mapping[str, Errand]) -> Mapping[str, RobotsRow | Slot | float]:
        """Return a copy, when it may be asked for, or the seconds after which to ask again, by key of site."""

    def over(self, asked: Mapping[str, Asked]) -> None:
        """Let others ask."""

    def keep(self, copies: Sequence[RobotsRow]) -> None:
        """Keep copies that are no site's."""

    def wished(self) -> Sequence[Wished]:
        """Return what others want of sites that are here."""

    def lend(self, at: Mapping[int, Millis]) -> Collection[int]:
        """Let others ask from these times on; return at which sites they have been told."""

    def give(self, copies: Mapping[int, RobotsRow]) -> None:
        """Give copies to others."""

    def copies(self, names: Iterable[str]) -> Mapping[str, RobotsRow]:
        """Return copies."""


class _Wanted(NamedTuple):
    site: SiteContext
    errand: Errand


class _Later(NamedTuple):
    """When the database is asked again for a host, and since when that goes on."""

    at: float
    since: float


class Elsewhere:
    """The `Others` of a machine's errands; everything but what it does on the store thread is guarded by the turn."""

    def __init__(
        self,
        turns: Turns,
        origins: Origins,
        budget: AddressBudget,
        scope: Scope,
        clock: DatabaseClock,
        turn: RLock,
        look_again: Callable[[SiteContext], None],
        aside: Callable[[Callable[[], None]], None],
    ) -> None:
        """`aside(job)` runs a job soon on the store thread."""
        self._turns = turns
        self._origins = origins
        self._errands = origins.errands
        self._budget = budget
        self._scope = scope
        self._clock = clock
        self._turn = turn
        self._look_again = look_again
        self._aside = aside
        self._wanted: dict[str, _Wanted] = {}  # all of these by key of the host's site
        self._later: dict[str, _Later] = {}
        self._slots: dict[str, Slot] = {}
        self._out: set[str] = set()  # where a request is on its way in the slot that it was given
        self._over: dict[str, float] = {}  # when the host may be asked next, of what others have not been told
        self._copies: dict[str, RobotsRow] = {}  # what has come of it
        self._loose: list[RobotsRow] = []  # what has come of other requests
        self._lent: dict[int, str] = {}  # what others may ask for, by id of the site that is here
        self._asked = False  # the store thread is to look what there is to be asked
        self._serves = False  # ... and what others want

    # -- what sites here want ----------------------------------------------------------------------------------

    def wait(self, site: SiteContext, url: str, now: float) -> float:
        """Return 0 if a site may ask a host now that no site here asks, else when it tries again."""
        key = site_key(url, self._scope)
        if self._budget.alone or key == site.key:
            return 0.0
        slot = self._slots.get(key)
        if slot is not None:
            if now <= slot.end:
                return 0.0 if now >= slot.begin else slot.begin
            self._lose(key, now)
        later = self._later.get(key)
        if later is not None and now < later.at:
            return later.at
        if key not in self._wanted:
            self._wanted[key] = _Wanted(site, Errand(url, copy_name(url)))
            self._ask()
        return now + _LOOK

    def _lose(self, key: str, now: float) -> None:
        """Give a slot back in which nothing was begun."""
        del self._slots[key]
        self._over[key] = now
        self._ask()

    def began(self, url: str) -> None:
        """Note that a request has started for which `wait` has returned 0 just before."""
        key = site_key(url, self._scope)
        if self._slots.pop(key, None) is not None:
            self._out.add(key)

    def over(self, url: str, due: float) -> None:
        """Note that a request is over; its host may be asked again when it is `due`."""
        key = site_key(url, self._scope)
        if key in self._out:
            self._out.discard(key)
            self._over[key] = due
            self._ask()
        elif key in self._over:
            self._over[key] = max(due, self._over[key])

    def answered(self, url: str, response: Response) -> None:
        """Keep an answer for other machines; a site that is here keeps its own robots.txt itself."""
        key = site_key(url, self._scope)
        copy = None if self._budget.alone else self._copy(url, response)
        if copy is None:
            return
        if key in self._over:
            self._copies[key] = copy
        elif copy.origin == url:
            self._loose.append(copy)
            self._ask()

    def _copy(self, url: str, response: Response) -> RobotsRow | None:
        return copy_of(response, copy_name(url), self._clock.now())

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._aside(self._answer)

    def _answer(self) -> None:
        """Tell the database what is over, and ask it for what is wanted; done again from the start where it is busy."""
        with self._turn:
            self._asked = False
            now = time.monotonic()
            over, copies, wanted = dict(self._over), dict(self._copies), dict(self._wanted)
            loose = self._loose[:]
        if loose:
            self._turns.keep(loose)
            with self._turn:
                del self._loose[: len(loose)]
        if over:
            self._turns.over({key: Asked(_millis(due - now), copies.get(key)) for key, due in over.items()})
            with self._turn:
                for key in over:
                    del self._over[key]
                    self._copies.pop(key, None)
        if wanted:
            found = self._turns.ask({key: one.errand for key, one in wanted.items()})
            with self._turn:
                self._take(wanted, found)

    def _take(self, wanted: Mapping[str, _Wanted], found: Mapping[str, RobotsRow | Slot | float]) -> None:
        now = time.monotonic()
        for key, one in wanted.items():
            del self._wanted[key]
            what = found[key]
            before = self._later.pop(key, None)
            if isinstance(what, Slot):
                self._slots[key] = what
            elif isinstance(what, RobotsRow):
                self._errands.answered(one.errand.url, answer_of(what, one.errand.url), True, now)
            else:
                since = now if before is None else before.since
                longest = _LOOK if now < since + _SOON else _LATER  # a host may be given back before it is due
                self._later[key] = _Later(now + min(what, longest), since)
            self._look_again(one.site)

    # -- what others want of sites here ------------------------------------------------------------------------

    def beat(self, any_wished: bool) -> None:
        """Look what others want, after a heartbeat that has found that they want anything, of whomever."""
        now = time.monotonic()
        with self._turn:
            for key in [key for key, slot in self._slots.items() if slot.end < now]:
                self._lose(key, now)
            self._later = {key: later for key, later in self._later.items() if now < later.at + _SOON}
        if (any_wished or self._lent) and not self._serves:
            self._serves = True
            self._aside(self._serve)

    def _serve(self) -> None:
        self._serves = False
        wished = {one.site_id: one for one in self._turns.wished()}
        asked = {one.url for one in wished.values() if one.is_over}
        asked.update(url for site_id, url in self._lent.items() if site_id not in wished)
        copies = self._turns.copies(map(copy_name, asked)) if asked else {}
        with self._turn:
            now = time.monotonic()
            for one in wished.values():
                if one.is_over and one.site_id not in self._lent:
                    self._errands.asked_elsewhere(one.url, host_port(one.url)[0], now + one.left)
            for site_id in [site_id for site_id in self._lent if _is_over(wished.get(site_id))]:
                back = wished.get(site_id)
                self._take_back(site_id, now + back.left if back is not None and back.is_over else now, now)
            for url in asked:
                if copy_name(url) in copies:
                    self._errands.answered(url, answer_of(copies[copy_name(url)], url), True, now)
            known, lent = self._served([one for one in wished.values() if not (one.is_lent or one.is_over)], now)
        if known:
            self._turns.give(known)
        told = self._turns.lend(lent) if lent else ()
        with self._turn:
            for site_id in lent.keys() - set(told):
                self._take_back(site_id, 0.0, time.monotonic())

    def _served(self, wishes: Iterable[Wished], now: float) -> tuple[dict[int, RobotsRow], dict[int, Millis]]:
        """Return, by site, what is known here of what others want, and from when on they may ask for the rest."""
        known: dict[int, RobotsRow] = {}
        lent: dict[int, Millis] = {}
        for one in wishes:
            response = self._origins.copy_of(Request(one.url, ""), now)
            copy = None if response is None else self._copy(one.url, response)
            if copy is not None:
                known[one.site_id] = copy
                continue
            wait = self._errands.lend(one.url, host_port(one.url)[0], one.rests, now)
            if wait is not None:
                self._lent[one.site_id] = one.url
                lent[one.site_id] = self._clock.now() + self._clock.doubt + _millis(wait)
        return known, lent

    def _take_back(self, site_id: int, due: float, now: float) -> None:
        url = self._lent.pop(site_id)
        self._errands.lent_is_over(url, host_port(url)[0], due, now)


def copy_name(url: str) -> str:
    """Return under which name the database has a copy: the origin whose robots.txt it is, or the URL."""
    origin = origin_of(url)
    return origin if robots_url(origin + "/") == url else url


def _is_over(wished: Wished | None) -> bool:
    """Tell whether what was lent has come back: a new wish says so as well, or that it counts no more."""
    return wished is None or wished.is_over or not wished.is_lent


def _millis(seconds: float) -> Millis:
    return max(0, ceil(seconds * 1000))
