"""What a page's answer does to its party: retry or final result, archive, links in, candidates out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from scrawler.archive.record import RecordRef
from scrawler.crawl.aliases import AliasFlight, is_same, note_sample, suspect
from scrawler.crawl.context import DEPTH_VERDICT, NOFOLLOW_VERDICT, SeedContext
from scrawler.crawl.decisions import MAX_SEED_REDIRECTS, PUSH_BACK, listed_again, location_of, retry_pause_ms
from scrawler.crawl.depth import NORMAL, SLOW, Entry, Lane, after, tries
from scrawler.crawl.pipeline import PagePipeline
from scrawler.crawl.relations import canonical_url, redirect_target
from scrawler.crawl.rules import CrawlRules
from scrawler.crawl.seen import SeenFullError
from scrawler.crawl.site import Origin, SiteContext
from scrawler.crawl.sitemaps import SITEMAP_DEPTH, list_named, list_sitemaps
from scrawler.crawl.traps import TRAP_VERDICT, LinkClass, PartyTraps
from scrawler.extract.directives import ALL_ALLOWED, Directives
from scrawler.extract.links import PageLinks
from scrawler.extract.sitemaps import Sitemap
from scrawler.fetch.downloader import Response
from scrawler.model import EndReason, Millis, PageFlag, PageRow, Rehoming, Result, url_hash
from scrawler.urls.analyzer import Analysis
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import site_key
from scrawler.urls.verdict import Verdict

_DETAIL_CHARACTERS = 1000
SEEN_VERDICT = "seen"
EXTERNAL_ASSET_VERDICT = "external-asset"  # images, scripts and styles from elsewhere
_MAX_ASSET_REDIRECTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class PageFlight:
    """A page in flight: which entry of which lane, for which party."""

    site: SiteContext
    party: SeedContext
    lane: Lane
    index: int  # in the lane
    entry: Entry
    origin: Origin

    @property
    def is_seed(self) -> bool:
        """Whether it is its party's own URL, or where that redirects."""
        return self.entry.depth == 0 and self.lane.seed_id == self.party.seed.id

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return sum(tries(self.lane.kind)) + 1 + self.lane.slow


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a page's answer before it is applied: its record and links, or the lane to list it in again."""

    again: int | None
    record: RecordRef | None = None
    links: PageLinks | None = None
    flags: int = 0  # of PageFlag
    sitemap: Sitemap | None = None


