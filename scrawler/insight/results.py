"""What came of a URL that has its final result, in words."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from scrawler.insight.answer import Fact, utc
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow, RelationRow
from scrawler.store.engines.faults import read_word
from scrawler.units import counted, human_bytes

_WORDS = {
    Result.FETCHED: "fetched",
    Result.REDIRECT: "asked for, and redirects",
    Result.TOO_MANY_REDIRECTS: "asked for, and redirects, but so many redirects in a row are not followed",
    Result.HTTP_ERROR: "asked for, and answered with an error",
    Result.NOT_MODIFIED: "asked for again, and as it was at the last visit",
    Result.TOO_LARGE: "asked for, but larger than max_body: cut there",
    Result.CUT: "asked for, but the answer broke off",
    Result.TIMEOUT: "asked for, but not answered in time",
    Result.CONNECT_FAILED: "not fetched: no connection",
    Result.TLS_FAILED: "not fetched: no TLS connection, or its certificate is not valid",
    Result.BAD_ANSWER: "asked for, but what answered does not speak HTTP",
    Result.NO_ADDRESS: "not fetched: its host has no address",
    Result.PRIVATE_ADDRESS: "not fetched: its host has a private address, and these are not allowed",
    Result.ROBOTS_DENIED: "not asked for: robots.txt forbids it",
    Result.ROBOTS_UNAVAILABLE: "not asked for: robots.txt could not be had, which forbids all (RFC 9309, 2.3.1.4)",
    Result.UNWANTED_TYPE: "asked for, but its Content-Type is not accepted: the body was not downloaded",
    Result.SPARED: "not asked for again: its server publishes its changes, and none of this URL since the last visit",
    Result.TRAP: "not asked for: its pattern has brought nothing new for long",
    Result.INTERNAL_ERROR: "asked for, but its answer met a fault of SCrawler itself",
}
_FLAGS = {
    PageFlag.NOINDEX: "forbids to index it",
    PageFlag.NOFOLLOW: "forbids to follow its links",
    PageFlag.INSECURE: "fetched over TLS whose certificate was not checked",
    PageFlag.SLOW: "fetched in the slow lane",
    PageFlag.ASSET: "listed as an image, script or style of a page",
    PageFlag.SITEMAP: "a sitemap, whose URLs were listed",
    PageFlag.TRUNCATED: "only the beginning of its body came; its links were followed",
    PageFlag.RELEVANT: "its text has to do with the crawl's topic",
    PageFlag.SHOWN: "shown in a browser: its links are those of the document that its scripts made",
    PageFlag.NEW: "new: the rounds before did not find it",
    PageFlag.CHANGED: "changed: the visit before had another body",
    PageFlag.FAILING: "failing: an error, and it was there at the visit before",
    PageFlag.GONE: "gone: not there for the second time in a row",
    PageFlag.BACK: "back: it was failing, or gone, before",
    PageFlag.MOVED: "moved: it redirects for good, and did not before, or to another URL",
    PageFlag.CHANGE_LIST: "a list of changes (ResourceSync)",
    PageFlag.WAITING: "asked for again by `run --retry`: this stays until an answer takes its place",
    PageFlag.LET_BE: "its payload is gone from the archive of an earlier crawl, which was accepted",
    PageFlag.EARLIER: "an earlier crawl has archived its payload",
    PageFlag.NEAR_DUPLICATE: "says nearly what an earlier page of its pattern says",
}


def page_fact(page: PageRow, seed: str, lister: str, referrer: str = "", *, guest: bool = False) -> Fact:
    """Say what came of a URL; `seed` is that for which it was fetched, `lister` that which listed it.

    `referrer` is the page that listed it first, if any did; `guest` says that it was fetched by a guest at its site.
    """
    values = page._asdict() | {"seed": seed, "listed_by": lister, "flags": flag_names(page.flags)}
    values |= {"referrer": referrer, "guest": guest}
    values |= {"digest": page.digest.hex(), "simhash": f"{page.simhash & (1 << 64) - 1:016x}" if page.simhash else ""}
    for name in ("url_hash", "seed_id", "lane_seed"):
        del values[name]
    return Fact("page", tuple(_lines(page, seed, lister, referrer, guest)), values)


def _lines(page: PageRow, seed: str, lister: str, referrer: str, guest: bool) -> Iterator[str]:
    nth = f", visit {page.visit}" if page.visit else ""
    yield f"{_WORDS[read_word(Result, page.result)]}; for seed {seed}, {utc(page.fetched_at)}{nth}"
    if guest:
        yield "as a guest at its site, for a machine with nothing else to do, whatever the owner has fetched there"
    if page.status:
        kind = page.content_type or "no Content-Type"
        came = f"{human_bytes(page.length)}, not sent again," if _is_unchanged(page) else human_bytes(page.length)
        yield f"HTTP {page.status}, {kind}, {came} in {page.elapsed_ms:,} ms, {counted(page.attempts, 'attempt')}"
    if page.detail:
        yield f"{'leads to' if page.result == Result.REDIRECT else 'because'}: {page.detail}"
    yield listed_at(page.position, lister, page.depth)
    if referrer:
        yield f"found first on {referrer}"
    read = (page.result == Result.FETCHED and not page.detail) or page.flags & PageFlag.TRUNCATED
    for flag, words in _FLAGS.items():
        if page.flags & flag:
            yield words if read or flag is not PageFlag.SITEMAP else "listed as a sitemap"
    if page.warc_file:
        record = _record_of(page)
        yield f"{record} is in {page.warc_file}, {counted(page.warc_length, 'byte')} from {page.warc_offset:,} on"


def _is_unchanged(page: PageRow) -> bool:
    """Whether the server said that a page is as an earlier crawl has it, whose archive its body was read from."""
    return page.status == HTTPStatus.NOT_MODIFIED and page.result == Result.FETCHED


def _record_of(page: PageRow) -> str:
    if not page.revisit:
        return "its record"
    if page.flags & PageFlag.EARLIER or _is_unchanged(page):
        return "a revisit record, for its payload is in the archive of an earlier crawl (dedup_from),"
    return "a revisit record: its payload was archived before"


def listed_at(position: int, lister: str, depth: int) -> str:
    """Say where a URL is listed; the position of a sitemap is -1, -2, ..."""
    place = f"at position {position:,}" if position >= 0 else f"as sitemap {-position:,}"
    return f"listed {place} by seed {lister}, depth {depth}"


def flag_names(flags: int) -> list[str]:
    """Return the names of a page's flags."""
    return [flag.name.lower().replace("_", "-") for flag in PageFlag if flags & flag and flag.name]


def relation_fact(relation: RelationRow) -> Fact:
    """Say what stands for a page."""
    words = {"canonical": "names as its canonical URL", "redirect": "redirects in the end to"}
    text = f"{words.get(relation.kind, relation.kind)} {relation.target}"
    return Fact("relation", (text,), {"relation": relation.kind, "target": relation.target})
