"""The tables of a crawl: the one hand-written description; sql/ is rendered from it (see ddl.py).

One database holds one crawl. There are no foreign keys: each of them would make every page row lock its parent
rows, and all rows of a site are written by the one machine that owns it, fenced by the site's token.
A row of `page` is a visit to a URL, not a URL: with its result and its record it is a line of a log, written once. A
URL has one in a crawl that visits it once, with number 0; another visit is another row, so that what was said of a
record is never changed, and rows and orphans go on to be the records. What is known of a URL beyond its visits (when
it is due, what it said of itself last) is another thing, which changes: it belongs into a table of its own, by
`url_hash`.
URLs compare byte for byte (binary collation), are looked up by `url_hash`, and times are UTC milliseconds.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text, text
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

from scrawler.model.claims import SiteState
from scrawler.model.seeds import SeedState

metadata = MetaData()

_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "sqlite_strict": True,
}
_CLUSTERED: dict[str, Any] = {**_OPTIONS, "sqlite_with_rowid": False}  # small rows that are read in key order

_HASH: TypeEngine[bytes] = LargeBinary().with_variant(mysql.BINARY(16), "mysql")
_DIGEST: TypeEngine[bytes] = LargeBinary().with_variant(mysql.VARBINARY(20), "mysql")
_CHUNK: TypeEngine[bytes] = LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql")
_LONG_TEXT: TypeEngine[str] = Text().with_variant(mysql.MEDIUMTEXT(), "mysql")


def _id() -> Column[int]:
    kind: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
    return Column("id", kind, primary_key=True, autoincrement=True)


def _number(
    name: str, doc: str = "", *, default: int | None = None, key: bool = False, null: bool = False
) -> Column[int]:
    kind: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
    given = None if default is None else text(str(default))
    return Column(name, kind, primary_key=key, autoincrement=False, nullable=null, server_default=given, doc=doc)


def _small(name: str, doc: str = "", *, default: int | None = None, key: bool = False) -> Column[int]:
    given = None if default is None else text(str(default))
    return Column(name, Integer(), primary_key=key, autoincrement=False, nullable=False, server_default=given, doc=doc)


def _word(
    name: str, length: int, doc: str = "", *, default: str | None = None, key: bool = False, null: bool = False
) -> Column[str]:
    kind: TypeEngine[str] = String(length).with_variant(Text(), "sqlite")
    return Column(name, kind, primary_key=key, nullable=null, server_default=default, doc=doc)


def _text(name: str, doc: str = "", *, null: bool = False, kind: TypeEngine[str] | None = None) -> Column[str]:
    return Column(name, kind or Text(), nullable=null, doc=doc)


def _bytes(name: str, kind: TypeEngine[bytes], doc: str = "", *, key: bool = False) -> Column[bytes]:
    return Column(name, kind, primary_key=key, nullable=False, doc=doc)


def _tally(name: str, doc: str = "") -> Column[int]:
    return _number(name, doc, default=0)


schema_version = Table(
    "schema_version",
    metadata,
    _number("version", "number of a migration that was applied", key=True),
    _number("applied_at"),
    **_OPTIONS,
)

crawl = Table(
    "crawl",
    metadata,
    _number("id", "always 1: one database holds one crawl", key=True),
    _word("name", 255),
    _word("scope", 16, "host, domain, prefix; fixes the keys of the sites"),
    _number("created_at"),
    _small("paused", "1: no machine starts a request, those that come later neither", default=0),
    _number("stopped_at", "machines of commands launched before this time stop", default=0),
    _text("settings", "JSON: set while it runs; hold over files, variables and flags", null=True, kind=_LONG_TEXT),
    _number("revision", "grows with each import, promotion or change of settings: machines look again", default=0),
    _small("starting_machines", "how many the newest command starts ...", default=0),
    _number("starting_at", "... since then: the machine.launched_at of those that are there", default=0),
    _word("starting_process", 255, "... and by which process, as machine.process", default=""),
    **_OPTIONS,
)

run = Table(
    "run",
    metadata,
    _id(),
    _number("machine_id"),
    _number("started_at"),
    _number("ended_at", null=True),
    _word("outcome", 64, "how it ended; NULL while it runs, or if it was killed", null=True),
    _text("settings", "JSON: the settings in force", kind=_LONG_TEXT),
    _tally("pages"),
    _tally("bytes"),
    _tally("errors"),
    **_OPTIONS,
)

site = Table(
    "site",
    metadata,
    _id(),
    _bytes("key_hash", _HASH, "BLAKE2b-128 of site_key"),
    _text("site_key", "host[:port] or registrable domain, by the crawl's scope"),
    _word(
        "state",
        8,
        "ready: has seeds, no owner; resting: as ready from next_due_at on; active: owned; done: no seed "
        "ready or active",
        default=SiteState.READY.value,
    ),
    _number("owner", "machine.id", null=True),
    _number("token", "counts the owners; what an earlier one still writes is refused", default=0),
    _number("next_due_at", "politeness clock: no request before", default=0),
    _word("address", 64, "IP address last used", default=""),
    _small("pushbacks", "answers of 429 or 503 in a row", default=0),
    _number("pause_ms", "pause between two requests; a site taken over from a dead machine rests that long", default=0),
    _number("slowest_ms", "its slowest answer; 0: none. Asked by a dead machine, it may answer that late", default=0),
    Index("site_key_hash", "key_hash", unique=True),
    Index("site_state", "state", "owner"),
    **_OPTIONS,
)

_FIRST_COUNTS = (
    _tally("requests", "download attempts, good or bad"),
    _tally("pages", "URLs whose final result is fetched"),
    _tally("redirects"),
    _tally("http_errors"),
    _tally("failures", "no whole answer: too-large, cut, timeout, connect-failed, ..."),
    _tally("denied", "by robots.txt"),
    _tally("unwanted", "Content-Type not accepted"),
    _tally("trapped", "not asked for: their pattern is capped"),
    _tally("retries"),
    _tally("bytes", "body bytes over the wire, all attempts"),
    _tally("listed", "URLs appended to the party's list"),
    _tally("revisits", "pages whose payload was archived before"),
    _tally("candidates", "external links handed back"),
    _tally("near_duplicates", "pages that say nearly what an earlier one says"),
    _tally("noindex", "pages that forbid to index them"),
    _tally("nofollow", "pages that forbid to follow their links"),
    _tally("assets", "URLs listed as images, scripts or styles"),
    _tally("sitemap_urls", "URLs listed from sitemaps"),
    _tally("pushed_back", "answers of 429 or 503"),
    _tally("slowed", "URLs put off to the slow lane"),
    _tally("slow_pages", "pages fetched there"),
    _tally("wait_ms", "time in which only politeness held it up"),
)
_LATER_COUNTS = (  # later columns stand at the end, where a migration adds them
    _tally("internal_errors", "answers that met a fault of this program"),
    _tally("not_modified", "URLs visited again whose page is as it was"),
)
SEED_COUNTS = (*_FIRST_COUNTS, *_LATER_COUNTS)

seed = Table(
    "seed",
    metadata,
    _id(),
    _number("site_id"),
    _text("url", "as imported, normalised"),
    _bytes("url_hash", _HASH, "BLAKE2b-128 of url"),
    _text("home_url", "where its redirects led; NULL: url itself", null=True),
    _small("rehomed", "redirects followed from url to home_url", default=0),
    _small("hops", "0: given by the user; n: found n sites away", default=0),
    _word("state", 8, "ready, active, slow (waits with its slow lane), done", default=SeedState.READY.value),
    _word("end_reason", 24, "why it is done", null=True),
    _word("end_detail", 1000, default=""),
    *_FIRST_COUNTS,
    _text("verdicts", "JSON: reason of a URL verdict -> times; NULL: none", null=True, kind=_LONG_TEXT),
    _tally("elapsed_ms", "time in work"),
    _small("slow_pass", "1: all else was fetched, now its slow lane is", default=0),
    _number("added_at"),
    _number("started_at", null=True),
    _number("ended_at", null=True),
    _number("machine_id", "the machine that last worked on it", null=True),
    *_LATER_COUNTS,
    Index("seed_url_hash", "url_hash", unique=True),
    Index("seed_site", "site_id", "state"),
    Index("seed_state", "state", "end_reason"),
    **_OPTIONS,
)

lane = Table(
    "lane",
    metadata,
    _number("seed_id", "the seed that listed the entries", key=True),
    _small(
        "kind",
        "0: normal; r + 100 p: r-th retry, pushed back p times; see depth.py for the others",
        key=True,
    ),
    _number("holder_id", "the seed for which they are fetched now"),
    _number("cursor_position", "lowest position not finished"),
    _number("length", "entries listed"),
    _text("ahead", "JSON: finished positions beyond the cursor", kind=_LONG_TEXT),
    Index("lane_holder", "holder_id"),
    **_CLUSTERED,
)

chunk = Table(
    "chunk",
    metadata,
    _number("seed_id", key=True),
    _small("kind", key=True),
    _number("seq", "0, 1, 2, ... within the lane", key=True),
    _number("first_position", "position of its first entry"),
    _number("entries"),
    _bytes("data", _CHUNK, "the entries, compressed"),
    Index("chunk_first_position", "seed_id", "kind", "first_position"),
    **_OPTIONS,
)

page = Table(
    "page",
    metadata,
    _id(),
    _number("seed_id", "fetched for this seed"),
    _bytes("url_hash", _HASH),
    _text("url"),
    _small("depth", "links from the seed URL"),
    _number("lane_seed", "listed by this seed ..."),
    _number("position", "... at this position of its normal lane; -1, -2, ...: of that of its sitemaps"),
    _word("result", 24),
    _small("status", "HTTP status; 0: none"),
    _text("content_type", "media type without parameters"),
    _number("length", "body bytes over the wire"),
    _bytes("digest", _DIGEST, "SHA-1 of the payload, or empty"),
    _small("attempts"),
    _number("fetched_at"),
    _number("elapsed_ms"),
    _word("warc_file", 255, "empty: nothing was archived"),
    _number("warc_offset"),
    _number("warc_length"),
    _small("revisit", "1: the record is a revisit"),
    _text("detail", "where a redirect leads, or what went wrong"),
    _small(
        "flags",
        "sum of 1 noindex, 2 nofollow, 4 TLS unchecked, 8 slow lane, 16 asset, 32 sitemap, 64 near duplicate, 128 cut",
        default=0,
    ),
    _number("simhash", "of the visible text; 0: not computed", default=0),
    _small("visit", "0: the first to this URL; n: it was visited n times before, each of which has a row", default=0),
    Index("page_url_hash", "url_hash"),
    Index("page_seed", "seed_id"),
    Index("page_warc_file", "warc_file", "warc_offset"),
    **_OPTIONS,
)

orphan = Table(
    "orphan",
    metadata,
    _word("warc_file", 255, "holds a whole response or revisit record that no row of page refers to ...", key=True),
    _number("warc_offset", "... because it was not committed in time, or its row was taken back", key=True),
    _number("warc_length"),
    **_CLUSTERED,
)

robots_record = Table(
    "robots_record",
    metadata,
    _word("warc_file", 255, "holds an answer to a request for a robots.txt, which has no row of page ...", key=True),
    _number("warc_offset", key=True),
    _number("warc_length"),
    _text("url", "... of a robots.txt, or where one redirects"),
    _number("fetched_at"),
    _small("status"),
    _text("content_type", "media type without parameters"),
    _bytes("digest", _DIGEST, "SHA-1 of the payload"),
    **_CLUSTERED,
)

loss = Table(
    "loss",
    metadata,
    _word("warc_file", 255, "does not hold any more what rows of page say", key=True),
    _word("kind", 8, "missing, cut, damaged"),
    _number("records", "response and revisit records that are gone"),
    _number(
        "revisits", "records in other files that refer to payloads which stood in these alone; -1: not counted yet"
    ),
    _number("found_at"),
    _small("told", "1: a run has ended with exit code 7 for it", default=0),
    _small("accepted", "1: the user knows of these records, and does not want them back", default=0),
    **_CLUSTERED,
)

relation = Table(
    "relation",
    metadata,
    _bytes("url_hash", _HASH, "of a page ...", key=True),
    _word("kind", 16, "canonical, redirect", key=True),
    _number("seed_id", "... fetched for this seed"),
    _text("target", "URL that stands for it"),
    **_CLUSTERED,
)

pattern = Table(
    "pattern",
    metadata,
    _number("seed_id", key=True),
    _bytes("pattern_hash", _HASH, key=True),
    _text("pattern", "of URLs: digits, ids as stars, query keys without values; or: links as on URL"),
    _tally("fetched"),
    _tally("exact", "of these, with a payload known before"),
    _tally("near", "of these, with a text like an earlier one and no new word"),
    _tally("refused", "URLs not asked for, or not listed, because it is capped"),
    _text("evidence", "why it is capped; empty: it is not"),
    **_CLUSTERED,
)

jar = Table(
    "jar",
    metadata,
    _number("seed_id", key=True),
    _bytes("data", _CHUNK, "cookies of its party, JSON of at most 64 KiB"),
    **_CLUSTERED,
)

rejection = Table(
    "rejection",
    metadata,
    _number("seed_id", key=True),
    _bytes("url_hash", _HASH, key=True),
    _word("reason", 24, "a verdict of seed.verdicts; a few URLs are kept for each"),
    _text("url"),
    _text("evidence", "the page on which it stands, the limit, ..."),
    Index("rejection_url_hash", "url_hash"),
    **_CLUSTERED,
)

sitemap_url = Table(
    "sitemap_url",
    metadata,
    _number("seed_id", key=True),
    _bytes("url_hash", _HASH, key=True),
    _number("lastmod", "as the sitemap says; 0: it does not"),
    _text("sitemap", "its URL"),
    **_CLUSTERED,
)

robots = Table(
    "robots",
    metadata,
    _bytes("origin_hash", _HASH, "BLAKE2b-128 of origin", key=True),
    _text("origin", "scheme://host[:port]"),
    _number("site_id"),
    _number("fetched_at"),
    _small("status", "HTTP status; 0: no whole answer"),
    _text("detail", "what went wrong"),
    _bytes("body", _CHUNK, "compressed (zlib)"),
    Index("robots_site", "site_id"),
    **_CLUSTERED,
)

suspect = Table(
    "suspect",
    metadata,
    _number("site_id", key=True),
    _bytes("url_hash", _HASH, key=True),
    _number("machine_id", "died while it read the URL: each of them counts once, however often it is noted", key=True),
    _text("url"),
    _number("blame", "1: perhaps, 2: for sure; with 2, all machines together, it is not asked for again"),
    _text("detail", "of what the machine died"),
    **_CLUSTERED,
)

candidate = Table(
    "candidate",
    metadata,
    _number("seed_id", "the seed whose party has the links", key=True),
    _bytes("url_hash", _HASH, key=True),
    _text("url"),
    _small("depth", "of the page where it was first found"),
    _number("count", "times found"),
    _small("promoted", "1: made a seed of this crawl", default=0),
    Index("candidate_url_hash", "promoted", "url_hash"),
    **_CLUSTERED,
)

server = Table(
    "server",
    metadata,
    _word("address", 64, "IP address", key=True),
    _number("machine_id", "with delay_per_ip: the machine that may ask it next, or was the last to ask ..."),
    _number("next_due_at", "... and when any other one may"),
    Index("server_next_due_at", "next_due_at"),
    **_CLUSTERED,
)

server_place = Table(
    "server_place",
    metadata,
    _word("address", 64, "IP address; empty: the machine lives alone, and holds what it likes anywhere", key=True),
    _number("machine_id", "0: the row that is locked while shares are told", key=True),
    _number("places", "requests that it may have in flight there, of per_ip in all"),
    **_CLUSTERED,
)

machine = Table(
    "machine",
    metadata,
    _id(),
    _word("name", 255),
    _word("host", 255),
    _small("pid"),
    _word("process", 255, "tells on its own host whether it still runs: boot id, pid namespace, pid, start time"),
    _word("state", 8, "running, paused, stopping, stopped, dead"),
    _word("wanted", 8, "what it is told to do: run, pause, stop, drain, remove", default="run"),
    _number("launched_at", "when the command that started it began"),
    _number("started_at"),
    _number("heartbeat_at", "its lease on the sites it owns counts from here"),
    _number("memory", "resident bytes at the last heartbeat", default=0),
    _tally("checkpoints", "committed by it; tells a repeated commit from a new one"),
    _tally("pages", "committed by it, result fetched"),
    _tally("bytes", "of the page rows committed by it"),
    _tally("errors", "page rows not fetched, redirect, not-modified, unwanted-type or trap"),
    _tally("refused", "page rows of deltas that were refused: their sites were taken over"),
    _tally("uncommitted", "records in its files that were never committed, cut off or kept as orphans: fetched again"),
    _number("capacity", "seeds that it can hold, as it said with its last heartbeat; 0: not yet", default=0),
    _word("kept_open_by", 64, "why the crawl was not over when it last looked; empty: it has not looked", default=""),
    Index("machine_state", "state"),
    **_OPTIONS,
)

machine_statistics = Table(
    "machine_statistics",
    metadata,
    _number("machine_id", key=True),
    _number("at", key=True),
    _number("requests", "since the machine started, as all of these"),
    _number("pages"),
    _number("bytes"),
    _number("errors"),
    _number("queued", "seeds in its Seed ID Queue"),
    **_CLUSTERED,
)

thread_statistics = Table(
    "thread_statistics",
    metadata,
    _number("machine_id", key=True),
    _number("at", key=True),
    _small("thread", "number of the URL Collector, from 0", key=True),
    _number("seeds_held"),
    **_CLUSTERED,
)
