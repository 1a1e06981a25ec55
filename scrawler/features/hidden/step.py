"""The hidden web within a crawl: what a page says of search forms, what their answers lead to, the next query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from scrawler.assembly.building import Building
from scrawler.core.answers.listing import UrlLister
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.steps import Want
from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFullError
from scrawler.extract.links import PageLinks
from scrawler.features.hidden.log import SearchLog
from scrawler.features.hidden.searches import Searches, read_search_page
from scrawler.features.hidden.settings import HiddenSettings
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.urls.analyzer import Analysis
from scrawler.urls.verdict import Verdict

_MOST_PASSED_BY = 100  # queries that are listed already, by links or other parties, after which nothing is asked


def build(building: Building) -> None:
    """Let a machine ask search forms."""
    building.steps.append(HiddenStep(building.rules, SearchLog(building.database)))


class HiddenStep:
    """The step: reads forms and words of pages, asks the forms once all else is fetched, and follows answers."""

    at: int
    wants: frozenset[Want] = frozenset()

    def __init__(self, rules: CrawlRules, log: SearchLog) -> None:
        self._rules = rules
        self._log = log

    def party_state(self, site: SiteContext, party: SeedContext) -> Searches | None:
        """Return what a party's search forms were asked so far, where its site's are asked."""
        rules, seed = site.own_rules or self._rules, party.seed
        if not HiddenSettings.of(rules.settings).hidden:
            return None
        kept = self._log.of_seed(seed.id) if seed.counts.requests else None

        def queries() -> int:
            return HiddenSettings.of(rules.settings).hidden_queries

        return Searches(seed.id, queries) if kept is None else Searches(seed.id, queries, *kept)

    def _searches(self, party: SeedContext) -> Searches | None:
        return cast("Searches | None", party.state_of(self.at))

    def read(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Read the search forms of a page, and its words."""
        links = page.links
        if links is None or flight.entry.role is not EntryRole.PAGE or self._searches(flight.party) is None:
            return
        page.found[self.at] = read_search_page(links.page, links.is_xml, flight.entry.url, links.base, links.charset)

    def finish(self, flight: PageFlight, row: PageRow, response: Response | None, page: PageRead | None) -> PageRow:
        """Note that a URL has its final result, and what a query that redirects has listed."""
        party = flight.party
        searches = self._searches(party)
        if searches is None:
            return row
        if row.result == Result.REDIRECT.value and flight.known is None:
            searches.redirected(row.url, party.counts.listed - searches.listed_before)
        searches.finished(row.url, row.result)
        searches.listed_before = party.counts.listed
        return row

    def follow(self, flight: PageFlight, page: PageRead, urls: UrlLister) -> bool:
        """Follow a page that answers a query; of any other, note the words and the search forms, and return False."""
        party, links = flight.party, page.links
        searches, said = self._searches(party), page.found[self.at]
        if searches is None or said is None or links is None:
            return False
        if term := searches.term_of(flight.entry.url):
            self._take_answer(flight, links, searches, term, urls)
            return True
        if flight.known is not None:
            return False
        searches.learn(said.words)
        if said.forms and searches.wants_forms:

            def internal() -> list[str]:
                found = party.analyzer.analyze(flight.entry.url, links.hrefs, links.base, links.charset)
                return found.internal

            searches.meet(said.forms, flight.entry.url, flight.entry.depth, internal)
        return False

    def ask_on(self, site: SiteContext, party: SeedContext, urls: UrlLister) -> bool:
        """List the next query of a party's search forms, if there is one that is to be asked."""
        searches = self._searches(party)
        if searches is None:
            return False
        for _ in range(_MOST_PASSED_BY):
            query = searches.next()
            if query is None:
                break
            verdict, url = party.analyzer.judge(query.url, query.page)
            party.rejections.page, party.finder = query.page, url_hash(query.page)
            listed = party.counts.listed
            is_wanted = verdict is Verdict.INTERNAL and self._list_answers(site, party, [url], query.depth + 1, urls)
            if party.counts.listed > listed:
                searches.ask(url)
                searches.listed_before = party.counts.listed
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

    def _take_answer(
        self, flight: PageFlight, links: PageLinks, searches: Searches, term: str, urls: UrlLister
    ) -> None:
        """Follow what a page of the answer to a query leads to: results, and the pages on which it goes on."""
        party, seen = flight.party, flight.site.seen
        analysis = party.analyzer.analyze(flight.entry.url, links.hrefs, links.base, links.charset)
        results, further, rest = searches.sift(term, analysis.internal)
        further = [url for url in further if url not in seen]
        admitted = searches.admit(term, further)
        rest += further[len(admitted) :]
        if rest:
            party.verdicts[Verdict.SEARCH_VIEW] += len(rest)
            words = "another view of the answer to a query, or one page of it too many"
            party.rejections.add_all(Verdict.SEARCH_VIEW, rest, words)
        listed = party.counts.listed
        urls.take(flight, Analysis(results, analysis.external, analysis.counts), flight.entry.depth + 1)
        found = party.counts.listed - listed
        self._list_answers(flight.site, party, admitted, flight.entry.depth + 1, urls)
        if flight.known is None:
            searches.answered(term, results, found)

    def _list_answers(
        self, site: SiteContext, party: SeedContext, answers: Sequence[str], depth: int, urls: UrlLister
    ) -> bool:
        """List URLs that ask a search form, as links of the page in work; no trap holds them. False: it is not wanted.

        How many there are is bounded: by the budget of queries, and by the pages of an answer.
        """
        deepest = (site.own_rules or self._rules).limits.max_depth - party.seed.base_depth
        if depth > deepest:
            return False
        wanted = urls.wanted(site, party, list(answers), depth)
        try:
            new = party.list_new(site.seen, wanted, depth)
        except SeenFullError:
            party.leave(EndReason.SEEN_MEMORY)
            return False
        party.verdicts[Verdict.SEEN] += len(wanted) - len(new)
        return bool(wanted)
