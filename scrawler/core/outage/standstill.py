"""A machine that rests while its own network is down. Guarded by the machine's turn.

What fails while that may be the reason is held back: its URLs are neither tried again nor given up. As soon as somebody
answers, a minute is over, or too much is held, it goes the usual way, some moments later. When it was the network (see
outage.py), it is forgotten: the failures do not count, the requests are made again. Until then the machine starts
nothing but a few of these requests now and then, for `outage_patience`; if nobody has answered by then, everything goes
the usual way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from scrawler.core.outage.silence import HOSTS, WINDOW, Silence
from scrawler.core.outage.witnesses import Witnesses
from scrawler.core.party.flights import flight_of
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.fetch.downloader import Response
from scrawler.fetch.resolver import Resolution, Resolver
from scrawler.model.results import UNREACHED, Result
from scrawler.model.terms import Millis

if TYPE_CHECKING:
    from threading import RLock

_PROBES = 3  # at a time, at different addresses
_LONGEST_PAUSE = 60.0  # seconds between two times
_SHORTEST_PAUSE = 0.1
_COUNT_EVERY = 1.0  # seconds between two looks at how many hosts are well
_MOST_HELD = 10_000  # answers, or names: so many fail at once where few of their hosts have ever answered


@dataclass(frozen=True, slots=True)
class StandstillPorts:
    """What a standstill asks of its machine; called under the turn."""

    sites: Callable[[], list[SiteContext]]  # all in work
    look_again: Callable[[SiteContext], None]  # visit a site
    go_on: Callable[[], None]  # requests may be started again, or what was held back is to be applied


class Standstill:
    """Holds back what fails while it may be the network, and lets the machine rest when it is.

    `suspected` says that somebody has failed since the last answer: only then an answer need be told.
    """

    def __init__(self, rules: CrawlRules, turn: RLock, resolver: Resolver, ports: StandstillPorts) -> None:
        self._rules = rules
        self._turn = turn
        self._resolver = resolver
        self._ports = ports
        self.suspected = False
        self.resting = False  # the network is down: nothing is started but probes
        self.probes: set[SiteContext] = set()  # sites that may start one request nevertheless
        self.witnesses = Witnesses()  # told of all who answer
        self.released: list[Response] = []  # held back before, now to be applied as usual
        self._silence = Silence()
        self._names = Silence()
        self._held: list[Response] = []
        self._held_names: list[tuple[SiteContext, Origin]] = []
        self._held_since = inf
        self._names_since = inf
        self._silent_since: Millis = 0  # when the first of what was held back had failed
        self._began = 0.0
        self._probe_at = 0.0
        self._pause = 0.0
        self._patient = True  # until `outage_patience` is over; then until somebody answers it is not suspected again
        self._possible = False
        self._counted_at = -inf
        self._turn_of = 0  # which sites are probed next

    # -- what collectors tell ----------------------------------------------------------------------------------

    def holds(self, response: Response, site: SiteContext, origin: Origin, now: float) -> bool:
        """Take in what has become of a request; returns whether it is held back.

        To be called where there was no answer and, while an outage is `suspected`, always.
        """
        if response.result not in UNREACHED:
            # What was asked for before somebody failed may have come before that, and have waited to be handled.
            if response.status and (self.resting or response.started_at > self._silent_since):
                self._answered()
            return False
        if not self._may_be_outage(now):
            return False
        if not self.resting and (response.status or not self._is_suspect(response, site, origin, now)):
            return False
        self._hold(response, site, now)
        if self.resting:
            self._ask_again()
        elif self._silence.is_outage:
            self._begin(now)
        elif len(self._held) >= _MOST_HELD:
            self._release()
        return True

    def holds_name(self, site: SiteContext, origin: Origin, now: float) -> bool:
        """Take in that a name does not resolve; returns whether that is held back: then its site is visited again."""
        if origin.sure or not self._may_be_outage(now):
            return False
        if site.slowest_ms:
            self._names.failed(origin.host, now)
        if not (self._names.begun or self.resting):
            return False
        self._held_names.append((site, origin))
        self._names_since = min(self._names_since, now)
        if self.resting:
            return True  # nothing is begun meanwhile: no more are held than there are sites
        if self._names.is_outage:
            self._begin(now)
        elif len(self._held_names) >= _MOST_HELD:
            self._release_names()
        return True

    def name_found(self) -> None:
        """Note that the system's resolver knows a name."""
        if not (self._names.begun or self._held_names):
            return
        self._names.answered()
        if not self.resting:
            self._release_names()
        elif not any(site.queued for site in self._ports.sites()):  # else their answers will tell
            self._end()

    def hand_on(self, responses: Iterable[Response]) -> None:
        """Let answers that somebody else has held back be applied now; their sites wait for them."""
        self.released += responses
        self._ports.go_on()

    def take_released(self) -> list[Response]:
        """Return what was held back and is to be applied now."""
        released, self.released = self.released, []
        for response in released:
            flight_of(response.request).site.answer_came()
        return released

    # -- now and then ------------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Give up what was held back for too long; ask again while the network is down."""
        if not self.resting:
            self._silence.forget(now)
            self._names.forget(now)
            if not (self._silence.begun or self._held) and self._patient:
                self.suspected = False
            if self._held and (now >= self._held_since + WINDOW or not self._may_be_outage(now)):
                self._release()
            if self._held_names and (now >= self._names_since + WINDOW or not self._may_be_outage(now)):
                self._release_names()
        elif now >= self._began + self._rules.outage_patience:
            self._patient = False
            self._end()
        elif now >= self._probe_at:
            self._probe(now)

    # -- decisions ---------------------------------------------------------------------------------------------

    def _may_be_outage(self, now: float) -> bool:
        """Whether there are so many hosts that were well just now that an outage could be told from their death."""
        if self.resting:
            return True
        if not (self._patient and self._rules.outage_patience):
            return False
        if now >= self._counted_at + _COUNT_EVERY:
            self._counted_at = now
            self._possible = self.witnesses.well(self._silence) >= HOSTS
        return self._possible

    def _is_suspect(self, response: Response, site: SiteContext, origin: Origin, now: float) -> bool:
        """Whether it may be the network that no head has come; notes which hosts are not reached any more.

        An answer that is late says nothing: pages are slow for many reasons.
        """
        # A head is known to be sent as well where a kept-alive connection was gone, and a new one could not be made.
        reached = response.result is not Result.CONNECT_FAILED and bool(response.request_head)
        if site.slowest_ms and not reached and not site.health.failures.get(origin.host):
            self._silence.failed(response.request.address, now)
        late = reached and response.result is Result.TIMEOUT
        return self.suspected or self._silence.begun or bool(site.slowest_ms and not late)

    def _answered(self) -> None:
        self._patient = True
        self._silence.answered()
        if self.resting:
            self._names.answered()
            self._end()
        else:
            self.suspected = False
            self._release()

    def _hold(self, response: Response, site: SiteContext, now: float) -> None:
        site.await_answer()  # a site that waits stays with its collector
        self._held.append(response)
        self._held_since = min(self._held_since, now)
        failed_at = response.started_at + response.elapsed_ms
        self._silent_since = min(self._silent_since or failed_at, failed_at)
        self.suspected = True

    def _release(self) -> None:
        """Let what was held back go the usual way: it was the hosts."""
        if self._held:
            self.released += self._held
            self._held, self._held_since = [], inf
            self._silent_since = 0
            self._ports.go_on()

    def _release_names(self) -> None:
        names, self._held_names, self._names_since = self._held_names, [], inf
        for site, origin in names:
            origin.sure = True
            self._ports.look_again(site)

    def _begin(self, now: float) -> None:
        """Rest: it is the network."""
        self.resting = self.suspected = True
        self._began = now
        self._pause = max(self._rules.retry_pause_ms / 1000, _SHORTEST_PAUSE)
        self._probe_at = now + self._pause
        for response in self._held:
            flight = flight_of(response.request)
            flight.site.health.forgive(flight.asked.host)
        self._ask_again()

    def _ask_again(self) -> None:
        """Make the requests again, before all others, when that may be."""
        held, self._held, self._held_since = self._held, [], inf
        for response in held:
            site = flight_of(response.request).site
            site.answer_came()
            site.queued.append(response.request)

    def _probe(self, now: float) -> None:
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._probe_at = now + self._pause
        waiting = {site.queued[0].address: site for site in self._ports.sites() if site.queued}
        sites = list(waiting.values())
        if not sites and not self._held_names:
            self._end()  # nobody is left to ask
            return
        first, self._turn_of = self._turn_of, self._turn_of + _PROBES
        self.probes = {sites[(first + number) % len(sites)] for number in range(min(_PROBES, len(sites)))}
        for site in self.probes:
            self._ports.look_again(site)
        self._probe_names(first)

    def _probe_names(self, first: int) -> None:
        self._resolver.forget_failures()
        names = self._held_names
        for number in range(min(_PROBES, len(names))):
            self._resolver.resolve(names[(first + number) % len(names)][1].host, self._take_name)

    def _take_name(self, _host: str, resolution: Resolution) -> None:
        with self._turn:
            if resolution.address:
                self.name_found()

    def _end(self) -> None:
        """Go on: the network is there again, or nobody waits for it any more."""
        self.resting = False
        self.suspected = not self._patient  # an outage that was given up ends with the next answer
        self._silent_since = 0
        self.probes = set()
        self._held_names, self._names_since = [], inf
        self._silence.answered()
        self._names.answered()
        self._resolver.forget_failures()
        for site in self._ports.sites():
            for origin in site.origins.values():
                if origin.failure is Result.NO_ADDRESS and not origin.pending:
                    origin.failure, origin.expires_at = None, 0.0
            self._ports.look_again(site)
        self._ports.go_on()
