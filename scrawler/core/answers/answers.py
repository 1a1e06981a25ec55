"""What a page's answer does to its party: another try or a final result, links in, candidates out."""

from __future__ import annotations

from scrawler.core.answers.aliases import is_same, note_sample
from scrawler.core.answers.listing import UrlLister
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.page_rows import fault_row, page_row
from scrawler.core.answers.steps import NO_STEPS, Steps
from scrawler.core.answers.unchanged import is_to_be_whole
from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import (
    MAX_REDIRECTS,
    has_invalid_length,
    is_disbelieved,
    location_of,
    too_many_redirects,
)
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import AliasFlight, PageFlight
from scrawler.core.party.own_url import follow_own
from scrawler.core.party.relations import canonical_url, redirect_target
from scrawler.core.party.replacing import takes_place
from scrawler.core.party.site import SiteContext
from scrawler.core.party.sitemaps import list_named, list_next_usual, list_sitemaps
from scrawler.core.rules import CrawlRules, retry_pause_ms
from scrawler.core.traps.alike import LinkClass
from scrawler.core.traps.traps import PartyTraps
from scrawler.extract.links import PageLinks
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Response
from scrawler.model.lanes import SLOW, LaneKey
from scrawler.model.results import GONE, PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from scrawler.urls.analyzer import Analysis
from scrawler.urls.filters import UrlFilters
from scrawler.urls.verdict import Verdict

_READ = (Result.FETCHED.value, Result.REDIRECT.value)
_MOST_EXTERNAL = 4 << 20  # bytes of a page's external URLs: a foreign <base> makes 2 KB of each short link
_FEW_EXTERNAL = 64  # so many external URLs may be of any length
# What may come of a seed's own page at a site that has others.
_SITE_ANSWERS = frozenset({Result.HTTP_ERROR, Result.UNWANTED_TYPE, Result.TOO_LARGE, Result.ROBOTS_DENIED})
_MOST_LENGTHLESS = 1_000  # URLs of a party that wait to be asked for without regard to Content-Length