class AnswerHandler:
    """Reads answers, which needs no turn, and applies them to parties, which needs it."""

    def __init__(self, pipeline: PagePipeline, rules: CrawlRules) -> None:
        self._pipeline, self._rules = pipeline, rules

    def read(self, flight: PageFlight, response: Response, as_sitemap: bool = False) -> Reading:
        """Archive the answer of a page and find its links, or what it lists as a sitemap. Raises ArchiveError.

        Nothing of the party is changed, and its site cannot move meanwhile: this needs no turn.
        """
        again = self._again(flight, response)
        if again is not None:
            return Reading(again)
        record = self._pipeline.archive(flight.site, response)
        if as_sitemap and (sitemap := self._pipeline.sitemap(response)):
            flags = self._flags(flight, response, self._pipeline.directives(response, None))
            return Reading(None, record, None, flags | PageFlag.SITEMAP, sitemap)
        if response.result is not Result.FETCHED:  # what redirects and errors say to robots is said of no page
            return Reading(None, record, flags=self._flags(flight, response, ALL_ALLOWED))
        links = None if flight.entry.is_asset else self._pipeline.links(response, self._wants_text(flight))
        directives = self._pipeline.directives(response, links)
        return Reading(None, record, links, self._flags(flight, response, directives))

    @staticmethod
    def _wants_text(flight: PageFlight) -> Callable[[list[str]], bool] | None:
        traps = flight.party.traps
        return None if traps is None else partial(traps.wants_text, flight.entry.url)

    def _wants_cookie(self, flight: PageFlight, response: Response) -> bool:
        """Tell whether a page sets a cookie and leads to itself, where it shows itself to those who bring it back."""
        first = tries(flight.lane.kind)[0] == 0 < self._rules.retries
        if not ("set-cookie" in response.headers and self._rules.cookies and first):
            return False
        return normalise(location_of(response), flight.entry.url).url == flight.entry.url

    def _flags(self, flight: PageFlight, response: Response, directives: Directives) -> int:
        """Return what is to be flagged in the page's row."""
        unchecked = self._rules.insecure and response.head and response.request.url.startswith("https:")
        flags: int = PageFlag.INSECURE if unchecked else 0
        if flight.lane.slow:
            flags |= PageFlag.SLOW
        if flight.entry.is_asset:
            flags |= PageFlag.ASSET
        if directives.noindex:
            flags |= PageFlag.NOINDEX
        return flags | PageFlag.NOFOLLOW if directives.nofollow else flags

    def handle(self, flight: PageFlight, response: Response, reading: Reading) -> None:
        """Apply the answer of a page."""
        party, links = flight.party, reading.links
        party.rejections.page = flight.entry.url
        party.counts.requests += 1
        party.counts.bytes += len(response.body)
        if "set-cookie" in response.headers and self._rules.cookies:
            party.take_cookies(response.request.url, response.head)
        if reading.again is not None:
            self._list_again(flight, response, reading.again)
            return
        found = links or reading.sitemap
        note = found.note if found else response.detail
        if response.result is Result.REDIRECT:
            note = location_of(response)
        row = page_row(flight, response, reading, note)
        source = None
        if party.traps is not None and response.result is Result.FETCHED and not flight.entry.is_asset:
            row, source = _note(party.traps, row, links)
        self.finish(flight, row)
        if response.result is Result.FETCHED and flight.is_seed:  # before its links, which may lead to sitemaps
            list_named(flight.site, party, flight.origin, flight.entry.url, self._rules)
        if response.result is Result.REDIRECT:
            self._follow(flight, response, row)
        elif links is not None:
            if flight.entry.depth == 0:
                note_sample(flight.site, flight.origin, response)
            self._take_page(flight, links, reading.flags, source)
        if response.result is Result.FETCHED and (target := canonical_url(party.analyzer, response, links)):
            party.add_relation(row.url_hash, "canonical", target)

    def handle_alias(self, flight: AliasFlight, response: Response) -> None:
        """Take the answer at an address literal: if it is the site, the links to it that have waited are internal."""
        waiting = flight.site.unsure[flight.literal]
        flight.site.unsure[flight.literal] = []
        same = is_same(flight, response)
        for link in waiting:
            link.party.rejections.page = ""  # it is not known any more
            link.party.in_flight -= 1
            if not same:
                continue
            internal = link.party.analyzer.analyze(link.url, [link.url]).internal
            self._list(flight.site, link.party, internal, link.depth)

    @staticmethod
    def finish(flight: PageFlight, row: PageRow) -> None:
        """Give an entry its final result."""
        flight.lane.finish(flight.index)
        if flight.entry.is_sitemap:
            row = row._replace(flags=row.flags | PageFlag.SITEMAP)
        flight.party.add_page(row)

    def _again(self, flight: PageFlight, response: Response) -> int | None:
        """Return the kind of the lane in which a URL is listed again, None if this is its final result."""
        health, rules = flight.site.health, self._rules
        if not flight.party.counts.pages and health.pushbacks >= rules.max_pushbacks and response.status in PUSH_BACK:
            return after(flight.lane.kind, pushbacks=1)  # its party ends for that, and keeps it in its list
        if response.result is Result.REDIRECT and self._wants_cookie(flight, response):
            return after(flight.lane.kind, retries=1)
        return listed_again(response, flight.lane.kind, rules.retries, rules.max_pushbacks)

    def _list_again(self, flight: PageFlight, response: Response, kind: int) -> None:
        party, entry = flight.party, flight.entry
        before, again = tries(flight.lane.kind)[0], tries(kind)[0]
        not_before = 0  # what was pushed back rests with its site
        if again > before:
            pause = retry_pause_ms(again, self._rules.retry_pause_ms)
            not_before = response.started_at + response.elapsed_ms + pause
            party.counts.retries += 1
        party.counts.slowed += kind == SLOW
        flight.lane.finish(flight.index)
        party.lane(kind).append(entry.url, entry.depth, entry.position, not_before)
        party.touch()

    def _take_page(self, flight: PageFlight, links: PageLinks, flags: int, source: LinkClass | None) -> None:
        """Follow what a page holds, as far as it and its links allow."""
        if flags and flags & PageFlag.NOFOLLOW and self._rules.obey_meta:
            self._leave_out(flight, [*links.hrefs, *links.unfollowed, *links.assets], links.base)
            return
        if links.unfollowed:
            self._leave_out(flight, links.unfollowed, links.base)
        self._take_links(flight, links.hrefs, links.base, flight.entry.depth + 1, source)
        if links.assets:  # after the links: what is both is a page
            self._take_assets(flight, links.assets, links.base, flight.entry.depth + 1)

    @staticmethod
    def _leave_out(flight: PageFlight, hrefs: list[str], base: str) -> None:
        """Do not follow links because their page, or their rel, asks for it."""
        party = flight.party
        if hrefs:
            party.verdicts[NOFOLLOW_VERDICT] += len(hrefs)
            urls = (party.analyzer.resolve(href, base) or href for href in hrefs)  # as many as there is room for
            party.rejections.add_all(NOFOLLOW_VERDICT, urls, "its page, or its rel, asks not to follow it")

    def _take_assets(self, flight: PageFlight, hrefs: list[str], base: str, depth: int) -> None:
        """List the internal images, scripts and styles of a page, whatever its depth; others are only counted."""
        party = flight.party
        analysis = party.analyzer.analyze_any_type(flight.entry.url, hrefs, base)
        counts = dict(analysis.counts)
        if external := counts.pop(Verdict.EXTERNAL, 0):
            counts[EXTERNAL_ASSET_VERDICT] = external
            party.rejections.add_all(EXTERNAL_ASSET_VERDICT, analysis.external, "an asset that is external")
        party.verdicts.update(counts)
        self._list(flight.site, party, analysis.internal, -depth)

    def _take_links(
        self, flight: PageFlight, hrefs: list[str], base: str, depth: int, source: LinkClass | None = None
    ) -> None:
        """Pass links through analyzer and seen filter; new internal ones are listed at `depth`."""
        self._take(flight, flight.party.analyzer.analyze(flight.entry.url, hrefs, base), depth, source)

    def _take(self, flight: PageFlight, analysis: Analysis, depth: int, source: LinkClass | None = None) -> None:
        party, site = flight.party, flight.site
        party.verdicts.update(analysis.counts)
        if analysis.external:
            party.add_candidates(analysis.external, flight.entry.depth)
            if site.sample is not None:
                suspect(site, flight.origin, party, analysis.external, depth)
        self._list(site, party, analysis.internal, depth, source)

    def list_from_sitemap(self, flight: PageFlight, urls: list[str]) -> None:
        """List internal URLs that stand in a sitemap."""
        counts = flight.party.counts
        before = counts.listed
        self._list(flight.site, flight.party, urls, SITEMAP_DEPTH)
        counts.sitemap_urls += counts.listed - before

    def _list(
        self, site: SiteContext, party: SeedContext, urls: list[str], depth: int, source: LinkClass | None = None
    ) -> None:
        """List those of the internal URLs that no party of the site has listed yet, and no trap holds.

        For assets `depth` is negative; neither they nor where a seed's redirects lead are a matter of traps.
        """
        if depth > self._rules.limits.max_depth:  # before the filter: a shorter path may still lead there
            left_out = [url for url in urls if url not in site.seen]
            if left_out:
                party.verdicts[DEPTH_VERDICT] += len(left_out)
                deepest = self._rules.limits.max_depth
                party.rejections.add_all(DEPTH_VERDICT, left_out, f"deeper than max_depth {deepest}")
            return
        if party.traps is not None and depth > 0:
            kept = party.traps.to_list(urls, site.seen, source)
            if len(kept) < len(urls):
                party.verdicts[TRAP_VERDICT] += len(urls) - len(kept)
                if party.rejections.wants(TRAP_VERDICT):
                    held = set(urls).difference(kept)
                    capped = (url for url in urls if url in held)
                    party.rejections.add_all(TRAP_VERDICT, capped, "its pattern brings nothing new")
                urls = kept
        try:
            new = site.seen.add_new(urls)
        except SeenFullError:
            party.leaving = EndReason.SEEN_MEMORY
            return
        lane = party.lane(NORMAL)
        for url in new:
            lane.append(url, depth)
        party.counts.listed += len(new)
        if depth < 0:
            party.counts.assets += len(new)
        party.verdicts[SEEN_VERDICT] += len(urls) - len(new)
        if source is not None and party.traps is not None:
            party.traps.listed(new, source)

    def _follow(self, flight: PageFlight, response: Response, row: PageRow) -> None:
        """Follow a redirect: inside the scope it is a link, outside a candidate, of the seed's URL a new home.

        What its X-Robots-Tag says is no matter: it speaks of the links of a page, and here is none.
        """
        party, entry = flight.party, flight.entry
        location = location_of(response)
        if target := redirect_target(party.analyzer, entry.url, location):
            party.add_relation(row.url_hash, "redirect", target)
        if entry.is_sitemap:
            list_sitemaps(flight.site, party, [location], entry.url, entry.depth, self._rules)
            return
        if entry.is_asset:
            self._follow_asset(flight, location)
            return
        analysis = party.analyzer.redirected(entry.url, location)
        if not flight.is_seed:
            self._take(flight, analysis, entry.depth + 1)
            return
        if not (analysis.internal or analysis.external):
            party.verdicts.update(analysis.counts)
            return
        party.redirects += 1
        if party.redirects > MAX_SEED_REDIRECTS:
            party.leaving = EndReason.REDIRECTED
            party.end_detail = f"more than {MAX_SEED_REDIRECTS} redirects, last to {location}"
        elif analysis.internal:
            self._follow_inside(flight, analysis)
        else:
            party.verdicts.update(analysis.counts)
            home = analysis.external[0]
            party.leaving = Rehoming(home, site_key(home, self._rules.scope), party.redirects)

    def _follow_asset(self, flight: PageFlight, location: str) -> None:
        """Follow the redirect of an asset, which may lead on below the depth limit, but not for ever."""
        depth = 1 - flight.entry.depth
        if depth > self._rules.limits.max_depth + 1 + _MAX_ASSET_REDIRECTS:
            flight.party.verdicts[DEPTH_VERDICT] += 1
            return
        self._take_assets(flight, [location], "", depth)

    def _follow_inside(self, flight: PageFlight, analysis: Analysis) -> None:
        """List where the seed's URL leads to; what another seed of the site has listed is fetched for that one."""
        party, target = flight.party, analysis.internal[0]
        party.led_from.add(flight.entry.url)
        if target in flight.site.seen and target not in party.led_from:
            party.leaving = EndReason.COVERED
        self._take(flight, analysis, 0)


