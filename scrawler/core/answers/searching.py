"""The hidden web within a crawl: what a page says of search forms, what their answers lead to, the next query."""

from __future__ import annotations

from collections.abc import Sequence

from scrawler.core.answers.listing import UrlLister
from scrawler.core.party.context import SeedContext
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFullError
from scrawler.extract.links import PageLinks
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.urls.analyzer import Analysis
from scrawler.urls.verdict import Verdict

_MOST_PASSED_BY = 100  # queries that are listed already, by links or other parties, after which nothing is asked


class SearchFollower:
    """Follows what search forms bring, for parties that ask them; that needs the turn."""

    def __init__(self, rules: CrawlRules, urls: UrlLister) -> None:
        self._rules = rules
        self._urls = urls

    def take(self, flight: PageFlight, links: PageLinks) -> bool:
        """Follow a page that answers a query; of any other, note the words and the search forms, and return False."""
        from scrawler.hidden.searches import SearchPage  # few crawls look for the hidden web

        party, said = flight.party, links.searches
        assert party.searches is not None
        assert isinstance(said, SearchPage)
        if term := party.searches.term_of(flight.entry.url):
            self._take_answer(flight, links, term)
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

    def _take_answer(self, flight: PageFlight, links: PageLinks, term: str) -> None:
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
        self._urls.take(flight, Analysis(results, analysis.external, analysis.counts), flight.entry.depth + 1)
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
        wanted = self._urls.wanted(site, party, list(urls), depth)
        try:
            new = party.list_new(site.seen, wanted, depth)
        except SeenFullError:
            party.leave(EndReason.SEEN_MEMORY)
            return False
        party.verdicts[Verdict.SEEN] += len(wanted) - len(new)
        return bool(wanted)
