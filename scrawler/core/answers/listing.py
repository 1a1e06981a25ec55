"""What goes into the lists of parties: links of pages, assets, sitemaps' URLs, and what comes from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Final

from scrawler.core.answers.aliases import suspect
from scrawler.core.answers.ordering import Order
from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import EntryRole, stored_entry
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext, UnsureLink
from scrawler.core.party.sitemaps import SITEMAP_DEPTH
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFilter, SeenFullError
from scrawler.core.traps.alike import LinkClass
from scrawler.core.traps.traps import PartyTraps
from scrawler.extract.links import LinkMark
from scrawler.model.exchange import WaitingUrl
from scrawler.model.lanes import PUSHED
from scrawler.model.results import PageFlag
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.model.visits import KnownVisit
from scrawler.units import format_bytes
from scrawler.urls.analyzer import Analysis
from scrawler.urls.filters import UrlFilters
from scrawler.urls.verdict import Verdict

_MOST_EXTERNAL = 4 << 20  # bytes of a page's external URLs: a foreign <base> makes 2 KB of each short link
_FEW_EXTERNAL: Final = 64  # so many external URLs may be of any length


class UrlLister:
    """Lists URLs that a pattern, a filter, a limit or a trap does not hold, each once; that needs the turn."""

    def __init__(self, rules: CrawlRules, filters: UrlFilters | None = None, order: Order | None = None) -> None:
        self._rules = rules
        self._filters = filters
        self._order = order
        # What the page that was applied last says of its links: URL filters may ask for it.
        self._marks: tuple[str, Mapping[str, LinkMark] | None] = ("", None)

    def note_page(self, flight: PageFlight, page: PageRead, redirects: bool) -> None:
        """Note what the page whose links come next says of them."""
        flight.party.rejections.page = flight.entry.url
        if self._filters is not None:
            self._marks = flight.entry.url, page.links.marks if page.links is not None else None
        if self._order is not None:
            self._order.note_page(flight, page, redirects)

    def take(
        self, flight: PageFlight, analysis: Analysis, depth: int, source: LinkClass | None = None, hops: int = 0
    ) -> None:
        """Count links, hand external ones out, pass internal ones through the seen filter; new ones are at `depth`.

        `hops` is the number of redirects in a row that lead to them. To another site only the first of a chain costs no
        depth: their number does not go there with the URL, so it is the depth that ends a chain over many sites.
        """
        party, site = flight.party, flight.site
        for verdict, times in analysis.counts.items():
            party.verdicts[verdict] += times
        if analysis.external:
            external = self.wanted(site, party, analysis.external, depth)
            if len(external) > _FEW_EXTERNAL:
                external = _first_externals(party, external)
            party.note_externals(external, depth - 1 if hops == 1 and depth > 0 else flight.entry.depth)
            if site.sample is not None:
                suspect(site, flight.origin, party, external, depth)
        self.list_internal(site, party, analysis.internal, depth, source, listed=analysis.listed, hops=hops)

    def take_assets(
        self, flight: PageFlight, hrefs: list[str], depth: int, base: str = "", charset: str = "", hops: int = 0
    ) -> None:
        """List the internal images, scripts and styles of a page, whatever its depth; others are only counted."""
        party = flight.party
        analysis = party.analyzer.analyze_any_type(flight.entry.url, hrefs, base, charset)
        counts = dict(analysis.counts)
        if external := counts.pop(Verdict.EXTERNAL, 0):
            counts[Verdict.EXTERNAL_ASSET] = external
            party.rejections.add_all(Verdict.EXTERNAL_ASSET, analysis.external, "an asset that is external")
        party.verdicts.update(counts)
        self.list_internal(flight.site, party, analysis.internal, depth, role=EntryRole.ASSET, hops=hops)

    def list_part(self, flight: PageFlight, page: PageRead, urls: list[str], source: LinkClass | None) -> Counter[str]:
        """List internal URLs among the links of a page before it is applied; return the verdicts on others of them.

        `source` is what `AnswerHandler.known_source` returned for the page.
        """
        party, entry = flight.party, flight.entry
        self.note_page(flight, page, redirects=False)
        party.finder = url_hash(entry.url)
        verdicts, party.verdicts = party.verdicts, Counter()
        try:
            self.list_internal(flight.site, party, urls, entry.depth + 1, source)
        finally:
            counted, party.verdicts = party.verdicts, verdicts
        return counted

    def list_from_sitemap(self, flight: PageFlight, urls: list[str]) -> None:
        """List internal URLs that stand in a sitemap."""
        counts = flight.party.counts
        before = counts.listed
        if flight.party.traps is not None:
            flight.party.traps.owners_list(flight.party.finder)
        self.list_internal(flight.site, flight.party, urls, SITEMAP_DEPTH)
        counts.sitemap_urls += counts.listed - before

    def list_waiting(self, site: SiteContext, waiting: list[UnsureLink]) -> None:
        """List links to an address that is the site itself, as it has turned out."""
        for link in waiting:
            link.party.rejections.page = ""  # the page on which the link stands is not known any more, but by its hash
            link.party.finder = link.referrer
            internal = link.party.analyzer.analyze(link.url, [link.url]).internal
            self.list_internal(site, link.party, internal, link.depth)

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
            # It may be where a redirect has led: the next one that leads to another site costs depth.
            self.list_internal(site, party, [url], depth, pushed=one.pushed, hops=0 if one.pushed else 1)
        else:
            party.verdicts[verdict] += 1
        party.touch()
        return True

    def _visit_again(self, site: SiteContext, party: SeedContext, known: KnownVisit) -> None:
        """List a URL that was visited before, to be visited next; one that waits for its further visit is left alone.

        One whose answer is on its way does not wait: it may have changed since it was asked for. It was judged when it
        was first listed.
        """
        state = known.state
        assert state is not None
        if site.visited is None:
            site.visit_again()
        if site.visited is not None and (state.url not in site.visited or state.url in site.fetching):
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
        refused: Mapping[str, str] = {}
        if patterns is not None:
            refused = patterns.sift(fresh)
            _refuse(party, Verdict.EXCLUDED, refused)
        if self._filters is not None:
            left = [url for url in fresh if url not in refused]
            page = party.rejections.page
            of_page, marks = self._marks
            filtered = self._filters.sift(left, page, depth, party.seed.url, marks if of_page == page else None)
            _refuse(party, Verdict.URL_FILTER, filtered)
            refused = {**refused, **filtered}
        return [url for url in urls if url not in refused] if refused else urls

    def list_internal(
        self,
        site: SiteContext,
        party: SeedContext,
        urls: list[str],
        depth: int,
        source: LinkClass | None = None,
        role: EntryRole = EntryRole.PAGE,
        listed: int = 0,
        pushed: bool = False,
        hops: int = 0,
    ) -> None:
        """List those of the internal URLs that no party of the site has listed yet, and no trap holds.

        Those that were pushed come before all others. So many more as `listed` says were left out of them because they
        are listed.
        Assets are listed at any depth. Neither they nor where a seed's redirects lead are a matter of traps.
        """
        is_page = role is not EntryRole.ASSET
        deepest = (site.own_rules or self._rules).limits.max_depth - party.seed.base_depth
        traps = party.traps if is_page and depth > 0 else None
        if is_page and depth > deepest:  # before the filter: a shorter path may still lead there
            if traps is not None and traps.picking:
                traps.at_deepest(party.finder)
            _leave_deep(party, [url for url in urls if url not in site.seen], deepest)
            return
        urls = self.wanted(site, party, urls, depth, site.seen)
        if traps is not None and traps.capping:
            urls = _past_traps(site, party, traps, urls, source)
        try:
            if traps is not None and traps.picking and (first := traps.pick(urls, site.seen, party.finder, listed)):
                party.list_pushed(site.seen, [first], depth, hops)
                new = [first, *party.list_new(site.seen, urls, depth, role, hops)]
            elif pushed:
                new = party.list_pushed(site.seen, urls, depth, hops)
            elif self._order is None or depth == 0 or role is not EntryRole.PAGE:
                new = party.list_new(site.seen, urls, depth, role, hops)
            else:
                new = party.list_by_level(site.seen, urls, depth, self._order.levels(party.rejections.page), hops)
        except SeenFullError:
            party.leave(EndReason.SEEN_MEMORY)
            return
        known = listed + len(urls) - len(new)
        party.verdicts[Verdict.SEEN] += known
        if new and traps is not None:
            traps.listed(new, known, source, party.finder, party.rejections.page)


def _refuse(party: SeedContext, reason: Verdict, refused: Mapping[str, str]) -> None:
    """Count links that are refused, with the reason of each in words."""
    if refused:
        party.verdicts[reason] += len(refused)
        for url, words in refused.items():
            party.rejections.add(reason, url, words)


def _leave_deep(party: SeedContext, urls: list[str], deepest: int) -> None:
    """Leave links out that are deeper than the party goes."""
    if urls:
        party.verdicts[Verdict.DEPTH] += len(urls)
        party.rejections.add_all(Verdict.DEPTH, urls, f"deeper than max_depth {deepest + party.seed.base_depth}")


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
    kept = traps.to_list(urls, site.seen, source, party.finder)
    if len(kept) < len(urls):
        party.verdicts[Verdict.TRAP] += len(urls) - len(kept)
        if party.rejections.wants(Verdict.TRAP):
            held = set(urls).difference(kept)
            capped = (url for url in urls if url in held)
            party.rejections.add_all(Verdict.TRAP, capped, "its pattern brings nothing new")
    return kept
