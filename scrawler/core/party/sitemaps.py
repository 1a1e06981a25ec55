"""Sitemaps of a party: which are asked for, and in which order they stand before its pages.

They are entries of a lane of their own, and have their role wherever they stand later (a retry lane, what is left to
another seed). Their depth is 1 if robots.txt or the seed's URL names them, one more for each index between.
"""

from __future__ import annotations

from collections.abc import Iterable

from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import Entry
from scrawler.core.party.lists import MAX_LEVEL, SitemapLists
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFullError
from scrawler.fetch.downloader import Response
from scrawler.model.lanes import SITEMAP
from scrawler.model.seeds import EndReason
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import site_key
from scrawler.urls.verdict import Verdict

USUAL = ("/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml")  # of these that come first which is a sitemap
MAX_SITEMAPS = 1_000  # of a party
FIRST_LEVEL = 1
SITEMAP_DEPTH = 1  # of the URLs that they list


def list_named(
    site: SiteContext,
    party: SeedContext,
    origin: Origin,
    page: str,
    rules: CrawlRules,
    response: Response | None,
    lists: SitemapLists,
) -> None:
    """List the sitemaps that the robots.txt of the seed's origin names, or else the first usual one.

    Other lists, where `lists` reads any, come first. `response` is the answer of the seed's page, if that shows one.
    """
    if rules.limits.max_depth <= 0:
        return
    if response is not None and (asked := lists.named_on(site, response)):
        list_sitemaps(site, party, asked, page, FIRST_LEVEL, rules)
    if rules.sitemaps == "also":
        named = origin.robots.sitemaps if origin.robots is not None else ()
        list_sitemaps(site, party, named[:MAX_SITEMAPS] or USUAL[:1], page, FIRST_LEVEL, rules)


def list_next_usual(site: SiteContext, party: SeedContext, entry: Entry, origin: Origin, rules: CrawlRules) -> None:
    """List the next usual sitemap after one that is none, unless somebody has named that."""
    if entry.referrer or entry.depth != FIRST_LEVEL or rules.sitemaps != "also":
        return
    path = entry.url[len(origin.origin) :]
    if path not in USUAL[:-1] or (origin.robots is not None and origin.robots.sitemaps):
        return
    list_sitemaps(site, party, [USUAL[USUAL.index(path) + 1]], entry.url, FIRST_LEVEL, rules)


def list_sitemaps(
    site: SiteContext,
    party: SeedContext,
    hrefs: Iterable[str],
    page: str,
    level: int,
    rules: CrawlRules,
    referrer: bytes = b"",
    deepest: int = MAX_LEVEL,
    hops: int = 0,
) -> None:
    """List sitemaps of the party's own site, at `level`, no deeper than `deepest`; `page` says where they are named.

    `referrer` is the hash of another sitemap that names them, empty where it is robots.txt; `hops` is the number of
    redirects in a row that have led to them.
    """
    verdicts, lane = party.verdicts, party.lane(SITEMAP)
    for href in hrefs:
        url = party.analyzer.resolve(href, page)
        if not url and normalise(href, page).reason is Verdict.PORT:
            verdicts[Verdict.PORT] += 1
            party.rejections.add(Verdict.PORT, href, "a sitemap at a port of another service", page)
        elif not url or not (site_key(url, rules.scope) == site.key or party.scope.contains(url)):
            verdicts[Verdict.SITEMAP_ELSEWHERE] += 1
            party.rejections.add(Verdict.SITEMAP_ELSEWHERE, url or href, "a sitemap of another site", page)
        elif level > deepest or lane.length >= MAX_SITEMAPS:
            verdicts[Verdict.SITEMAP_LIMIT] += 1
            words = f"one of more than {MAX_SITEMAPS:,} sitemaps, or below more than {MAX_LEVEL - 1} indexes"
            party.rejections.add(Verdict.SITEMAP_LIMIT, url, words, page)
        else:
            try:
                party.list_sitemap(site.seen, url, level, referrer, hops)
            except SeenFullError:
                party.leave(EndReason.SEEN_MEMORY)
                return
