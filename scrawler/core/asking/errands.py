"""What a host is asked for on behalf of other sites: the robots.txt to which theirs redirect, and parts of their pages.

It waits for the clock of the host, as its pages do, and one copy serves all. The clock is that of the site whose host
it is, where that is here; else one that is kept for it, and other machines have a say in that (see `elsewhere`). All of
it is guarded by the machine's turn. Nothing depends on a call that may not come: whoever waits looks again by itself
after a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

from scrawler.fetch.downloader import Response
from scrawler.urls.scope import authority, host_port

if TYPE_CHECKING:
    from scrawler.core.party.site import SiteContext

_OUT: Final = 60.0  # seconds after which a request that nobody has told the end of is taken for over
_LOOK: Final = 10.0  # seconds after which those look again that wait to be called
_HELD: Final = 5.0  # seconds for which a site lets a request come to its end, so that its host can be lent
_SOON: Final = 0.05  # seconds between looks at a site that has a request in flight
_FIRST: Final = 0.1  # seconds for which a site lets others go before it, or they let it
_KEPT: Final = 24 * 3600.0  # seconds for which an answer serves others (RFC 9309, 2.4) ...
_KEPT_FAILURE: Final = 60.0  # ... and one that says nothing
_MOST: Final = 2_000  # answers that are kept, and hosts whose clocks are, but for those where something goes on
_MOST_BYTES: Final = 8 << 20
_A_HEAD: Final = 1_000  # bytes, roughly, of an answer beside its body


class Others(Protocol):
    """What other machines have to say of hosts that no site here asks; called under the turn."""

    def wait(self, site: SiteContext, url: str, now: float) -> float:
        """Return 0 if a site may ask for a URL now, else when it tries again."""

    def began(self, url: str) -> None:
        """Note that a request has started."""

    def over(self, url: str, due: float) -> None:
        """Note that a request is over; its host may be asked again when it is `due`."""

    def answered(self, url: str, response: Response) -> None:
        """Keep what a site has been told at another one's host for others."""


class NoOthers:
    """There is no other machine."""

    def wait(self, site: SiteContext, url: str, now: float) -> float:
        """Let all be asked."""
        return 0.0

    def began(self, url: str) -> None:
        """Tell nobody."""

    def over(self, url: str, due: float) -> None:
        """Tell nobody."""

    def answered(self, url: str, response: Response) -> None:
        """Give nobody anything."""


class _Kept:
    """An answer that serves all who ask for the same."""

    __slots__ = ("at", "is_telling", "response", "until", "weight")

    def __init__(self, response: Response, is_telling: bool, at: float) -> None:
        self.response = response
        self.is_telling = is_telling
        self.at = at
        self.until = at + (_KEPT if is_telling else _KEPT_FAILURE)
        self.weight = _A_HEAD + len(response.body) + len(response.head)


class _Host:
    """A host that is asked on behalf of others: when it may be asked, and who waits for that, the first one first."""

    __slots__ = ("asked_at", "before", "due", "line", "out_until", "slot")

    def __init__(self) -> None:
        self.due = 0.0  # where no site here has it
        self.before = 0.0  # when its own site might have asked it, had nobody else
        self.out_until = 0.0
        self.asked_at = 0.0  # when it was asked last on behalf of others
        self.slot = 0.0  # when the first in the line may ask, though its own site may not yet
        self.line: dict[SiteContext, None] = {}