class AnswerHandler:
    """Applies the answers of pages, as they were read, to their parties; that needs the turn."""

    def __init__(self, rules: CrawlRules, filters: UrlFilters | None = None, steps: Steps = NO_STEPS) -> None:
        self._rules = rules
        self.urls = UrlLister(rules, filters, steps.order)
        self._steps = steps
        self.lists = steps.lists

    def ask_on(self, site: SiteContext, party: SeedContext) -> bool:
        """Let steps list one more URL of a party that has nothing left; returns whether one did."""
        return any(ask_on(site, party, self.urls) for ask_on in self._steps.asks_on)

    def handle(self, flight: PageFlight, response: Response, reading: PageRead) -> Fault | None:
        """Apply the answer of a page; return the fault that it met, if any, with which its URL is finished then.

        Whatever is raised on the way leaves a party that is whole: a URL is finished, or listed again, in the last
        step, and what goes into the seen filter is listed in the same step (see `SeedContext`). Links that were listed
        before a fault stay listed. Raises PluginError.
        """
        if not reading.counted:
            self.count(flight, response)
        fault = response.fault or reading.fault
        if fault is None:
            try:
                self._apply(flight, response, reading)
                return None
            except BaseException as error:
                fault = fault_of(error)
        self.finish(flight, fault_row(flight, response, reading, fault), response)
        return fault

    @staticmethod
    def count(flight: PageFlight, response: Response) -> None:
        """Count an answer, whatever it says; it may do so long before it is applied."""
        counts = flight.party.counts
        counts.requests += 1
        if response.recalled is None:
            counts.bytes += len(response.body)
        if response.further:
            counts.requests += len(response.further)
            counts.bytes += sum(len(answer.body) for answer in response.further)

    def _apply(self, flight: PageFlight, response: Response, reading: PageRead) -> None:
        self.urls.note_page(flight, reading, response.result is Result.REDIRECT)
        if "set-cookie" in response.headers:
            self.take_cookies(flight, response)
        if reading.again is not None:
            self._list_again(flight, response, reading.again)
        elif flight.lane.refetches:  # only its record was lost: all that it led to is listed, and counted
            self.finish(flight, self._row(flight, response, reading), response, reading)
        else:
            self._apply_last(flight, response, reading)

    @staticmethod
    def _row(flight: PageFlight, response: Response, reading: PageRead) -> PageRow:
        found = reading.links or reading.sitemap
        note = response.detail or (found.note if found else "")
        if response.result is Result.REDIRECT:
            note = location_of(response)
        return page_row(flight, response, reading, note)

    def _apply_last(self, flight: PageFlight, response: Response, reading: PageRead) -> None:
        """Apply an answer that is the last one of its URL, which is finished in the very last step."""
        party, links = flight.party, reading.links
        row = self._row(flight, response, reading)
        party.finder = row.url_hash
        source, fetched = None, response.result is Result.FETCHED
        shown = fetched or links is not None
        if party.traps is not None and shown and _may_be_of_trap(flight):
            row, source = _note(party.traps, row, links, reading.is_copy, flight.entry.referrer)
        if flight.is_seed and shown:  # before its links, which may lead to sitemaps
            list_named(
                flight.site, party, flight.origin, flight.entry.url, self._rules_of(flight), response, self.lists
            )
        else:
            self.look_for_sitemaps(flight, response.result, reading)
        if response.result is Result.REDIRECT:
            row = self._follow(flight, response, row)
        elif links is not None:
            if fetched and flight.entry.depth == 0:
                note_sample(flight.site, flight.origin, response)
            self._take_page(flight, links, reading, source)
        if fetched and ("link" in response.headers or (links is not None and links.canonicals)):
            target = canonical_url(party.analyzer, response, links)
            if target:
                party.add_relation(row.url_hash, "canonical", target)
        self.finish(flight, row, response, reading)

    def handle_alias(self, flight: AliasFlight, response: Response) -> Fault | None:
        """Take the answer at an address literal: if it is the site, the links to it that have waited are internal.

        Returns the fault that it met, if any; then the rest of these links is left out. Raises PluginError.
        """
        site, literal = flight.site, flight.literal
        unsure, judged = site.literals()
        waiting = unsure.get(literal, [])
        unsure[literal] = []
        judged[literal] = None
        for link in waiting:
            link.party.in_flight -= 1
        fault = response.fault
        if fault is None:
            try:
                if is_same(flight, response):
                    self.urls.list_waiting(site, waiting)
            except BaseException as error:
                fault = fault_of(error)
        if fault is not None:
            for link in waiting[:1]:
                link.party.note_fault(fault.text)
        return fault

    def finish(
        self, flight: PageFlight, row: PageRow, response: Response | None = None, page: PageRead | None = None
    ) -> None:
        """Give an entry its final result; `response` is the answer that says it, `page` what it was read to say.

        Without a page, as after a fault, which may be a step's own, no step can keep the row from its place.
        """
        if flight.lane.rereads:
            _finish_rereading(flight, row)
            return
        if flight.site.waiting_rows and flight.lane.retries_rows and not takes_place(flight, row):
            return
        if flight.site.latest:
            flight = flight._replace(known=flight.site.last_visit(row.url, flight.known))
        if flight.known is not None:
            row = row._replace(visit=flight.known.number + 1)
        if response is not None and (response.request.headers or flight.site.conditions is not None):
            response = flight.site.note_condition(row.url, response)
        if flight.entry.role is EntryRole.SITEMAP:
            row = row._replace(flags=row.flags | PageFlag.SITEMAP)
        for finish in self._steps.finishes:
            try:
                row = finish(flight, row, response, page)
            except BaseException as error:
                fault_of(error)  # what is no fault is raised again
                if page is not None:
                    raise
        flight.lane.finish(flight.index)
        flight.party.add_page(row)

    def push_back(self, flight: PageFlight, response: Response) -> None:
        """List a URL again that was refused because its site refuses all: its answer is not read."""
        self.count(flight, response)
        self._list_again(flight, response, flight.lane.key.after(pushbacks=1))
        flight.party.in_flight -= 1
        flight.site.end_fetching(flight.entry.url)

    def _list_again(self, flight: PageFlight, response: Response, lane: LaneKey) -> None:
        party, entry = flight.party, flight.entry
        not_before = 0  # what was pushed back rests with its site
        if lane.retries > flight.lane.key.retries:
            is_refused = is_to_be_whole(flight, response)
            if is_refused:
                flight.site.note_refused(entry.url)
            is_lost = response.result is Result.NOT_MODIFIED  # here, where it should be as the server says
            if not (is_refused or is_lost or is_disbelieved(response)):  # else nothing has failed
                pause = retry_pause_ms(lane.retries, self._rules_of(flight).retry_pause_ms)
                not_before = response.started_at + response.elapsed_ms + pause
            party.counts.retries += 1
        if has_invalid_length(response) and len(party.lengthless) < _MOST_LENGTHLESS:
            party.lengthless |= {entry.url}
        if lane is SLOW:
            party.counts.slowed += 1
            flight.site.told = True  # whoever takes the site over shall not ask for the page beside the server's work
        for put_off in self._steps.puts_off:
            put_off(flight, response)
        party.list_again(flight.lane, flight.index, entry._replace(not_before=not_before), lane)

    def _take_page(self, flight: PageFlight, links: PageLinks, reading: PageRead, source: LinkClass | None) -> None:
        """Follow what a page holds, as far as it and its links allow."""
        if reading.flags and self.forbids_to_follow(flight, reading):
            self._leave_out(flight, [*links.hrefs, *links.unfollowed, *links.assets], links)
            return
        if links.unfollowed:
            self._leave_out(flight, links.unfollowed, links)
        if any(follow(flight, reading, self.urls) for follow in self._steps.follows):
            return
        analysis = reading.listed or flight.party.analyzer.analyze(
            flight.entry.url, links.hrefs, links.base, links.charset, flight.site.seen
        )
        if links.refresh:
            analysis = self._follow_refresh(flight, links, analysis)
        self.urls.take(flight, analysis, flight.entry.depth + 1, source)
        if links.assets:  # after the links: what is both is a page
            self.urls.take_assets(flight, links.assets, flight.entry.depth + 1, links.base, links.charset)

    def _rules_of(self, flight: PageFlight) -> CrawlRules:
        return flight.site.own_rules or self._rules

    def forbids_to_follow(self, flight: PageFlight, reading: PageRead) -> bool:
        """Tell whether a page asks not to follow its links, and is obeyed."""
        return bool(reading.flags & PageFlag.NOFOLLOW) and self._rules_of(flight).obey_meta

    def take_cookies(self, flight: PageFlight, response: Response) -> None:
        """Keep the cookies that an answer sets, if any; done again, it changes nothing."""
        if "set-cookie" in response.headers and self._rules_of(flight).cookies:
            flight.party.take_cookies(response.request.url, response.head)

    @staticmethod
    def known_source(flight: PageFlight, links: PageLinks) -> LinkClass | None:
        """Return the pages that have the links of a page which is not applied yet, if there are any."""
        traps = flight.party.traps
        if traps is None or flight.entry.role is EntryRole.ASSET:
            return None
        return traps.known_source(flight.entry.url, links.hrefs)

    @staticmethod
    def _leave_out(flight: PageFlight, hrefs: list[str], page: PageLinks) -> None:
        """Do not follow links because their page, or their rel, asks for it."""
        party = flight.party
        if hrefs:
            party.verdicts[Verdict.NOFOLLOW] += len(hrefs)

            def resolved(href: str) -> str:
                return party.analyzer.resolve(href, page.base, page.charset) or href

            urls = map(resolved, hrefs)  # as many as there is room for
            party.rejections.add_all(Verdict.NOFOLLOW, urls, "its page, or its rel, asks not to follow it")

    def _follow_refresh(self, flight: PageFlight, links: PageLinks, analysis: Analysis) -> Analysis:
        """Follow a page that refreshes itself to another one at once, as a redirect; return its other links."""
        party, entry = flight.party, flight.entry
        found = party.analyzer.analyze(entry.url, [links.refresh], links.base, links.charset)
        targets = (*found.internal, *found.external)
        if entry.hops < MAX_REDIRECTS:
            self.urls.take(flight, found._replace(counts={}), entry.depth, hops=entry.hops + 1)
        else:
            party.verdicts[Verdict.TOO_MANY_REDIRECTS] += len(targets)
            party.rejections.add_all(Verdict.TOO_MANY_REDIRECTS, targets, too_many_redirects(links.refresh))
        return analysis._replace(
            internal=[url for url in analysis.internal if url not in targets],
            external=[url for url in analysis.external if url not in targets],
        )

    def _follow(self, flight: PageFlight, response: Response, row: PageRow) -> PageRow:
        """Follow a redirect; return the row of the URL that redirects.

        Inside the scope it is a link that costs no depth, outside a candidate, of the seed's URL a new home. What its
        X-Robots-Tag says is no matter: it speaks of the links of a page, and here is none.
        """
        party, entry = flight.party, flight.entry
        if party.traps is not None and entry.referrer:
            party.traps.pass_on(row.url_hash, entry.referrer, entry.url)
        location = location_of(response)
        if target := redirect_target(party.analyzer, entry.url, location):
            party.add_relation(row.url_hash, "redirect", target)
            if self._rules_of(flight).cookies:
                self._pass_gate(flight, response, row.url_hash, target)
        if flight.is_seed and not (flight.known is not None and flight.known.settled):
            self._follow_own(flight, location)
            return row if party.redirects <= MAX_REDIRECTS else _with_too_many(row, location)
        if entry.hops >= MAX_REDIRECTS and target and target not in flight.site.seen:
            return _with_too_many(row, location)
        hops = entry.hops + 1
        if entry.role is EntryRole.SITEMAP:
            rules = self._rules_of(flight)
            list_sitemaps(flight.site, party, [location], entry.url, entry.depth, rules, row.url_hash, hops=hops)
        elif entry.role is EntryRole.ASSET:
            self.urls.take_assets(flight, [location], entry.depth, hops=hops)
        else:
            self.urls.take(flight, party.analyzer.redirected(entry.url, location), entry.depth, hops=hops)
        return row

    def _follow_own(self, flight: PageFlight, location: str) -> None:
        """Follow the redirect of a seed's own URL."""
        party, seen = flight.party, flight.site.seen
        analysis = follow_own(party, flight.entry.url, location, self._rules.scope, seen.__contains__)
        if analysis.internal and party.leaving is not EndReason.REDIRECTED:
            self.urls.take(flight, analysis, 0)
        else:
            party.verdicts.update(analysis.counts)

    def look_for_sitemaps(self, flight: PageFlight, result: Result, reading: PageRead | None = None) -> None:
        """List the sitemaps of a seed whose own page is not to be had, or the next one that there may be."""
        entry = flight.entry
        if entry.role is EntryRole.SITEMAP:
            if result is not Result.REDIRECT and (reading is None or reading.sitemap is None):
                list_next_usual(flight.site, flight.party, entry, flight.origin, self._rules_of(flight))
        elif flight.is_seed and result in _SITE_ANSWERS:
            list_named(flight.site, flight.party, flight.origin, entry.url, self._rules_of(flight), None, self.lists)

    @staticmethod
    def _pass_gate(flight: PageFlight, response: Response, key: bytes, target: str) -> None:
        """Ask once more for the URL to which a redirect leads back, if a cookie for it was set since; see `gates`.

        One of another site is for whoever takes the party up there.
        """
        party, entry = flight.party, flight.entry
        if party.redirected.asked_again(key):
            return
        opens = party.scope.contains(target) and party.ask_opened(target)
        if not opens and flight.lane.key.retries == 0 and flight.lane.seed_id == party.seed.id:
            cookie = response.request.cookie
            party.redirected.note(key, entry.stored_depth, entry.stored_position, entry.referrer, cookie, entry.hops)


