"""What a page's answer does to its party: another try or a final result, links in, candidates out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from scrawler.core.answers.aliases import is_same, note_sample, suspect
from scrawler.core.answers.focus import Focus, inherited_level, score_of_level
from scrawler.core.answers.page_rows import fault_row, page_row
from scrawler.core.answers.reading import Reading
from scrawler.core.answers.visited import note_list, note_list_read, note_visit
from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import has_invalid_length, location_of
from scrawler.core.party.depth import EntryRole, stored_entry
from scrawler.core.party.flights import AliasFlight, PageFlight
from scrawler.core.party.own_url import follow_own
from scrawler.core.party.relations import canonical_url, redirect_target
from scrawler.core.party.site import SiteContext, UnsureLink
from scrawler.core.party.sitemaps import SITEMAP_DEPTH, list_named, list_sitemaps
from scrawler.core.rules import CrawlRules, retry_pause_ms
from scrawler.core.seen import SeenFilter, SeenFullError
from scrawler.core.traps.traps import LinkClass, PartyTraps
from scrawler.extract.links import LinkMark, PageLinks
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Response
from scrawler.hidden.searches import SearchPage
from scrawler.model.exchange import WaitingUrl
from scrawler.model.lanes import PUSHED, SLOW, LaneKey
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.model.visits import KnownVisit
from scrawler.units import format_bytes
from scrawler.urls.analyzer import Analysis
from scrawler.urls.filters import UrlFilters
from scrawler.urls.topic import Topic, level_of
from scrawler.urls.verdict import Verdict

_MAX_ASSET_REDIRECTS = 5
_MOST_EXTERNAL = 4 << 20  # bytes of a page's external URLs: a foreign <base> makes 2 KB of each short link
_FEW_EXTERNAL = 64  # so many external URLs may be of any length
_MOST_PASSED_BY = 100  # queries that are listed already, by links or other parties, after which nothing is asked
_MOST_LENGTHLESS = 1_000  # URLs of a party that wait to be asked for without regard to Content-Length


class AnswerHandler:
    """Applies the answers of pages, as they were read, to their parties; that needs the turn."""

    def __init__(self, rules: CrawlRules, filters: UrlFilters | None = None, focus: Focus | None = None) -> None:
        self._rules = rules
        self._filters = filters
        self._topic = focus.topic if focus is not None and focus.orders else None
        # How much the page that was applied last has to do with the topic, and the least level of what it leads to.
        self._relevance: tuple[str, float, int] = ("", 0.0, 0)
        # What the page that was applied last says of its links: URL filters may ask for it.
        self._marks: tuple[str, Mapping[str, LinkMark] | None] = ("", None)

    def handle(self, flight: PageFlight, response: Response, reading: Reading) -> Fault | None:
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
        counts.bytes += len(response.body)
        if response.rendered is not None:
            counts.requests += len(response.rendered.answers)
            counts.bytes += sum(len(answer.body) for answer in response.rendered.answers)

    def _apply(self, flight: PageFlight, response: Response, reading: Reading) -> None:
        party = flight.party
        party.rejections.page = flight.entry.url
        if self._filters is not None:
            self._marks = flight.entry.url, reading.links.marks if reading.links is not None else None
        if self._topic is not None:
            self._note_relevance(flight, reading.links, response.result is Result.REDIRECT)
        if "set-cookie" in response.headers:
            self.take_cookies(flight, response)
        if reading.again is not None:
            self._list_again(flight, response, reading.again)
        elif flight.lane.refetches:  # only its record was lost: all that it led to is listed, and counted
            self.finish(flight, self._row(flight, response, reading), response, reading.text_print)
        else:
            self._apply_last(flight, response, reading)

    @staticmethod
    def _row(flight: PageFlight, response: Response, reading: Reading) -> PageRow:
        found = reading.links or reading.sitemap
        note = response.detail or (found.note if found else "")
        if response.result is Result.REDIRECT:
            note = location_of(response)
        return page_row(flight, response, reading, note)

    def _apply_last(self, flight: PageFlight, response: Response, reading: Reading) -> None:
        """Apply an answer that is the last one of its URL, which is finished in the very last step."""
        party, links = flight.party, reading.links
        row = self._row(flight, response, reading)
        party.finder = row.url_hash
        source, fetched = None, response.result is Result.FETCHED
        shown = fetched or links is not None
        if flight.known is not None:  # what comes again is no sign of a trap
            if links is not None and links.fingerprint is not None:
                row = row._replace(simhash=links.fingerprint.simhash)
        elif party.traps is not None and shown and _can_be_trapped(flight):
            row, source = _note(party.traps, row, links, reading.is_copy)
        if party.policy is not None and links is not None:
            row = row._replace(simhash=links.simhash)
        if flight.is_seed and shown:  # before its links, which may lead to sitemaps
            list_named(flight.site, party, flight.origin, flight.entry.url, self._rules_of(flight), response)
        if response.result is Result.REDIRECT:
            self._follow(flight, response, row)
        elif links is not None:
            if fetched and flight.entry.depth == 0:
                note_sample(flight.site, flight.origin, response)
            self._take_page(flight, links, reading, source)
        names_one = "link" in response.headers or (links is not None and links.canonicals)
        if names_one and fetched and (target := canonical_url(party.analyzer, response, links)):
            party.add_relation(row.url_hash, "canonical", target)
        if reading.sitemap is not None and party.told is not None:
            note_list_read(party.told, reading.sitemap, row)
        self.finish(flight, row, response, reading.text_print)

    def handle_alias(self, flight: AliasFlight, response: Response) -> Fault | None:
        """Take the answer at an address literal: if it is the site, the links to it that have waited are internal.

        Returns the fault that it met, if any; then the rest of these links is left out. Raises PluginError.
        """
        site, literal = flight.site, flight.literal
        waiting = site.unsure.get(literal, [])
        site.unsure[literal] = []
        site.judged.add(literal)
        for link in waiting:
            link.party.in_flight -= 1
        fault = response.fault
        if fault is None:
            try:
                if is_same(flight, response):
                    self._list_waiting(site, waiting)
            except BaseException as error:
                fault = fault_of(error)
        if fault is not None:
            for link in waiting[:1]:
                link.party.note_fault(fault.text)
        return fault

    def _list_waiting(self, site: SiteContext, waiting: list[UnsureLink]) -> None:
        for link in waiting:
            link.party.rejections.page = ""  # the page on which the link stands is not known any more, but by its hash
            link.party.finder = link.referrer
            internal = link.party.analyzer.analyze(link.url, [link.url]).internal
            self._list(site, link.party, internal, link.depth)

    @staticmethod
    def finish(flight: PageFlight, row: PageRow, response: Response | None = None, text_print: bytes = b"") -> None:
        """Give an entry its final result; `response` is the answer that says it, if one came."""
        if flight.known is not None:
            row = row._replace(visit=flight.known.number + 1)
        if flight.entry.role is EntryRole.SITEMAP:
            row = row._replace(flags=row.flags | PageFlag.SITEMAP)
            note_list(flight, row)
        if flight.party.policy is not None:
            row = note_visit(flight, row, response, flight.party.policy, text_print)
        if flight.party.searches is not None:
            flight.party.searches.finished(row.url, row.result)
        flight.lane.finish(flight.index)
        flight.party.add_page(row)

    def _list_again(self, flight: PageFlight, response: Response, lane: LaneKey) -> None:
        party, entry = flight.party, flight.entry
        not_before = 0  # what was pushed back rests with its site
        if lane.retries > flight.lane.key.retries:
            pause = retry_pause_ms(lane.retries, self._rules_of(flight).retry_pause_ms)
            not_before = response.started_at + response.elapsed_ms + pause
            party.counts.retries += 1
        if has_invalid_length(response) and len(party.lengthless) < _MOST_LENGTHLESS:
            party.lengthless |= {entry.url}
        party.counts.slowed += lane is SLOW
        if entry.role is EntryRole.SITEMAP and party.told is not None:
            party.told.note_failure()  # what it tells is not known while others are visited
        party.list_again(flight.lane, flight.index, entry._replace(not_before=not_before), lane)

    def _take_page(self, flight: PageFlight, links: PageLinks, reading: Reading, source: LinkClass | None) -> None:
        """Follow what a page holds, as far as it and its links allow."""
        if reading.flags and self.forbids_to_follow(flight, reading):
            self._leave_out(flight, [*links.hrefs, *links.unfollowed, *links.assets], links)
            return
        if links.unfollowed:
            self._leave_out(flight, links.unfollowed, links)
        if links.searches is not None and self._take_searches(flight, links):
            return
        analysis = reading.listed or flight.party.analyzer.analyze(
            flight.entry.url, links.hrefs, links.base, links.charset, flight.site.seen
        )
        self._take(flight, analysis, flight.entry.depth + 1, source)
        if links.assets:  # after the links: what is both is a page
            self._take_assets(flight, links.assets, flight.entry.depth + 1, links.base, links.charset)

    def _take_searches(self, flight: PageFlight, links: PageLinks) -> bool:
        """Follow a page that answers a query; of any other, note the words and the search forms, and return False."""
        party, said = flight.party, links.searches
        assert party.searches is not None
        assert isinstance(said, SearchPage)
        if term := party.searches.term_of(flight.entry.url):
            self._take_search_answer(flight, links, term)
            return True
        if flight.known is not None:
            return False
        party.searches.learn(said.words)
        if said.forms and party.searches.wants_forms:

            def internal() -> list[str]:
                found = party.analyzer.analyze(flight.entry.url, links.hrefs, links.base, links.charset)
                return found.internal

            party.searches.meet(said.forms, flight.entry.url, flight.entry.depth, internal)
        return False

    def _take_search_answer(self, flight: PageFlight, links: PageLinks, term: str) -> None:
        """Follow what a page of the answer to a query leads to: results, and the pages on which it goes on."""
        party, seen = flight.party, flight.site.seen
        assert party.searches is not None
        analysis = party.analyzer.analyze(flight.entry.url, links.hrefs, links.base, links.charset)
        results, further, rest = party.searches.sift(term, analysis.internal)
        further = [url for url in further if url not in seen]
        admitted = party.searches.admit(term, further)
        rest += further[len(admitted) :]
        if rest:
            party.verdicts[Verdict.SEARCH_VIEW] += len(rest)
            words = "another view of the answer to a query, or one page of it too many"
            party.rejections.add_all(Verdict.SEARCH_VIEW, rest, words)
        listed = party.counts.listed
        self._take(flight, Analysis(results, analysis.external, analysis.counts), flight.entry.depth + 1)
        found = party.counts.listed - listed
        self._list_answers(flight.site, party, admitted, flight.entry.depth + 1)
        if flight.known is None:
            party.searches.answered(term, results, found)

    def _list_answers(self, site: SiteContext, party: SeedContext, urls: Sequence[str], depth: int) -> bool:
        """List URLs that ask a search form, as links of the page in work; no trap holds them. False: it is not wanted.

        How many there are is bounded: by the budget of queries, and by the pages of an answer.
        """
        deepest = (site.own_rules or self._rules).limits.max_depth - party.seed.base_depth
        if depth > deepest:
            return False
        wanted = self.wanted(site, party, list(urls), depth)
        try:
            new = party.list_new(site.seen, wanted, depth)
        except SeenFullError:
            party.leave(EndReason.SEEN_MEMORY)
            return False
        party.verdicts[Verdict.SEEN] += len(wanted) - len(new)
        return bool(wanted)

    def list_query(self, site: SiteContext, party: SeedContext) -> bool:
        """List the next query of a party's search forms, if there is one that is to be asked."""
        searches = party.searches
        assert searches is not None
        for _ in range(_MOST_PASSED_BY):
            query = searches.next()
            if query is None:
                break
            verdict, url = party.analyzer.judge(query.url, query.page)
            party.rejections.page, party.finder = query.page, url_hash(query.page)
            listed = party.counts.listed
            is_wanted = verdict is Verdict.INTERNAL and self._list_answers(site, party, [url], query.depth + 1)
            if party.counts.listed > listed:
                searches.ask(url)
                party.touch()
                return True
            if party.leaving is not None:
                break
            if is_wanted:
                searches.pass_by()
            else:
                searches.refuse()
        party.touch()
        return False

    def _rules_of(self, flight: PageFlight) -> CrawlRules:
        return flight.site.own_rules or self._rules

    def forbids_to_follow(self, flight: PageFlight, reading: Reading) -> bool:
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

    def list_part(
        self, flight: PageFlight, links: PageLinks, urls: list[str], source: LinkClass | None
    ) -> Counter[str]:
        """List internal URLs among the links of a page before it is applied; return the verdicts on others of them.

        `source` is what `known_source` returned for the page.
        """
        party, entry = flight.party, flight.entry
        party.rejections.page = entry.url
        self._marks = entry.url, links.marks
        if self._topic is not None:
            self._note_relevance(flight, links, redirects=False)
        party.finder = url_hash(entry.url)
        verdicts, party.verdicts = party.verdicts, Counter()
        try:
            self._list(flight.site, party, urls, entry.depth + 1, source)
        finally:
            counted, party.verdicts = party.verdicts, verdicts
        return counted

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

    def _take_assets(self, flight: PageFlight, hrefs: list[str], depth: int, base: str = "", charset: str = "") -> None:
        """List the internal images, scripts and styles of a page, whatever its depth; others are only counted."""
        party = flight.party
        analysis = party.analyzer.analyze_any_type(flight.entry.url, hrefs, base, charset)
        counts = dict(analysis.counts)
        if external := counts.pop(Verdict.EXTERNAL, 0):
            counts[Verdict.EXTERNAL_ASSET] = external
            party.rejections.add_all(Verdict.EXTERNAL_ASSET, analysis.external, "an asset that is external")
        party.verdicts.update(counts)
        self._list(flight.site, party, analysis.internal, depth, role=EntryRole.ASSET)

    def _take(self, flight: PageFlight, analysis: Analysis, depth: int, source: LinkClass | None = None) -> None:
        """Count links, hand external ones out, pass internal ones through the seen filter; new ones are at `depth`."""
        party, site = flight.party, flight.site
        for verdict, times in analysis.counts.items():
            party.verdicts[verdict] += times
        if analysis.external:
            external = self.wanted(site, party, analysis.external, depth)
            if len(external) > _FEW_EXTERNAL:
                external = _first_externals(party, external)
            party.note_externals(external, flight.entry.depth)
            if site.sample is not None:
                suspect(site, flight.origin, party, external, depth)
        self._list(site, party, analysis.internal, depth, source, listed=analysis.listed)

    def list_from_sitemap(self, flight: PageFlight, urls: list[str]) -> None:
        """List internal URLs that stand in a sitemap."""
        counts = flight.party.counts
        before = counts.listed
        self._list(flight.site, flight.party, urls, SITEMAP_DEPTH)
        counts.sitemap_urls += counts.listed - before

    def list_arrived(self, site: SiteContext, party: SeedContext, one: WaitingUrl) -> bool:
        """List a URL that came from another site, judged as any link of the party; False if it is not for this party.

        Neither is one that is no deeper than the party's own URL: a party of its own may go on farther from there.
        """
        depth = one.depth - party.seed.base_depth
        if one.known is not None and party.scope.contains(one.url):
            self._visit_again(site, party, one.known)
            return True
        party.rejections.page = ""  # the page on which the link stands is not known here, but by its hash
        verdict, url = party.analyzer.judge(one.url, one.url)
        if verdict is Verdict.EXTERNAL or depth < 1:
            return False
        if verdict is Verdict.INTERNAL:
            party.finder = one.referrer
            self._list(site, party, [url], depth, pushed=one.pushed)
        else:
            party.verdicts[verdict] += 1
        party.touch()
        return True

    def _visit_again(self, site: SiteContext, party: SeedContext, known: KnownVisit) -> None:
        """List a URL that was visited before, to be visited next; one that waits for its further visit is left alone.

        It was judged when it was first listed.
        """
        state = known.state
        assert state is not None
        if site.visited is None:
            site.visit_again()
        party.policy = party.policy or (site.own_rules or self._rules).revisit_policy
        if site.visited is not None and state.url not in site.visited:
            site.visited[state.url] = known
            depth = -state.depth if state.flags & PageFlag.ASSET else state.depth
            party.lane(PUSHED).append_entry(stored_entry(state.url, depth, state.position, 0, state.referrer))
        party.touch()

    def wanted(
        self,
        site: SiteContext,
        party: SeedContext,
        urls: list[str],
        depth: int,
        seen: SeenFilter | tuple[()] = (),
    ) -> list[str]:
        """Return URLs without those that a pattern or a filter refuses; what is listed already is not judged.

        Neither is where a seed's redirects lead, at depth 0. Raises PluginError.
        """
        patterns = (site.own_rules or self._rules).patterns
        if (patterns is None and self._filters is None) or depth == 0:
            return urls
        fresh = [url for url in urls if url not in seen]
        excluded = patterns.sift(fresh) if patterns is not None else {}
        _refuse(party, Verdict.EXCLUDED, excluded)
        if self._filters is None:
            return [url for url in urls if url not in excluded] if excluded else urls
        left = [url for url in fresh if url not in excluded] if excluded else fresh
        page = party.rejections.page
        of_page, marks = self._marks
        refused = self._filters.sift(left, page, depth, party.seed.url, marks if of_page == page else None)
        _refuse(party, Verdict.URL_FILTER, refused)
        return [url for url in urls if url not in refused and url not in excluded] if refused or excluded else urls

    def _list(
        self,
        site: SiteContext,
        party: SeedContext,
        urls: list[str],
        depth: int,
        source: LinkClass | None = None,
        role: EntryRole = EntryRole.PAGE,
        listed: int = 0,
        pushed: bool = False,
    ) -> None:
        """List those of the internal URLs that no party of the site has listed yet, and no trap holds.

        Those that were pushed come before all others. So many more as `listed` says were left out of them because they
        are listed.
        Assets are listed at any depth. Neither they nor where a seed's redirects lead are a matter of traps.
        """
        is_page = role is not EntryRole.ASSET
        deepest = (site.own_rules or self._rules).limits.max_depth - party.seed.base_depth
        if is_page and depth > deepest:  # before the filter: a shorter path may still lead there
            left_out = [url for url in urls if url not in site.seen]
            if left_out:
                party.verdicts[Verdict.DEPTH] += len(left_out)
                party.rejections.add_all(
                    Verdict.DEPTH, left_out, f"deeper than max_depth {deepest + party.seed.base_depth}"
                )
            return
        urls = self.wanted(site, party, urls, depth, site.seen)
        if party.traps is not None and party.traps.capping and depth > 0 and is_page:
            urls = _past_traps(site, party, party.traps, urls, source)
        try:
            if pushed:
                new = party.list_pushed(site.seen, urls, depth)
            elif self._topic is None or depth == 0 or role is not EntryRole.PAGE:
                new = party.list_new(site.seen, urls, depth, role)
            else:
                level = self._level_on(party.rejections.page, self._topic)
                new = party.list_by_level(site.seen, urls, depth, level)
        except SeenFullError:
            party.leave(EndReason.SEEN_MEMORY)
            return
        party.verdicts[Verdict.SEEN] += listed + len(urls) - len(new)
        if new and source is not None and party.traps is not None:
            party.traps.listed(new, source)

    def _note_relevance(self, flight: PageFlight, links: PageLinks | None, redirects: bool) -> None:
        """Note what a page says of the topic; where a URL redirects, its target promises what it has promised."""
        url, level = flight.entry.url, inherited_level(flight)
        known = None if links is None else links.relevance
        self._relevance = url, score_of_level(level) if known is None else known, level if redirects else 0
        self._marks = url, links.marks if links is not None else None

    def _level_on(self, page: str, topic: Topic) -> Callable[[str], int]:
        """Return what tells the level of a link on a page; of one that was not read just now, nothing is known."""
        of_page, score, least = self._relevance
        if of_page != page:
            score, least = 0.0, 0
        marks = self._marks[1] if self._marks[0] == page else None

        def level(url: str) -> int:
            mark = marks.get(url) if marks is not None else None
            return max(least, level_of(topic.of_link(url, mark.anchor if mark is not None else "", score)))

        return level

    def _follow(self, flight: PageFlight, response: Response, row: PageRow) -> None:
        """Follow a redirect: inside the scope it is a link, outside a candidate, of the seed's URL a new home.

        What its X-Robots-Tag says is no matter: it speaks of the links of a page, and here is none.
        """
        party, entry = flight.party, flight.entry
        location = location_of(response)
        if target := redirect_target(party.analyzer, entry.url, location):
            party.add_relation(row.url_hash, "redirect", target)
            if self._rules_of(flight).cookies:
                self._pass_gate(flight, response, row.url_hash, target)
        if entry.role is EntryRole.SITEMAP:
            list_sitemaps(flight.site, party, [location], entry.url, entry.depth, self._rules_of(flight), row.url_hash)
            return
        if entry.role is EntryRole.ASSET:
            self._follow_asset(flight, location)
            return
        if not flight.is_seed or (flight.known is not None and flight.known.settled):
            listed = party.counts.listed
            self._take(flight, party.analyzer.redirected(entry.url, location), entry.depth + 1)
            if party.searches is not None and flight.known is None:
                party.searches.redirected(entry.url, party.counts.listed - listed)
            return
        seen = flight.site.seen
        analysis = follow_own(party, entry.url, location, self._rules.scope, seen.__contains__)
        if analysis.internal and party.leaving is not EndReason.REDIRECTED:
            self._take(flight, analysis, 0)
        else:
            party.verdicts.update(analysis.counts)

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
            party.redirected.note(
                key, entry.stored_depth, entry.stored_position, entry.referrer, response.request.cookie
            )

    def _follow_asset(self, flight: PageFlight, location: str) -> None:
        """Follow the redirect of an asset, which may lead on below the depth limit, but not for ever."""
        depth = flight.entry.depth + 1
        deepest = self._rules_of(flight).limits.max_depth - flight.party.seed.base_depth
        if depth > deepest + 1 + _MAX_ASSET_REDIRECTS:
            flight.party.verdicts[Verdict.DEPTH] += 1
            return
        self._take_assets(flight, [location], depth)