class Errands:
    """Knows which site asks which host, and what is asked for, or was, on behalf of others."""

    def __init__(self, look_again: Callable[[SiteContext], None]) -> None:
        self.others: Others = NoOthers()
        self._look_again = look_again
        self._owners: dict[str, SiteContext] = {}  # by the authority of an origin
        self._hosts: dict[str, _Host] = {}  # by that as well
        self._most_hosts = _MOST  # at which those are forgotten where nothing goes on
        self._out: dict[str, tuple[SiteContext, float]] = {}  # by URL: who asks for it, and until when that counts
        self._waiting: dict[str, dict[SiteContext, None]] = {}  # by URL: who wants the same
        self._kept: dict[str, _Kept] = {}
        self._bytes = 0

    # -- whose host it is --------------------------------------------------------------------------------------

    def meet(self, site: SiteContext, url: str, host: str) -> None:
        """Note that a site asks the host of a URL for pages; what was asked there before counts for it as well."""
        name = authority(url)
        self._owners[name] = site
        site.registry = self
        known = self._hosts.get(name)
        if known is not None:
            site.due[host] = max(site.due_at(host), known.due, known.out_until)

    def forget(self, site: SiteContext) -> None:
        """Forget a site that is let go of, but for the clocks of its hosts."""
        now = time.monotonic()
        for origin in site.origins.values():
            name, due = authority(origin.origin + "/"), site.due_at(origin.host)
            if self._owners.get(name) is not site:
                continue
            del self._owners[name]
            if due > now or name in self._hosts:
                known = self._host(name, now)
                known.due = max(known.due, min(due, now + _OUT))

    def _host(self, name: str, now: float) -> _Host:
        known = self._hosts.get(name)
        if known is None:
            self._forget_hosts(now)
            known = self._hosts[name] = _Host()
        return known

    def owner(self, url: str) -> SiteContext | None:
        """Return the site here that asks the host of a URL for pages."""
        return self._owners.get(authority(url))

    # -- what is asked for -------------------------------------------------------------------------------------

    def answer(self, url: str, now: float, since: float = -inf) -> Response | None:
        """Return an answer that others have had for the same URL a while ago.

        One that says nothing is no answer for whoever has tried `since` then: each try would come to the same.
        """
        found = self._kept.get(url)
        if found is None or now >= found.until or not (found.is_telling or found.at > since):
            return None
        return found.response

    def waits(self, site: SiteContext, url: str, now: float) -> bool:
        """Tell whether another site asks for a URL just now; then it is looked at again once that has come."""
        asks, until = self._out.get(url, (site, 0.0))
        if asks is site or now >= until:
            return False
        self._waiting.setdefault(url, {})[site] = None
        return True

    def wait_for(self, site: SiteContext, url: str, now: float) -> float:
        """Return when a site that asks for a URL tries again; 0 if as far as others go it may be asked now."""
        if self.waits(site, url, now):
            self.leave(site, url)
            return now + _LOOK
        name = authority(url)
        owner = self._owners.get(name)
        if owner is site:
            return 0.0
        known = self._host(name, now)
        known.line[site] = None
        first = self._first(known)
        if first is not site:
            return now + _LOOK
        if now < known.out_until:
            return now + _SOON
        if owner is None:
            return 0.0 if now >= known.due else known.due
        return _turn_before(owner, known, host_port(url)[0], now)

    def wait_for_others(self, site: SiteContext, url: str, now: float) -> float:
        """Return when a site tries again that might ask for a URL but for other machines, 0 if it may ask now."""
        return 0.0 if authority(url) in self._owners else self.others.wait(site, url, now)

    def leave(self, site: SiteContext, url: str) -> None:
        """Take a site out of the line at the host of a URL, if it stands there; who is the first then is called."""
        known = self._hosts.get(authority(url))
        if known is not None and site in known.line:
            was_first = self._first(known) is site
            del known.line[site]
            if was_first:
                self._call_first(known)

    def _call_first(self, known: _Host) -> None:
        known.slot = 0.0
        first = self._first(known)
        if first is not None:
            self._look_again(first)

    @staticmethod
    def _first(known: _Host) -> SiteContext | None:
        """Return who is the first in a line; those that are here no more are taken out of it."""
        for site in list(known.line):
            if site.collector is not None and not site.lost:
                return site
            del known.line[site]
        return None

    def began(self, site: SiteContext, url: str, now: float) -> None:
        """Note that a request has started."""
        self._out[url] = site, now + _OUT
        name = authority(url)
        owner = self._owners.get(name)
        known = self._hosts.get(name)
        if owner is site or known is None:
            return
        known.line.pop(site, None)
        if owner is not None:
            self._ask_owner(owner, known, host_port(url)[0], now)
        else:
            self.others.began(url)
            known.slot, known.out_until = 0.0, now + _OUT

    def over(self, site: SiteContext, url: str, due: float, now: float) -> None:
        """Note that a request is over, or given up; the host may be asked again when it is `due`."""
        if self._out.get(url, (None, 0.0))[0] is site:
            del self._out[url]
        self.others.over(url, due)
        name = authority(url)
        owner, known = self._owners.get(name), self._hosts.get(name)
        if known is not None and owner is not site:
            if owner is not None:
                self._note_over(owner, known, host_port(url)[0], due, now)
            else:
                known.due, known.out_until, known.asked_at = due, 0.0, now
            self._call_first(known)
        self._call(url)

    # -- what is asked for beside a page, as by its scripts -----------------------------------------------------

    def turn_beside(self, site: SiteContext, url: str, host: str, now: float) -> float:
        """Return when a page of a site may ask a URL for what it needs, 0 if now: then it counts as asked.

        Only what is another site here has a clock that counts, and is asked for nothing else meanwhile.
        """
        name = authority(url)
        owner = self._owners.get(name)
        if owner is None or owner is site:
            return 0.0
        known = self._host(name, now)
        if now < known.out_until:
            return now + _SOON
        at = _turn_before(owner, known, host, now)
        if not at:
            self._ask_owner(owner, known, host, now)
        return at

    def over_beside(self, site: SiteContext, url: str, host: str, now: float) -> None:
        """Note that such a request is over."""
        name = authority(url)
        owner, known = self._owners.get(name), self._hosts.get(name)
        if owner is not None and known is not None and owner is not site and known.out_until:
            self._note_over(owner, known, host, now + owner.pause, now)

    @staticmethod
    def _ask_owner(owner: SiteContext, known: _Host, host: str, now: float) -> None:
        known.slot = 0.0
        known.out_until = now + _OUT
        known.before = owner.due_at(host)
        owner.due[host] = known.out_until

    def _note_over(self, owner: SiteContext, known: _Host, host: str, due: float, now: float) -> None:
        known.due, known.out_until, known.asked_at = due, 0.0, now
        owner.due[host] = max(due, known.before)
        self._look_again(owner)

    # -- what other machines ask for ---------------------------------------------------------------------------

    def lend(self, url: str, host: str, rests: float, now: float) -> float | None:
        """Return the seconds after which another machine may ask a host for a URL: nobody here does so from now on.

        None: not yet, as it is asked here, or is to rest. A site with a request in flight begins no other one, so that
        it can be lent soon. One that waits for its place rests as its row says.
        """
        name = authority(url)
        owner, known = self._owners.get(name), self._host(name, now)
        if now < known.out_until:
            return None
        if owner is None:
            wait = max(0.0, known.due - now, rests)
        elif owner.in_flight:
            owner.due[host] = max(owner.due_at(host), now + _HELD)
            return None
        else:
            wait = max(0.0, owner.due_at(host) - now)
        if wait > _LOOK:
            return None
        if owner is None:
            known.slot, known.out_until = 0.0, now + wait + _OUT
        else:
            self._ask_owner(owner, known, host, now + wait)
        return wait

    def lent_is_over(self, url: str, host: str, due: float, now: float) -> None:
        """Note that another machine has asked a host; it may be asked again when it is `due`."""
        name = authority(url)
        owner, known = self._owners.get(name), self._host(name, now)
        if owner is None:
            known.due, known.out_until, known.asked_at = max(due, known.due), 0.0, now
        elif known.out_until:
            self._note_over(owner, known, host, due, now)
        self._call_first(known)

    def asked_elsewhere(self, url: str, host: str, due: float) -> None:
        """Note that another machine has asked a host before its site came here, and when it may be asked next.

        The site has come with the longest rest that this could take.
        """
        owner = self._owners.get(authority(url))
        if owner is not None and not owner.asked_at:
            owner.due[host] = due
            self._look_again(owner)

    def answered(self, url: str, response: Response, is_telling: bool, now: float) -> None:
        """Keep an answer for all others, and call those that wait for it."""
        gone = self._kept.pop(url, None)
        self._bytes -= gone.weight if gone is not None else 0
        kept = _Kept(response, is_telling, now)
        self._kept[url] = kept
        self._bytes += kept.weight
        while len(self._kept) > _MOST or self._bytes > _MOST_BYTES:
            oldest = next(iter(self._kept))
            self._bytes -= self._kept.pop(oldest).weight
        self._call(url)

    def rests(self, url: str, until: float) -> None:
        """Let nobody ask the host of a URL on behalf of others before a time."""
        known = self._hosts.get(authority(url))
        if known is not None:
            known.due = max(known.due, until)
        self.others.over(url, until)
        self._call(url)

    def is_wanted(self, url: str) -> bool:
        """Tell whether others wait for the answer of a URL."""
        return url in self._waiting

    def _call(self, url: str) -> None:
        for site in self._waiting.pop(url, {}):
            self._look_again(site)

    def _forget_hosts(self, now: float) -> None:
        """Forget hosts where nothing goes on, once there are many; not again for each one, where many have to stay."""
        if len(self._hosts) < self._most_hosts:
            return
        self._hosts = {
            name: known for name, known in self._hosts.items() if known.line or known.due > now or known.out_until > now
        }
        self._most_hosts = max(_MOST, 2 * len(self._hosts))


def _turn_before(owner: SiteContext, known: _Host, host: str, now: float) -> float:
    """Return when the first in the line may ask a host that a site here asks for pages, 0 if it may now.

    By turns the one goes before the other: neither keeps the other from the host for long.
    """
    if owner.in_flight:
        known.slot = 0.0
        return now + _SOON
    if known.slot and now >= known.slot:
        if owner.asked_at < known.slot:
            return 0.0
        known.slot = 0.0  # its own site was quicker
    due = owner.due_at(host)
    if owner.asked_at <= known.asked_at:  # its own site has asked nothing since
        return 0.0 if now >= due + _FIRST else due + _FIRST
    if now >= due:
        return 0.0
    known.slot = due
    owner.due[host] = due + _FIRST
    return due
