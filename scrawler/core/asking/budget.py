"""One budget a server: what all sites at one IP address may ask of it together. Guarded by the machine's turn.

Every request counts, whatever it is for: pages, robots.txt, address literals. A site that finds its address full, or
within its pause, queues there; it is visited again when it may ask, first come, first served. A site queues at one
address at most, stays where it stands in the queue when it moves between collectors, and leaves the queue when it has
nothing to ask there any more.

Where several machines live, a machine may have as many requests in flight at an address as the share says that
sharing.py has got for it. With a pause between two
requests to an address they go one at a time, each at a time that was reserved in the database: so the pause holds
between machines, and from one run to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from math import inf

from scrawler.core.party.site import Server, SiteContext
from scrawler.core.progress import Lines
from scrawler.core.rules import CrawlRules
from scrawler.model.servers import Slot

_IDLE = 30.0  # seconds without a request after which the other machines may have the share of an address
# Seconds for which it is kept for a site in the queue, which has 40: at one a second, all come by then.
_EXPECTED = 60.0
_REQUESTS = 2.0  # that a site in a line makes, about: most domains at crowded addresses have one page, or none
_TIDIED = 500, 4_000  # servers that are looked at each time, at least and at most ...
_ROUND = 8  # ... and in between this part of them: most are idle for many looks before they are forgotten
_ASK_PAUSES = 0.1, 2.0  # seconds, first and longest, between two tries to get a share that other machines have


class AddressBudget:
    """Requests in flight and pauses by IP address.

    `look_again(site)` lets its holder visit a site; `ask()` says that something is to be asked of the database: shares
    of the addresses in `unknown`, or slots for those in `wishes`; or told: that shares were let go.
    """

    def __init__(
        self,
        rules: CrawlRules,
        look_again: Callable[[SiteContext], None],
        ask: Callable[[], None] = lambda: None,
    ) -> None:
        self._rules = rules
        self._look_again = look_again
        self._ask = ask
        self.servers: dict[str, Server] = {}
        self.alone = False  # no other machine lives, and none can begin without our knowing
        self.unknown: set[str] = set()
        self.wishes: set[str] = set()
        self._crowded: dict[Server, None] = {}  # servers at which sites wait
        self._to_tidy: list[str] = []  # addresses that are looked at with the next calls of `tidy`
        self._left: set[str] = set()  # addresses whose shares were let go, of which nobody has been told

    def queue_up(self, site: SiteContext, address: str, now: float) -> float:
        """Return 0 if the site may ask the address now; else it queues up, and may try at the time returned.

        It is inf for a site that is visited once its turn has come.
        """
        server = self.servers.get(address) or self._meet(address)
        server.unwanted = False
        free, queue = self._free(server), server.queue
        if len(queue) >= free and site not in islice(queue, max(0, free)):
            at = inf if self.alone or server.share else self._ask_again(server, address, site, now)
        elif self._rules.delay_per_ip:
            at = self._slot(server, address)
        else:
            return 0.0
        if at and site.queues_at is not server:
            self.leave(site)
            if not queue:
                self._crowded[server] = None
                server.queued_since = now
                server.asked_since = 0
            queue[site] = None
            site.queues_at = server
        site.still_queues = bool(at)
        return at

    def expect(self, address: str) -> None:
        """Ask for a share of an address where a site will begin soon: together with others, and it need not wait."""
        if address and not self.alone and address not in self.servers:
            self._meet(address).expected_until = time.monotonic() + _EXPECTED

    def leave(self, site: SiteContext) -> None:
        """Take a site out of the queue in which it stands, if any."""
        server, site.queues_at = site.queues_at, None
        if server is not None:
            del server.queue[site]
            if not server.queue:
                del self._crowded[server]
            self._call(server)
            if server.queue and not (server.share or self.alone):
                self._look_again(next(iter(server.queue)))  # the first in the queue asks for all from now on

    def began(self, site: SiteContext, address: str) -> None:
        """Note that a request has started, for which `queue_up` has returned 0 just before."""
        server = self.servers[address]
        server.in_flight += 1
        server.slot = None
        if site.queues_at is not None:
            self.leave(site)

    def over(self, address: str, now: float) -> None:
        """Note that a request is over, or given up."""
        server = self.servers[address]
        server.in_flight -= 1
        server.asked_at = now
        if server.queue:
            server.asked_since += 1
            self._call(server)
        elif server.unwanted:
            self._let_go(address, server, now)

    def lines(self, now: float) -> Lines:
        """Return how many sites wait for their turn at addresses, and about how long the longest line takes."""
        seconds = 0.0
        for server in self._crowded:
            if server.asked_since:
                a_request = (now - server.queued_since) / server.asked_since
                seconds = max(seconds, len(server.queue) * _REQUESTS * a_request)
        return Lines(sum([len(server.queue) for server in self._crowded]), len(self._crowded), seconds)

    def could_dismiss(self, address: str) -> bool:
        """Whether it matters to other machines that no site here asks an address, and no site here waits for it."""
        server = None if self.alone else self.servers.get(address)
        return server is not None and not server.queue

    def dismiss(self, address: str, now: float, *, waited_for: bool) -> None:
        """Let the other machines have the share of an address at which no site here has anything to ask any more.

        If they are `waited_for` that is told at once, else with what is asked next, some heartbeats later at the
        latest, and with the next one that hears of a machine which asks there.
        """
        server = self.servers.get(address)
        if server is not None and not self.alone:
            server.unwanted = True
            if self._let_go(address, server, now) and waited_for:
                self._ask()

    def _let_go(self, address: str, server: Server, now: float) -> bool:
        """Forget a server unless something is going on there, or its pause is not over: then it is tried again."""
        asking = address in self.unknown or address in self.wishes
        if server.in_flight or server.queue or asking or server.asked_at + self._rules.delay_per_ip > now:
            return False
        if server.slot is not None and server.slot.end >= now:
            return False
        del self.servers[address]
        if not self.alone:
            self._left.add(address)
        return True

    def tidy(self, now: float) -> None:
        """Forget servers that are not asked any more; follow settings that have changed. Called every few seconds.

        Of very many servers some are looked at each time.
        """
        rest = max(_IDLE, self._rules.delay_per_ip)
        if not self._to_tidy:
            self._to_tidy = list(self.servers)
        least, most = _TIDIED
        number = min(max(least, len(self.servers) // _ROUND), most)
        some = self._to_tidy[-number:]
        del self._to_tidy[-number:]
        for address in some:
            server = self.servers.get(address)
            if server is None:
                continue
            if server.queue:
                self._call(server)
            elif server.unwanted or max(server.asked_at + rest, server.expected_until) <= now:
                self._let_go(address, server, now)
            elif server.slot is not None and server.slot.end < now:
                server.slot = None

    # -- what other machines are told, and tell ----------------------------------------------------------------

    def shared(self) -> None:
        """Note that other machines live: start nothing more until it is known what may be used."""
        self.alone = False
        for server in self.servers.values():
            server.share = 0

    def pledged(self, addresses: Collection[str]) -> dict[str, int]:
        """Return how many requests may be in flight at these addresses until the next answer is there."""
        found = ((address, self.servers.get(address)) for address in addresses)
        return {address: max(server.share, server.in_flight) for address, server in found if server is not None}

    def left(self) -> list[str]:
        """Return the addresses that were left, and are not asked again, since the last `granted`."""
        self._left.difference_update(self.servers)
        return list(self._left)

    def granted(self, shares: Mapping[str, int] | None, left: Collection[str]) -> bool:
        """Take over what may be used (None: no other machine lives); returns whether less than before."""
        self._left.difference_update(left)
        self.alone = shares is None
        self.unknown.difference_update(self.servers if shares is None else shares)
        less = False
        for address in list(self.servers) if shares is None else shares:
            server = self.servers.get(address)
            if server is None:
                continue  # left meanwhile
            if shares is not None:
                less = less or shares[address] < server.share
                server.share = shares[address]
                self._answered(server)
            self._call(server)
            if server.is_new:
                server.is_new = False
                for site in server.queue:  # whoever waits for longer than for this answer gives its place up
                    self._look_again(site)
            if server.unwanted:
                self._let_go(address, server, time.monotonic())
        return less

    def slots_wished(self, now: float) -> dict[str, float]:
        """Return the addresses for which slots are wished, and the seconds that must go by before."""
        delay = self._rules.delay_per_ip
        return {address: max(0.0, self.servers[address].asked_at + delay - now) for address in self.wishes}

    def reserved(self, slots: Mapping[str, Slot]) -> None:
        """Take slots."""
        self.wishes.difference_update(slots)
        for address, slot in slots.items():
            server = self.servers[address]
            server.slot = slot
            self._call(server)

    # -- shares ------------------------------------------------------------------------------------------------

    def _meet(self, address: str) -> Server:
        server = self.servers[address] = Server(is_new=not self.alone)
        if server.is_new:
            self.unknown.add(address)
            self._ask()
        return server

    def _answered(self, server: Server) -> None:
        """Where others have all of an address, let the first in the queue ask again after a pause, which grows."""
        first, longest = _ASK_PAUSES
        if server.share:
            server.ask_pause = 0.0
        elif server.queue:
            server.ask_pause = min(max(first, 2 * server.ask_pause), longest)
            server.ask_at = time.monotonic() + server.ask_pause
            self._look_again(next(iter(server.queue)))

    def _ask_again(self, server: Server, address: str, site: SiteContext, now: float) -> float:
        """Return when a site, if it is the first in the queue, tries again to get a share that other machines have."""
        if next(iter(server.queue), site) is not site or address in self.unknown:
            return inf
        if now >= server.ask_at:
            self.unknown.add(address)
            self._ask()
            return inf
        return server.ask_at

    def _free(self, server: Server) -> int:
        """Return how many requests may start now; with a pause between two requests they go one at a time."""
        limit = self._rules.per_ip if self.alone else server.share
        return (min(1, limit) if self._rules.delay_per_ip else limit) - server.in_flight

    def _slot(self, server: Server, address: str) -> float:
        """Return 0 if a reserved time has come, or when it comes; ask for one if there is none."""
        now, slot = time.monotonic(), server.slot
        if slot is not None and now <= slot.end:
            return 0.0 if now >= slot.begin else slot.begin
        if address not in self.wishes:
            self.wishes.add(address)
            self._ask()
        return inf

    def _call(self, server: Server) -> None:
        """Visit the sites whose turn it is."""
        for site in list(islice(server.queue, max(0, self._free(server)))):
            self._look_again(site)