def _can_be_trapped(flight: PageFlight) -> bool:
    """Whether a page counts for its pattern: how many answers to queries there are is bounded elsewhere."""
    searches = flight.party.searches
    is_answer = searches is not None and searches.term_of(flight.entry.url) != ""
    return flight.entry.role is not EntryRole.ASSET and not is_answer


def _refuse(party: SeedContext, reason: Verdict, refused: Mapping[str, str]) -> None:
    """Count links that are refused, with the reason of each in words."""
    if refused:
        party.verdicts[reason] += len(refused)
        for url, words in refused.items():
            party.rejections.add(reason, url, words)


def _first_externals(party: SeedContext, urls: list[str]) -> list[str]:
    """Return the first of a page's external URLs, as many as fit the bytes that are taken of them; count the others."""
    sizes = accumulate(map(len, urls))
    kept = sum(size <= _MOST_EXTERNAL for size in sizes)
    if kept == len(urls):
        return urls
    party.verdicts[Verdict.EXTERNAL_LIMIT] += len(urls) - kept
    words = f"its page has more than {format_bytes(_MOST_EXTERNAL)} of external URLs"
    party.rejections.add_all(Verdict.EXTERNAL_LIMIT, urls[kept:], words)
    return urls[:kept]


def _past_traps(
    site: SiteContext, party: SeedContext, traps: PartyTraps, urls: list[str], source: LinkClass | None
) -> list[str]:
    """Return the URLs that no trap holds; count the others."""
    kept = traps.to_list(urls, site.seen, source)
    if len(kept) < len(urls):
        party.verdicts[Verdict.TRAP] += len(urls) - len(kept)
        if party.rejections.wants(Verdict.TRAP):
            held = set(urls).difference(kept)
            capped = (url for url in urls if url in held)
            party.rejections.add_all(Verdict.TRAP, capped, "its pattern brings nothing new")
    return kept


def _note(
    traps: PartyTraps, row: PageRow, links: PageLinks | None, is_copy: bool | None
) -> tuple[PageRow, LinkClass | None]:
    """Count a fetched page for its patterns; return its row with what its text came to, and whose its links are.

    `is_copy` says of a page that was in a browser whether there is nothing new in what that made of it.
    """
    text = links.fingerprint if links is not None else None
    # What an earlier crawl has archived is as new to this one as it was to that.
    exact = bool(row.revisit) and not row.flags & PageFlag.EARLIER if is_copy is None else is_copy
    noted = traps.note(row.url, exact, links.hrefs if links is not None else (), text)
    if text is not None:
        flags = row.flags | PageFlag.NEAR_DUPLICATE if noted.near else row.flags
        row = row._replace(simhash=text.simhash, flags=flags)
    return row, noted.source
