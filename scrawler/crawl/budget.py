"""One budget a server: what all sites at one IP address may ask of it together. Guarded by the machine's turn.

Every request counts, whatever it is for: pages, robots.txt, address literals. A site that finds its address full, or
within its pause, stands in line there; it is visited again when a place is its own, first come, first served. A site
stands in one line at most, keeps its place when it moves between collectors, and leaves the line when it has nothing
to ask there any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from scrawler.crawl.rules import CrawlRules

if TYPE_CHECKING:
    from scrawler.crawl.site import SiteContext


@dataclass(eq=False, slots=True)
class Server:
    """What is at one IP address."""

    in_flight: int = 0
    due: float = 0.0  # machine time before which it is not asked
    line: dict[SiteContext, None] = field(default_factory=dict)  # sites that wait for a place, the first one first


class AddressBudget:
    """Requests in flight and pauses by IP address; `look_again(site)` lets its holder visit a site."""

    def __init__(self, rules: CrawlRules, look_again: Callable[[SiteContext], None]) -> None:
        self._rules, self._look_again = rules, look_again
        self.servers: dict[str, Server] = {}

    def wait_for(self, site: SiteContext, address: str, now: float) -> float:
        """Return 0 if the site may ask the address now; else it stands in line, and may try at the time returned.

        It is inf for a site that is visited once its turn has come.
        """
        server = self.servers.get(address)
        if server is None:
            server = self.servers[address] = Server()
        free, line = self._free(server), server.line
        if len(line) < free or site in islice(line, free):
            if server.due <= now:
                return 0.0
            at = server.due
        else:
            at = inf
        if site.line is not server:
            self.leave(site)
            line[site] = None
            site.line = server
        site.in_line = True
        return at

    def leave(self, site: SiteContext) -> None:
        """Take a site out of the line in which it stands, if any."""
        server, site.line = site.line, None
        if server is not None:
            del server.line[site]
            self._call(server)

    def began(self, site: SiteContext, address: str) -> None:
        """Note that a request has started, for which `wait_for` has returned 0 just before."""
        self.servers[address].in_flight += 1
        if site.line is not None:
            self.leave(site)

    def over(self, address: str, now: float) -> None:
        """Note that a request is over, or given up."""
        server = self.servers[address]
        server.in_flight -= 1
        if self._rules.delay_per_ip:
            server.due = now + self._rules.delay_per_ip
        if server.line:
            self._call(server)

    def tidy(self, now: float) -> None:
        """Forget servers of which nothing is wanted; follow settings that have changed. Called every few seconds."""
        latest = now + self._rules.delay_per_ip
        for address, server in list(self.servers.items()):
            server.due = min(server.due, latest)
            if server.line:
                self._call(server)
            elif not server.in_flight and server.due <= now:
                del self.servers[address]

    def _free(self, server: Server) -> int:
        """Return how many places are free; with a pause between two requests they go one at a time."""
        return (1 if self._rules.delay_per_ip else self._rules.per_ip) - server.in_flight

    def _call(self, server: Server) -> None:
        """Visit the sites whose turn it is."""
        for site in list(islice(server.line, max(0, self._free(server)))):
            self._look_again(site)
