"""What is done about a site that begins to refuse: answers are held, a page is asked for that was good, it rests.

`party.refusals` decides; here it is carried out. Guarded by the machine's turn. Each answer that is held is of a URL
in flight: killed meanwhile, a machine has done nothing, and the URLs are asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from scrawler.archive.record import base32, digest
from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.durable.reads import StoreReads
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.conditions import refuses_condition
from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import shuts_door
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight, ProbeFlight, flight_of
from scrawler.core.party.refusals import ROW, SHORT_ROW, Refusals, Says
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.fetch.downloader import Request, Response
from scrawler.model.replaced import ListedRow
from scrawler.model.results import Result
from scrawler.units import counted


class Governor:
    """Holds what may be refusals of a whole site until it is known; lets the site rest if it is."""

    def __init__(self, answers: AnswerHandler, standstill: Standstill, reads: StoreReads, rules: CrawlRules) -> None:
        self._answers = answers
        self._reads = reads
        self._standstill = standstill
        self._rules = rules

    # -- what answers tell -------------------------------------------------------------------------------------

    def lets_pass(self, flight: PageFlight, response: Response) -> bool:
        """Take in the answer of a page, by which its site did not push back; return whether it is applied now."""
        if refuses_condition(response):
            return True  # it is asked for once more, without the condition
        site, origin = flight.site, flight.origin
        refusals = origin.refusals
        if refusals is None:
            before = site.pages_before
            is_here = before is not None and before.good.startswith(origin.origin + "/")
            refusals = origin.refusals = Refusals(before if is_here else None)
        known = flight.known
        was = None if known is None else known.digest
        said = refusals.read(response, flight.entry.role is EntryRole.PAGE, was)
        if said is Says.REFUSES and self._may_refuse(flight, refusals):
            return self._suspect(flight, response, refusals)
        if said is not Says.NOTHING:
            site.health.refused = 0
            self._serves(site, origin)
            if site.held and not site.probing:
                self._release(site, response)
            if not refusals.good:
                refusals.take_good(response, was, below=flight.entry.depth > 0)
        return True

    def pushed_back(self, site: SiteContext) -> None:
        """Note that a site has said itself that it refuses: so it was with what is held."""
        if site.held and not site.probing:
            self._list_again(site)

    def probed(self, flight: ProbeFlight, response: Response, now: float, pushed_back: bool) -> None:
        """Take the answer of a page that was good."""
        site, origin, party = flight.site, flight.origin, flight.party
        party.counts.requests += 1
        party.touch()
        site.probing = False
        refusals = origin.refusals
        if refusals is None or not refusals.still_refuses(response):
            if site.refusing is None and refusals is not None:
                refusals.believe()
            site.refusing = None
            self._serves(site, origin)
            if site.held and shuts_door(site.held[-1]):
                site.health.failures[origin.host] = SHORT_ROW  # the row goes on: all else may be gone
            self._release(site)
            return
        if site.refusing is None:
            self._ask_first_again(site, refusals)
        site.refusing = origin
        if shuts_door(response):
            site.health.forgive(origin.host)  # it is there, and wants no requests
        if not pushed_back:
            site.health.refuse(origin.host, _problem(site, refusals, response), now, self._rules_of(origin))
            site.count_push_back(party)
        self._list_again(site)

    # -- what is asked for -------------------------------------------------------------------------------------

    def holds_up(self, site: SiteContext, party: SeedContext, now: float) -> float:
        """Return when a site is visited again that is asked for one page alone, and ask for that if it is time."""
        origin = site.refusing
        if site.probing or origin is None:
            return inf
        at = site.due_at(origin.host)
        if at > now:
            return at
        self._ask(site, party, origin)
        return now

    def nothing_left(self, site: SiteContext) -> None:
        """Decide about what is held where nothing else is to be asked for, whose answer would tell.

        That is at the end of a list, or where the site is to go to another machine. Not while more of a list comes.
        """
        if site.probing or site.in_flight or (site.loads and not site.going):
            return
        last = site.held[-1]
        flight = flight_of(last.request)
        assert isinstance(flight, PageFlight)
        if len(site.held) >= SHORT_ROW:
            self._ask(site, flight.party, flight.origin)
        else:
            self._release(site)

    # -- how ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _may_refuse(flight: PageFlight, refusals: Refusals) -> bool:
        """Whether there were pages before, and the host is the one for which the party would end."""
        if flight.origin.host != flight.party.home_host:
            return False
        return bool(refusals.good or flight.party.counts.pages)

    def _suspect(self, flight: PageFlight, response: Response, refusals: Refusals) -> bool:
        """Hold an answer, or list its URL again, if it may be that the site refuses; return whether it passes."""
        site = flight.site
        shut = shuts_door(response)
        if shut and site.refusing is None and site.health.failures.get(flight.origin.host, 0) != SHORT_ROW:
            return True
        if site.refusing is None and not shut and refusals.is_believed():
            return True
        site.await_answer()
        site.held += (response,)
        site.health.refused += 1
        if site.refusing is not None:
            self._list_again(site)
            return False
        row = 1 if site.health.pushbacks or shut else ROW
        if len(site.held) >= row and not site.probing:
            self._ask(site, flight.party, flight.origin)
        _look_again(site)
        return False

    def _ask(self, site: SiteContext, party: SeedContext, origin: Origin) -> None:
        """Ask for a page that was good, before all others."""
        refusals = origin.refusals
        url = party.seed.home_url
        if refusals is not None and refusals.good:
            url = refusals.good
        cookie = party.cookies.header(url) if party.cookies else ""
        flight = ProbeFlight(site, party, origin)
        accept = (site.own_rules or self._rules).accept
        site.probing = True
        site.queued.append(Request(url, origin.address, flight, cookie=cookie, accept=accept))
        _look_again(site)

    def _release(self, site: SiteContext, served: Response | None = None) -> None:
        """Let what is held be applied: its pages are refused, not the crawler.

        With `served`, a page that came, only what was refused before that was asked for: others were in flight.
        """
        held, site.held = site.held, ()
        if served is not None and (site.own_rules or self._rules).most_in_flight > 1:
            site.held = tuple([one for one in held if one.started_at + one.elapsed_ms >= served.started_at])
            held = tuple([one for one in held if one.started_at + one.elapsed_ms < served.started_at])
        if held:
            self._standstill.hand_on(held)

    def _ask_first_again(self, site: SiteContext, refusals: Refusals) -> None:
        """Let those pages be asked for again that a wall has given before it was known for one."""
        last = site.held[-1] if site.held else None
        if last is None or last.result not in (Result.FETCHED, Result.REDIRECT):
            return
        payload = digest(last.body) if last.result is Result.FETCHED else b""
        parties = {
            flight.party.seed.id for one in site.held if isinstance(flight := flight_of(one.request), PageFlight)
        }

        def done(found: Sequence[ListedRow]) -> None:
            site.answer_came()
            for one in found:
                party = site.in_work(one.row.seed_id)
                if party is not None and party.leaving is None:
                    party.ask_again(one)
            _look_again(site)

        for seed_id in sorted(parties):
            site.await_answer()
            self._reads.find_newest(site, seed_id, refusals.firsts, payload, done)

    def _list_again(self, site: SiteContext) -> None:
        """List the URLs again whose answers are held; what was refused too often may be the page's own."""
        held, site.held = site.held, ()
        most = (site.own_rules or self._rules).max_pushbacks
        for response in held:
            flight = flight_of(response.request)
            assert isinstance(flight, PageFlight)
            if flight.lane.key.pushbacks + 1 >= most:
                self._standstill.hand_on([response])
                continue
            site.answer_came()
            self._answers.push_back(flight, response)
            site.count_push_back(flight.party)
        _look_again(site)

    def _serves(self, site: SiteContext, origin: Origin) -> None:
        health = site.health
        if health.pushbacks or health.paces:
            health.serve(origin.host, self._rules_of(origin).delay)

    def _rules_of(self, origin: Origin) -> CrawlRules:
        return origin.own_rules or self._rules


def _problem(site: SiteContext, refusals: Refusals, response: Response) -> str:
    """Say in words why a site is taken for one that refuses."""
    if site.held and site.held[-1].result is Result.FETCHED:
        refusals.problem += f" (sha1:{base32(digest(site.held[-1].body))})"
    elif site.held and not shuts_door(site.held[-1]):
        refusals.problem += f" ({counted(site.health.refused, 'time')} in a row)"
    what = refusals.problem or f"HTTP status {response.status}"
    return f"{what}, and for {response.request.url} as well, which was a page before"


def _look_again(site: SiteContext) -> None:
    if site.collector is not None:
        site.collector.look_again(site)
