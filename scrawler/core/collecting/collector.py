"""URL Collector: one crawling thread, a small event loop over its Seed Contexts (paper 004, section 3.2).

It starts a download for every site that is due and handles what has completed. Only `Downloader.wait` blocks, and
only that happens outside the machine's turn. Politeness is a due time in a heap.
"""

from __future__ import annotations

import threading
import time
from math import inf
from typing import Final

from scrawler.core.answers.lister import SitemapLister
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.unchanged import is_unchanged
from scrawler.core.asking.visits import Visits
from scrawler.core.blame.slots import Slot
from scrawler.core.collecting.landing import Landing
from scrawler.core.collecting.places import Places, WaitingRoom, has_pages, look_after, only_waits
from scrawler.core.collecting.schedule import Schedule
from scrawler.core.distribution.ports import CollectorPorts
from scrawler.core.durable.handover import Handover
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import Flight, PageFlight, RobotsFlight, flight_of, read_url
from scrawler.core.party.site import SiteContext
from scrawler.core.progress import Totals
from scrawler.core.rules import CrawlRules
from scrawler.faults import fault_of
from scrawler.fetch.downloader import Downloader, Request, Response
from scrawler.model.results import Result
from scrawler.threads import WorkerThread

# Bytes; larger pages are read outside the turn. For usual ones that costs more than it brings: parsing and compressing
# use the second processor then, but the threads fight over the interpreter lock (seven threads: 1,080 us of CPU a page
# against 960, for 8 % more pages/s).
_LARGE_BODY: Final = 1 << 18

# Seconds for which a collector keeps the turn while responses come in; each hand-over costs cold caches (20 threads
# with 2 sites each: 680 us of CPU a page when the turn was handed on after each response or two, 647 so).
_TURN: Final = 0.01

_IN_FLIGHT, _STARTS = 96, 32  # with more requests in flight than the first, so many are started before answers are
# looked for again, as many as are read at once. Where a thousand sites are due and the processor is late, all of them
# would else be asked while answers wait in the system, at 7 KB a request; and how long a server took would be measured
# with what the answer had to wait. Threads with few sites are not held up.

_LONGEST_WAIT: Final = 60.0  # seconds for which a collector with nothing to do sleeps, unless it is woken

# Seconds between two slices of a long list: a lock that is taken back at once goes to nobody else.
_GIVE_WAY: Final = 0.001


