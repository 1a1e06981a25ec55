"""What a party has found: from the machine to the store, inside a delta."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.terms import Millis


class PageRow(NamedTuple):
    """The final result of one visit to a URL; `warc_file` is empty where nothing was archived."""

    seed_id: int  # the seed for which the URL was fetched
    url_hash: bytes
    url: str
    depth: int
    lane_seed: int  # the seed that has listed the URL
    position: int  # where, in that seed's normal lane; -1, -2, ... in its lane of sitemaps
    result: str  # the value of a Result
    status: int  # HTTP status, 0 for none
    content_type: str  # media type without parameters, lower case
    length: int  # body bytes over the wire
    digest: bytes  # SHA-1 of the payload, 20 bytes, or empty
    attempts: int
    fetched_at: Millis
    elapsed_ms: int
    warc_file: str
    warc_offset: int
    warc_length: int
    revisit: int  # 1 if the record is a revisit
    detail: str  # redirect target, or what went wrong; at most 1,000 characters
    flags: int = 0  # a sum of PageFlag
    simhash: int = 0  # simhash of the visible text, as a signed number of 64 bits; 0: not computed
    visit: int = 0  # how many visits to this URL there were before
    referrer: bytes = b""  # hash of the URL of the page that listed this one first; empty: none did


class ExternalRow(NamedTuple):
    """An external URL found `count` times since the last checkpoint by one seed."""

    seed_id: int
    url_hash: bytes
    url: str
    depth: int  # depth of the page on which it was first found
    count: int  # type: ignore[assignment]
    referrer: bytes = b""  # hash of the URL of the page on which it was first found


class RelationRow(NamedTuple):
    """A page says that another URL stands for it: "canonical", or "redirect"."""

    url_hash: bytes  # hash of the URL of the page
    kind: str
    seed_id: int
    target: str


class PatternRow(NamedTuple):
    """What the URLs of one pattern have yielded so far; `evidence` says in words why it is capped, else empty.

    A pattern is that of a URL (see `urls.patterns`), or "links as on URL": pages with these links, led to by such.
    """

    seed_id: int
    pattern_hash: bytes
    pattern: str
    fetched: int
    exact: int  # fetched pages whose payload was known before
    near: int  # fetched pages with a text like an earlier one and no new word
    refused: int  # URLs not asked for, or not listed, because it is capped
    evidence: str


class RejectionRow(NamedTuple):
    """A link that was not listed, kept as a sample: a few for each seed and reason."""

    seed_id: int
    url_hash: bytes
    reason: str
    url: str
    evidence: str  # why it is refused in words: the page on which it stands, the limit, ...


class SitemapRow(NamedTuple):
    """A URL as a sitemap lists it."""

    seed_id: int
    url_hash: bytes
    lastmod: Millis  # 0 where the sitemap does not say it
    sitemap: str  # URL of the sitemap
    changefreq: str = ""  # as the sitemap says; empty: it does not