def _may_be_of_trap(flight: PageFlight) -> bool:
    """Tell whether a page counts for its pattern: what comes again, or is bounded otherwise, is no sign of a trap."""
    if flight.known is not None or flight.entry.role is EntryRole.ASSET or flight.lane.rereads:
        return False
    party = flight.party
    return not (party.states and party.is_of_step(flight.entry.url))


def _with_too_many(row: PageRow, location: str) -> PageRow:
    """Return the row of a redirect that is not followed, for it ends a long chain."""
    return row._replace(result=Result.TOO_MANY_REDIRECTS.value, detail=too_many_redirects(location)[:1000])


def _finish_rereading(flight: PageFlight, row: PageRow) -> None:
    """Leave the row of a page that was read again for its links as it is, and its record.

    Where it could not be read, its links are left out for their depth as before, so that it can be tried again.
    """
    if row.result not in _READ and row.status not in GONE:
        flight.party.verdicts[Verdict.DEPTH] += 1
    flight.lane.finish(flight.index)
    flight.party.touch()


def _note(
    traps: PartyTraps, row: PageRow, links: PageLinks | None, is_copy: bool | None, referrer: bytes
) -> tuple[PageRow, LinkClass | None]:
    """Count a fetched page for its patterns; return its row with what its text came to, and whose its links are.

    `is_copy` says, where a document was made of the page, whether there is nothing new in it.
    """
    text = links.fingerprint if links is not None else None
    # What an earlier crawl has archived is as new to this one as it was to that.
    exact = bool(row.revisit) and not row.flags & PageFlag.EARLIER if is_copy is None else is_copy
    hrefs, page = ((), b"") if links is None else (links.hrefs, links.page)
    noted = traps.note(row.url, exact, hrefs, text, page, row.url_hash, referrer)
    if links is not None:
        links.page = b""  # long pages are listed in parts, and their links are kept until then
    if text is not None:
        flags = row.flags | PageFlag.NEAR_DUPLICATE if noted.near else row.flags
        row = row._replace(simhash=text.simhash, flags=flags)
    return row, noted.source