class UrlCollector:
    """What one of the machine's crawling threads does; holds up to `capacity` Seed Contexts."""

    def __init__(
        self,
        number: int,
        turn: threading.RLock,
        stop: threading.Event,
        downloader: Downloader,
        visits: Visits,
        landing: Landing,
        lister: SitemapLister,
        slot: Slot,
        standstill: Standstill,
        handover: Handover,
        rules: CrawlRules,
        ports: CollectorPorts,
        waiting_room: WaitingRoom,
    ) -> None:
        self.thread = WorkerThread(self, f"collector-{number}")
        self.number = number
        self.totals = Totals()
        self._turn = turn
        self._halt = stop
        self._downloader = downloader
        self._doubted: list[Request] = getattr(downloader, "doubted", [])  # those of other packages may have none
        self._visits = visits
        self._landing = landing
        self._lister = lister
        self._slot = slot
        self._standstill = standstill
        self._rules = rules
        self._ports = ports
        self.places = Places(rules, waiting_room)
        self.held_at_end = 0  # when it let go of all that was left
        self._crowded: dict[SiteContext, None] = {}  # sites of which seeds are set aside, for want of room
        self._schedule = Schedule(self)
        self._handover = handover
        self._unchanged: list[Response] = []  # of which this crawl does not know what they mean
        self._blocked = False  # a site could not be visited, because nothing may be started now
        self._may_begin = True  # a request that was started but has not gone out: some downloaders queue
        self._retired = False
        self._saw_end = False  # whether it was ending when it took its last turn
        self._grace_ends = inf

    # -- called by others, under the turn ------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Seeds that may still be given to this collector: none before those that have come back have their places."""
        return 0 if self._retired or self.places.back else self.places.free

    @property
    def waiting(self) -> SiteContext | None:
        """The first site that waits for a place, if it may go to another collector now."""
        if not self.places.back:
            return None
        site = self.places.first_back
        return site if site is not None and site.inactive and not site.going else None

    @property
    def lets_in(self) -> bool:
        """Whether there is a place here for the first site that waits for one, and somebody to give it."""
        return not self._retired and self.places.has_place_for_first

    @property
    def sites(self) -> dict[int, SiteContext]:
        """The sites that have places, by id."""
        return self.places.sites

    @property
    def held(self) -> int:
        """Seeds held now: the parties of the sites that have places."""
        return self.places.held

    def take_in(self, site: SiteContext) -> None:
        """Receive a site with its parties, from the queue or from another collector."""
        site.collector = self
        self._standstill.witnesses.came(site)
        self.places.add(site)
        self._crowded[site] = None
        self._fill(site, self.room)
        self.look_again(site)
        self._downloader.wake()

    def give_away(self, site: SiteContext) -> None:
        """Let go of an inactive site, so that another collector can take it in."""
        self.places.remove(site)
        self._crowded.pop(site, None)
        site.collector, site.wake_at = None, -1.0
        site.connected = False
        if self.places.back:
            self._downloader.wake()  # they may have its place

    def look_again(self, site: SiteContext) -> None:
        """Visit a site as soon as possible."""
        self._schedule.put(site, 0.0)

    def drop(self, site: SiteContext) -> None:
        """Forget a site whose lease is lost; nothing of it may be written any more."""
        site.lost = True
        self._release(site, time.monotonic())
        self._ports.seeds_changed()
        self._downloader.wake()

    def wake(self) -> None:
        """Make the loop turn once."""
        self._downloader.wake()

    def retire(self) -> None:
        """Come to an end by itself: what is in flight is finished, then the sites go back to the database."""
        self._retired = True
        for site in self.places:
            self._visits.leave(site)
        self._downloader.wake()

    def hurry(self) -> None:
        """Do not wait, at the end, for what is in flight."""
        self._grace_ends = 0.0
        self._downloader.wake()

    def abandon(self) -> None:
        """Let go of what it has, in the place of its thread, which could not be started."""
        self._downloader.close()
        self._slot.close()

    @property
    def _ending(self) -> bool:
        return self._retired or self._halt.is_set()

    # -- the loop ------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Loop until stopped; errors end the machine, not just this thread."""
        self._slot.belongs_here()
        try:
            going = True
            while going:
                self._downloader.wait(self._patience(), begin=self._may_begin)
                with self._turn:
                    going, large = self._take_turn()
                if self._unchanged:
                    large = [*large, *self._restored()]
                self._lister.read()
                if large:
                    readings = list(map(self._read, large))  # others go on meanwhile
                    with self._turn:
                        for response, reading in self._lister.take_long(large, readings):
                            self._apply(response, reading)
                        going = self._go_on(self._ending)
            with self._turn:
                while self._lister.begun:  # a long page is handed over as a whole, or not at all
                    self._list_part()
        except BaseException as error:
            with self._turn:
                self._ports.failed(error)
        finally:
            with self._turn:
                self._let_go(time.monotonic())
            self._downloader.close()
            self._slot.close()

    def _patience(self) -> float:
        """Seconds until something is due."""
        if self._lister.busy and not self._blocked:
            return _GIVE_WAY
        at = min(self._handover.next_at, self._grace_ends)
        if not self._saw_end:  # then nobody is visited any more
            at = min(at, self._schedule.next_at)
        return min(max(0.0, at - time.monotonic()), _LONGEST_WAIT)

    def _take_turn(self) -> tuple[bool, list[Response]]:
        """Go on with what comes in while the turn may be kept; return whether to go on, and what to read outside it."""
        ends_at, ending = time.monotonic() + _TURN, self._ending
        self._saw_end = ending
        while True:
            landed = self._land(time.monotonic(), ending)
            if self._unchanged:
                return True, landed
            for response in landed:
                if _is_large(response):
                    return True, landed
            for response in landed:
                self._read_and_apply(response)
            going = self._go_on(ending)
            now = time.monotonic()
            is_late = not ending and self._schedule.next_at <= now
            if not going or now >= ends_at or not (is_late or self._downloader.ready()):
                return going, []

    def _land(self, now: float, ending: bool) -> list[Response]:
        """Take what has completed; where there is no delay, the next request starts before the page is read."""
        landed = []
        for response in self._downloader.completed():
            flight = flight_of(response.request)
            site, due = flight.site, self._visits.landed(flight, response, now)
            counts, as_sitemap = True, False
            looks_inside = response.status > 0 and not _is_usual(flight, response)
            if looks_inside:
                self._slot.enter(site.id, read_url(flight, response.request))
            if response.status and not site.slowest_ms:
                self.places.room.answered_first(response.elapsed_ms / 1000)
            try:
                counts = self._visits.note(flight, response, now)
                as_sitemap = looks_inside and counts and self._lister.wants(response)
            except BaseException as error:
                response = response.met(fault_of(error))
            finally:
                if looks_inside:
                    self._slot.leave()
            waits = ending or isinstance(flight, RobotsFlight)  # for what its robots.txt says
            if due <= now and not waits and not self._ports.wants_site(self):
                site.wake_at = -1.0
                self._visit(site, now)
            if as_sitemap:
                self._lister.take(response)
            elif counts and looks_inside and isinstance(flight, PageFlight) and is_unchanged(flight, response):
                self._unchanged.append(response)
            elif counts:
                landed.append(response)
        if self._doubted:
            landed = self._believed(landed)
        if self._standstill.released:
            landed += self._standstill.take_released()
        return landed

    def _believed(self, landed: list[Response]) -> list[Response]:
        """Let answers that their downloader does not believe any more, as the next request has shown, say nothing."""
        doubted = set(map(id, self._doubted))
        self._doubted.clear()
        is_doubted = [id(response.request) in doubted for response in self._unchanged]
        landed += [one for one, wrong in zip(self._unchanged, is_doubted, strict=True) if wrong]
        self._unchanged = [one for one, wrong in zip(self._unchanged, is_doubted, strict=True) if not wrong]
        return [one.disbelieved() if id(one.request) in doubted else one for one in landed]

    def _restored(self) -> list[Response]:
        """Make answers whole that say that nothing has changed; return them but for sitemaps.

        Others go on meanwhile, for files may be read.
        """
        unchanged, self._unchanged = self._unchanged, []
        whole = []
        for response in unchanged:
            flight = flight_of(response.request)
            assert isinstance(flight, PageFlight)
            self._slot.enter(flight.site.id, read_url(flight, response.request))
            try:
                response = self._landing.restore(flight, response)
                as_sitemap = self._lister.wants(response)
            finally:
                self._slot.leave()
            if as_sitemap:
                with self._turn:
                    self._lister.take(response)
            else:
                whole.append(response)
        return whole

    def _read(self, response: Response) -> PageRead | None:
        flight = flight_of(response.request)
        self._slot.enter(flight.site.id, read_url(flight, response.request))
        try:
            return self._landing.read(flight, response)
        finally:
            self._slot.leave()

    def _apply(self, response: Response, reading: PageRead | None) -> None:
        flight = flight_of(response.request)
        self._slot.enter(flight.site.id, read_url(flight, response.request))
        try:
            self._apply_to_site(flight, response, reading)
        finally:
            self._slot.leave()

    def _read_and_apply(self, response: Response) -> None:
        """Do both for one that is in the slot all the time."""
        flight = flight_of(response.request)
        self._slot.enter(flight.site.id, read_url(flight, response.request))
        try:
            self._apply_to_site(flight, response, self._landing.read(flight, response))
        finally:
            self._slot.leave()

    def _apply_to_site(self, flight: Flight, response: Response, reading: PageRead | None) -> None:
        site = flight.site
        try:
            fault = self._landing.apply(flight, response, reading)
        except BaseException:
            site.lost = True  # applied in part: what was checkpointed is whole, this is not
            raise
        now = time.monotonic()
        if isinstance(flight, PageFlight):
            self.totals.count(response, fault is None)
            self._handover.answered(site, flight.party, now)
            if site.is_held_by(self) and self._let_rest(site, flight, now):
                return
        else:
            self._handover.answered(site, None, now)
            if isinstance(flight, RobotsFlight) and site.is_held_by(self) and self._let_wait(site, flight, now):
                return
        holder = site.collector
        if holder is not None and site.in_flight < (site.own_rules or self._rules).most_in_flight:
            holder.look_again(site)  # another collector by now, if the site moved when its request was over

    def _let_rest(self, site: SiteContext, flight: PageFlight, now: float) -> bool:
        """Let a site wait for the pause of its host, if that is all that is to be done; returns whether it is."""
        if site.wake_at != inf or site.is_aside or site.is_opening or self._ports.wants_site(self):
            return False
        at = self._visits.let_rest(site, flight.origin, now)
        if at:
            self._schedule.put(site, at)
        return at > 0

    def _let_wait(self, site: SiteContext, flight: RobotsFlight, now: float) -> bool:
        """Let a site wait for the next try, or for its first page, without a visit; returns whether it does.

        Whoever has answered, and has no place, may need one first.
        """
        if site.wake_at == 0.0 or (site.is_aside and site.slowest_ms) or self._ports.wants_site(self):
            return False
        at = self._visits.let_rest(site, flight.origin, now)
        if at:
            self._put_off(site, at, now)
        return at > 0

    def _go_on(self, ending: bool) -> bool:
        """Start what is due, list on, checkpoint if it is time; returns whether to go on."""
        if self._lister.busy:
            self._list_on()
        now = time.monotonic()
        if not ending:
            self._ports.help_yourself(self)
            in_flight = self._downloader.in_flight
            most = max(_IN_FLIGHT, in_flight + _STARTS)
            while self._downloader.in_flight < most and (site := self._schedule.take_due(now)) is not None:
                if self.places.may_ask(site) or site.going:
                    self._visit(site, now)
                else:
                    self._wait_for_place(site)
            self._use_places()
        if now >= self._handover.next_at:
            self._handover.checkpoint(now)
        if ending:
            self._grace_ends = min(self._grace_ends, now + self._ports.grace())
            at_work = self._downloader.in_flight > 0 or (self._lister.busy and not self._blocked)
            return at_work and now < self._grace_ends
        if not self._downloader.at_once:
            may_start = self._ports.may_start()
            self._may_begin = may_start or self._standstill.resting  # a machine that rests started probes alone
            self._blocked = self._blocked or not may_start
        return True

    def _list_on(self) -> None:
        """List some more of what is in work."""
        if self._ports.may_start():
            self._list_part()
        else:  # rows of what is listed wait as well
            self._blocked = True

    def _list_part(self) -> None:
        part = self._lister.work_off()
        if part is None:
            return
        site = part.flight.site
        if part.over:
            self._apply(part.response, part.reading)
            if site.listing:
                site.listing = False
                self._handover.changes(site, time.monotonic())
        else:
            self._handover.answered(site, part.flight.party, time.monotonic())
        self.look_again(site)

    # -- visits --------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Look for what may be done now: requests may be started again, or something else has come."""
        if self._ports.may_start():
            self.unblocked()
        self._downloader.wake()

    def unblocked(self) -> None:
        """Go on: requests may be started again."""
        if self._blocked:
            self._blocked = False
            for site in self.places:
                self.look_again(site)
            self._downloader.wake()

    def _visit(self, site: SiteContext, now: float) -> None:
        """Start what the site may start now, end its parties that are over, and note when to come back."""
        if not site.is_held_by(self):
            return
        if site.arrived:
            self._take_arrived(site)  # whatever holds requests up: whoever has sent it may rest until it is listed
        inactive = site.inactive
        if site.going and inactive and not site.queued:
            self._release(site, now)
            self._ports.seeds_changed()
            return
        if not self._ports.may_start():
            if self._ports.may_probe(site):
                self._schedule.put(site, self._visits.probe(site, now))
                return
            self._blocked = True
            site.held_since = 0.0  # by something else than politeness
            return
        if inactive:
            self._ports.site_inactive(self)
            if not site.is_held_by(self):
                return
        at = self._visits.start_requests(site, now)
        self._handover.changed(site, now)
        self._let_go_of_what_is_over(site, at, now)
        if site.is_held_by(self) and site.wake_at < 0:  # else something came meanwhile for which to look again at once
            self._put_off(site, at, now)

    def _let_go_of_what_is_over(self, site: SiteContext, at: float, now: float) -> None:
        """Settle parties that have ended, or let go of a site that has nothing to do before a time."""
        if site.arrived and not [party for party in site.parties if not party.ended]:
            site.leave(site.arrived)
            site.put_aside()  # whoever has the site when it goes on finds them where they are
        if [party for party in site.parties if party.ended] or (not site.parties and site.inactive):
            self._settle(site, now)
        elif site.inactive and not site.queued and site.rests_long(at, now):
            self._release(site, now, resting=True)
            self._ports.seeds_changed()

    def _put_off(self, site: SiteContext, at: float, now: float) -> None:
        """Visit a site again at a time; until then its place is for others, if it only waits."""
        self.places.recount(site)
        # Where the downloader queues requests, nobody may have been asked yet who does not answer.
        if site.is_opening and has_pages(site):
            self.places.goes_on(site)
            if self.places.free < 0 and not site.is_aside:
                self._wait_for_place(site)
        soon = self.places.room.soon if self._downloader.at_once else inf
        if site.comes_back:
            self.places.comes_back(site)
            self._ports.seeds_changed()  # another collector may have room
        elif only_waits(site, at, now, soon):
            if self.places.give_up(site):
                self._ports.seeds_changed()
        elif not site.is_aside:
            at = min(at, look_after(site, now, soon))
        self._schedule.put(site, at)

    def _take_arrived(self, site: SiteContext) -> None:
        """List what has come out of a site's inbox; what is for none of its parties stays there.

        Not before all parties have begun, for the first entry of each is its own URL, nor in the midst of a long page.
        """
        parties = [party for party in site.parties if not party.ended]
        unbegun = [party for party in parties if not (party.begun or party.leaving)]
        if site.listing or unbegun or (site.set_aside and not parties):
            return
        arrived = site.arrived
        site.put_aside()
        for one in arrived:
            self._slot.enter(site.id, one.url)
            try:
                if self._landing.list_arrived(site, parties, one):
                    site.taken.append(one.id)
                else:
                    site.leaves_inbox = True
                    site.leave([one])
            finally:
                self._slot.leave()
        self._handover.changes(site, time.monotonic())

    # -- ends of parties, and of sites here ----------------------------------------------------------------

    def _settle(self, site: SiteContext, now: float) -> None:
        """Hand over the ends of parties; fill up with seeds that were set aside, or let go of the site."""
        if site.is_over:
            self._release(site, now)  # which hands over the ends as well: most sites have one party
        else:
            self._hand_over_ends(site, now)
        self._fill_up()
        if site.is_held_by(self) and site.count == 0 and site.inactive:
            if site.set_aside:
                self._wait_for_place(site)
            elif site.more_seeds:
                self._ports.more_seeds(site)
            else:
                self._release(site, now)
        self._ports.seeds_changed()

    def _hand_over_ends(self, site: SiteContext, now: float) -> None:
        self._handover.ends(site, now)
        if not site.listing:
            before = site.count
            site.forget_ended()
            self.places.changed(site, site.count - before)

    def _wait_for_place(self, site: SiteContext) -> None:
        """Let a site go on when there is a place for it, and for those that have come back before."""
        if site.is_aside or self.places.give_up(site):
            self.places.comes_back(site)

    def _use_places(self) -> None:
        """Let sites that have come back go on as far as there are places, then further seeds of those that have one."""
        if self.places.back:
            while (site := self.places.let_back()) is not None:
                self._crowded[site] = None
                if not site.parties:
                    self._fill(site, 1)
                self.look_again(site)
            if not self.places.back:
                self._ports.seeds_changed()
        if self._crowded and self.room > 0:
            self._fill_up()

    def _fill_up(self) -> None:
        """Let seeds come in that were set aside; those of a site without a place follow when it has one again."""
        for site in list(self._crowded):
            if site.is_aside:
                del self._crowded[site]
            else:
                self._fill(site, self.room)

    def _fill(self, site: SiteContext, room: int) -> None:
        if site.set_aside and room > 0:
            coming = site.set_aside[:room]
            del site.set_aside[:room]
            site.parties += coming
            self.places.changed(site, len(coming))
            self.look_again(site)
        if not site.set_aside:
            self._crowded.pop(site, None)

    def add_parties(self, site: SiteContext, parties: list[SeedContext], more: bool) -> None:
        """Take further seeds of a site that is held already (or none: then it is let go)."""
        site.more_seeds = more
        site.set_aside.extend(parties)
        self._crowded[site] = None
        self._settle(site, time.monotonic())
        self._downloader.wake()

    def _release(self, site: SiteContext, now: float, resting: bool = False) -> None:
        self._handover.release(site, now, resting)
        self._visits.leave(site)
        if self.places.ends(site):
            self._crowded.pop(site, None)
        site.collector = None
        self._ports.site_released(site)

    def submit_now(self, site: SiteContext) -> None:
        """Hand over what the site has not yet handed over."""
        self._handover.changes(site, time.monotonic())

    def _let_go(self, now: float) -> None:
        """Give all sites back to the database; what was in flight is fetched again by the next owner."""
        self.held_at_end = self.held
        for request in self._downloader.cancel():
            self._visits.given_up(request, now)
        for site in list(self.places):
            self._release(site, now)


def _is_usual(flight: Flight, response: Response) -> bool:
    """Whether nothing of an answer is looked at before it is read: a page below the seed's, whole, and no sitemap."""
    if response.result is not Result.FETCHED or not isinstance(flight, PageFlight):
        return False
    return flight.entry.depth != 0 and flight.entry.role is not EntryRole.SITEMAP


def _is_large(response: Response) -> bool:
    """Whether an answer is read outside the turn: for its body, or for the document that was made of it."""
    if len(response.body) > _LARGE_BODY:
        return True
    document = response.document
    if document is None:
        return False
    return len(document.html) + sum(len(answer.body) for answer in response.further) > _LARGE_BODY