def _note(traps: PartyTraps, row: PageRow, links: PageLinks | None) -> tuple[PageRow, LinkClass | None]:
    """Count a fetched page for its patterns; return its row with what its text came to, and whose its links are."""
    text = links.fingerprint if links is not None else None
    noted = traps.note(row.url, bool(row.revisit), links.hrefs if links is not None else (), text)
    if text is not None:
        flags = row.flags | PageFlag.NEAR_DUPLICATE if noted.near else row.flags
        row = row._replace(simhash=text.simhash, flags=flags)
    return row, noted.source


def page_row(flight: PageFlight, response: Response, reading: Reading, note: str) -> PageRow:
    """Make the row of a URL's final result."""
    entry, record = flight.entry, reading.record
    return PageRow(
        seed_id=flight.party.seed.id,
        url_hash=url_hash(entry.url),
        url=entry.url,
        depth=abs(entry.depth),
        lane_seed=flight.lane.seed_id,
        position=entry.position,
        result=response.result.value,
        status=response.status,
        content_type=response.content_type[:100],
        length=len(response.body),
        digest=record.digest if record else b"",
        attempts=flight.attempt,
        fetched_at=response.started_at,
        elapsed_ms=response.elapsed_ms,
        warc_file=record.file if record else "",
        warc_offset=record.offset if record else 0,
        warc_length=record.length if record else 0,
        revisit=int(record.revisit) if record else 0,
        detail=note[:_DETAIL_CHARACTERS],
        flags=int(reading.flags),
    )


def refused_row(flight: PageFlight, result: Result, detail: str, now: Millis) -> PageRow:
    """Make the row of a URL that is not asked for."""
    entry = flight.entry
    return PageRow(
        flight.party.seed.id, url_hash(entry.url), entry.url, abs(entry.depth), flight.lane.seed_id, entry.position,
        result.value, 0, "", 0, b"", 0, now, 0, "", 0, 0, 0, detail[:_DETAIL_CHARACTERS],
        PageFlag.ASSET if entry.is_asset else 0,
    )  # fmt: skip
