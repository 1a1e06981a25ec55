"""The tables of a crawl: the one hand-written description; sql/ is rendered from it (see ddl.py).

One database holds one crawl. There are no foreign keys: each of them would make every page row lock its parent
rows, and all rows of a site are written by the one machine that owns it, fenced by the site's token.
A row of `page` is a visit to a URL, not a URL: with its result and its record it is a line of a log, written once. A
URL has one in a crawl that visits it once, with number 0; another visit is another row, so that what was said of a
record is never changed, and rows and orphans go on to be the records. What is known of a URL beyond its visits (when
it is due, what it said of itself last) is another thing, which changes: it belongs into a table of its own, by
`url_hash`.
URLs compare byte for byte (binary collation, whatever that of the database is), are looked up by `url_hash`, and times
are UTC milliseconds.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, text

from scrawler.model.claims import SiteState
from scrawler.model.seeds import SeedState
from scrawler.store.schema.columns import (
    CHECKS,
    CHUNK,
    CLUSTERED,
    DIGEST,
    HASH,
    HASH_OR_NONE,
    IN_PASSING,
    LONG_TEXT,
    MOMENTS,
    NUMBER,
    PART,
    SPANS,
    bytes_column,
    if_of,
    index,
    index_in_parts,
    metadata,
    number,
    optional_bytes,
    referrer_column,
    row_id,
    small,
    tally,
    text_column,
    word,
)

schema_version = Table(
    "schema_version",
    metadata,
    number("version", "number of a migration that was applied", key=True),
    number("applied_at"),
)

feature = Table(
    "feature",
    metadata,
    word("name", 64, "of the room of a feature that keeps rows of its own in this database", key=True),
    small("version", "of its tables"),
    number("since", "when a run first used it"),
)

crawl = Table(
    "crawl",
    metadata,
    number("id", "always 1: one database holds one crawl", key=True),
    word("name", 255),
    word("scope", 16, "host, domain, prefix; fixes the keys of the sites"),
    number("created_at"),
    small("paused", "1: no machine starts a request, those that come later neither", default=0),
    number("stopped_at", "machines of commands launched before this time stop", default=0),
    text_column("settings", "JSON: set while it runs; hold over files, variables and flags", null=True, kind=LONG_TEXT),
    number("revision", "grows with each import, promotion or change of settings: machines look again", default=0),
    small("starting_machines", "how many the newest command starts ...", default=0),
    number("starting_at", "... since then: the machine.launched_at of those that are there", default=0),
    word("starting_process", 255, "... and by which process, as machine.process", default=""),
    text_column(
        "again", "JSON: the round that was ordered, until it is begun for all its seeds", null=True, kind=LONG_TEXT
    ),
    number("revisit_clock", "up to when the budget of visits to URLs again is spent; 0: nothing is", default=0),
)

run = Table(
    "run",
    metadata,
    row_id(),
    number("machine_id"),
    number("started_at"),
    number("ended_at", null=True),
    word("outcome", 64, "how it ended; NULL while it runs, or if it was killed", null=True),
    text_column("settings", "JSON: the settings in force", kind=LONG_TEXT),
    tally("pages"),
    tally("bytes"),
    tally("errors"),
)

site = Table(
    "site",
    metadata,
    row_id(),
    bytes_column("key_hash", HASH, "BLAKE2b-128 of site_key"),
    text_column("site_key", "host[:port] or registrable domain, by the crawl's scope"),
    word(
        "state",
        8,
        "ready: has seeds, no owner; resting: as ready from next_due_at on; active: owned; done: no seed "
        "ready or active; of the row of a site's guests: guest, visited, left",
        default=SiteState.READY.value,
    ),
    number("owner", "machine.id", null=True),
    number("token", "counts the owners; what an earlier one still writes is refused", default=0),
    number("next_due_at", "politeness clock: no request before", default=0),
    word("address", 64, "IP address last used", default=""),
    small("pushbacks", "refusals in a row: 429, 503, or what is found to be a refusal of all", default=0),
    number("pause_ms", "pause between two requests; a site taken over from a dead machine rests that long", default=0),
    number("slowest_ms", "its slowest answer; 0: none. Asked by a dead machine, it may answer that late", default=0),
    number("visits", "site.id of the site whose guests have their parties here, and whose lease they take", null=True),
    optional_bytes("rates", MOMENTS, "how often its pages change: four sums of doubles; empty: nothing is known"),
    number("revisit_clock", "up to when its own budget of visits to URLs again is spent; 0: nothing is", default=0),
    small("window_from", "minute of the day, UTC, from which its owner wants it to be asked ...", default=0),
    small("window_to", "... and up to which; the same as window_from: at any time", default=0),
    Index("site_key_hash", "key_hash", unique=True),
    *index("site_state", "state", "owner"),
    # PostgreSQL sorts what it finds by IS NULL, however it is indexed: all free sites, for each claim.
    Index("site_free", "id", info={"only": ("postgresql",), "where": "state = 'ready' AND owner IS NULL"}).ddl_if(
        callable_=if_of
    ),
)

_FIRST_COUNTS = (
    tally("requests", "download attempts, good or bad"),
    tally("pages", "URLs whose final result is fetched"),
    tally("redirects"),
    tally("http_errors"),
    tally("failures", "no whole answer: too-large, cut, timeout, connect-failed, ..."),
    tally("denied", "by robots.txt"),
    tally("unwanted", "Content-Type not accepted"),
    tally("trapped", "not asked for: their pattern is capped"),
    tally("retries"),
    tally("bytes", "body bytes over the wire, all attempts"),
    tally("listed", "URLs appended to the party's list"),
    tally("revisits", "pages whose payload was archived before"),
    tally("candidates", "external links handed back"),
    tally("near_duplicates", "pages that say nearly what an earlier one says"),
    tally("noindex", "pages that forbid to index them"),
    tally("nofollow", "pages that forbid to follow their links"),
    tally("assets", "URLs listed as images, scripts or styles"),
    tally("sitemap_urls", "URLs listed from sitemaps"),
    tally("pushed_back", "answers by which its site refused, as 429, 503"),
    tally("slowed", "URLs put off to the slow lane"),
    tally("slow_pages", "pages fetched there"),
    tally("wait_ms", "time in which only politeness held it up"),
)
_LATER_COUNTS = (  # later columns stand at the end, where a migration adds them
    tally("internal_errors", "answers that met a fault of this program"),
    tally("not_modified", "URLs visited again whose page is as it was"),
)
_ROUND_COUNTS = (
    tally("saved", "bytes of bodies that did not come again (304), or that an earlier crawl has archived"),
)
SEED_COUNTS = (*_FIRST_COUNTS, *_LATER_COUNTS, *_ROUND_COUNTS)

seed = Table(
    "seed",
    metadata,
    row_id(),
    number("site_id"),
    text_column("url", "as imported, normalised"),
    bytes_column("url_hash", HASH, "BLAKE2b-128 of url"),
    text_column("home_url", "where its redirects led; NULL: url itself", null=True),
    small("rehomed", "redirects followed from url to home_url", default=0),
    small("hops", "0: given by the user; n: found n sites away", default=0),
    word("state", 8, "ready, active, slow (waits with its slow lane), done", default=SeedState.READY.value),
    word("end_reason", 24, "why it is done", null=True),
    word("end_detail", 1000, default=""),
    *_FIRST_COUNTS,
    text_column("verdicts", "JSON: reason of a URL verdict -> times; NULL: none", null=True, kind=LONG_TEXT),
    tally("elapsed_ms", "time in work"),
    small("slow_pass", "1: all else was fetched, now its slow lane is", default=0),
    number("added_at"),
    number("started_at", null=True),
    number("ended_at", null=True),
    number("machine_id", "the machine that last worked on it", null=True),
    *_LATER_COUNTS,
    text_column(
        "columns", "JSON: further columns of its line in the seed file, 16,000 characters; NULL: none", null=True
    ),
    small("base_depth", "links from a user's seed to its URL, where that came from another site", default=0),
    small("reopened", "times that it went on after its end, for URLs from other sites", default=0),
    *_ROUND_COUNTS,
    small("round", "0: its URLs are fetched for the first time; n: they were visited again n times", default=0),
    number("round_at", "when that round was begun; 0: it is the first", default=0),
    number("states_to", "page.id up to which url_state has what its first round has brought", default=0),
    Column(
        "due_at",
        NUMBER,
        nullable=True,
        server_default=text("0"),
        doc="when a URL of it is due next; 0: look into url_state; NULL: never",
    ),
    number("guest_of", "of a guests' party: the seed that found its URL; url_hash is of 'guest ' and url", null=True),
    small("skipped", "1: the user wants nothing of it now: no machine, round or retry takes it up", default=0),
    number("batch", "promotion.id of the promotion that made it a seed; 0: none", default=0),
    Index("seed_url_hash", "url_hash", unique=True),
    *index("seed_site", "site_id", "state"),
    *index("seed_state", "state", "end_reason"),
    *index("seed_due", "state", "due_at"),
)

seed_round = Table(
    "seed_round",
    metadata,
    number("seed_id", key=True),
    small("round", "one that is over; that which a seed is in, or was in last, stands in its own row", key=True),
    number("began_at", "0: it was the first"),
    number("ended_at"),
    word("end_reason", 24),
    word("end_detail", 1000),
    number("elapsed_ms", "as seed.elapsed_ms at its end: since the seed began, as all counts here"),
    *(number(column.name) for column in SEED_COUNTS),
    **CLUSTERED,
)

lane = Table(
    "lane",
    metadata,
    number("seed_id", "the seed that listed the entries", key=True),
    small(
        "kind",
        "0: normal; r + 100 p: r-th retry, pushed back p times; others stand in model/lanes.py",
        key=True,
    ),
    number("holder_id", "the seed for which they are fetched now"),
    number("cursor_position", "lowest position not finished"),
    number("length", "entries listed"),
    text_column("ahead", "JSON: finished positions beyond the cursor", kind=LONG_TEXT),
    Index("lane_holder", "holder_id"),
    **CLUSTERED,
)

chunk = Table(
    "chunk",
    metadata,
    number("seed_id", key=True),
    small("kind", key=True),
    number("seq", "0, 1, 2, ... within the lane", key=True),
    number("first_position", "position of its first entry"),
    number("entries"),
    bytes_column("data", CHUNK, "the entries, compressed"),
    Index("chunk_first_position", "seed_id", "kind", "first_position"),
)

page = Table(
    "page",
    metadata,
    row_id(),
    number("seed_id", "fetched for this seed"),
    bytes_column("url_hash", HASH),
    text_column("url"),
    small("depth", "links from the seed URL"),
    number("lane_seed", "listed by this seed ..."),
    number("position", "... at this position of its normal lane; -1, -2, ...: of that of its sitemaps"),
    word("result", 24),
    small("status", "HTTP status; 0: none"),
    text_column("content_type", "media type without parameters"),
    number("length", "body bytes over the wire; where the server said 304, those that an earlier crawl has"),
    bytes_column("digest", DIGEST, "SHA-1 of the payload, or empty"),
    small("attempts"),
    number("fetched_at"),
    number("elapsed_ms"),
    word("warc_file", 255, "empty: nothing was archived"),
    number("warc_offset"),
    number("warc_length"),
    small("revisit", "1: the record is a revisit"),
    text_column("detail", "where a redirect leads, or what went wrong"),
    small(
        "flags",
        "sum of 1 noindex, 2 nofollow, 4 TLS unchecked, 8 slow lane, 16 asset, 32 sitemap, 64 near duplicate, 128 cut",
        default=0,
    ),
    number("simhash", "of the visible text; 0: not computed", default=0),
    small("visit", "0: the first to this URL; n: it was visited n times before, each of which has a row", default=0),
    referrer_column(
        "url_hash of the page that listed the URL first; empty: none did, or the version before did not say it"
    ),
    *index_in_parts("page_url_hash", text(f"id / {PART}"), ["url_hash"], "1"),
    *index("page_seed", "seed_id", rows=200),
    Index("page_warc_file", "warc_file", "warc_offset"),
)

url_state = Table(
    "url_state",
    metadata,
    number("seed_id", "its visits were made for this seed", key=True),
    bytes_column("url_hash", HASH, key=True),
    text_column("url"),
    small("depth"),
    number("position", "as page.position"),
    small("flags", "as page.flags, of its last visit"),
    referrer_column("as page.referrer"),
    small("visit", "page.visit of the last visit"),
    number("visited_at", "when it was asked for last ..."),
    word("result", 24, "... and what came of that"),
    bytes_column("digest", DIGEST, "of its newest payload; empty: none that is whole"),
    text_column("payload_url", "whose record holds that payload, if it is another URL's; empty: its own"),
    number("payload_at", "page.fetched_at of that record"),
    number("length", "bytes of that payload, as transferred"),
    word("etag", 255, "as the server sent it with that"),
    word("last_modified", 64, "as the server sent it with that"),
    number("known_since", "its first visit"),
    number("changed_at", "when a visit last found it changed; 0: never"),
    small("changes", "visits that found it changed"),
    small("missing", "answers of 404 or 410 in a row"),
    number("interval_ms", "from its last visit to the next one, by the policy"),
    number("due_at", "when it is to be visited again; 0: never, -1: it is listed for that"),
    number("simhash", "of the text of its newest payload; 0: not computed", default=0),
    optional_bytes("checks", CHECKS, "how often it was found changed: seven sums of floats; empty: it was not checked"),
    optional_bytes(
        "text_print",
        HASH_OR_NONE,
        "of its text without dates and counters, digest and simhash, or of a body that came packed; empty: none",
    ),
    small("demand_cell", "revisit_demand.cell in which it is counted; 0: in none", default=0),
    Index("url_state_due", "seed_id", "due_at"),
    **CLUSTERED,
)

thinned = Table(
    "thinned",
    metadata,
    number("seed_id", key=True),
    bytes_column(
        "group_hash", HASH, "of what visits have in common, by keep_visits gone from page; these are:", key=True
    ),
    word("result", 24),
    small("status"),
    small("depth"),
    small("flags"),
    text_column("content_type"),
    small("size", "class of its length"),
    small("time", "class of its elapsed_ms"),
    number("month", "of 30 days since 1970"),
    number("pages", "how many there are, and sums over them"),
    number("bytes"),
    number("longest", "bytes of the longest"),
    number("retried"),
    number("first_at"),
    number("last_at"),
    number("first_id", "the lowest page.id of them"),
    **CLUSTERED,
)

orphan = Table(
    "orphan",
    metadata,
    word("warc_file", 255, "holds a whole response or revisit record that no row of page refers to ...", key=True),
    number("warc_offset", "... because it was not committed in time, or its row was taken back, or thinned", key=True),
    number("warc_length"),
    optional_bytes(
        "others", SPANS, "others of the file, behind it: how far from one to the next, and length, compressed"
    ),
    **CLUSTERED,
)

robots_record = Table(
    "robots_record",
    metadata,
    word("warc_file", 255, "holds an answer to a request for a robots.txt, which has no row of page ...", key=True),
    number("warc_offset", key=True),
    number("warc_length"),
    text_column("url", "... of a robots.txt, or where one redirects"),
    number("fetched_at"),
    small("status"),
    text_column("content_type", "media type without parameters"),
    bytes_column("digest", DIGEST, "SHA-1 of the payload"),
    **CLUSTERED,
)

loss = Table(
    "loss",
    metadata,
    word("warc_file", 255, "does not hold any more what rows of page say", key=True),
    word("kind", 8, "missing, cut, damaged"),
    number("records", "response and revisit records that are gone"),
    number("revisits", "records in other files that refer to payloads which stood in these alone; -1: not counted yet"),
    number("found_at"),
    small("told", "1: a run has ended with exit code 7 for it", default=0),
    small("accepted", "1: the user knows of these records, and does not want them back", default=0),
    **CLUSTERED,
)

relation = Table(
    "relation",
    metadata,
    bytes_column("url_hash", HASH, "of a page ...", key=True),
    word("kind", 16, "canonical, redirect", key=True),
    number("seed_id", "... fetched for this seed"),
    text_column("target", "URL that stands for it"),
    **CLUSTERED,
)

pattern = Table(
    "pattern",
    metadata,
    number("seed_id", key=True),
    bytes_column("pattern_hash", HASH, key=True),
    text_column("pattern", "of URLs: digits, ids as stars, query keys without values; or: links as on URL"),
    tally("fetched"),
    tally("exact", "of these, with a payload known before"),
    tally("near", "of these, with a text like an earlier one and no new word"),
    tally("refused", "URLs not asked for, or not listed, because it is capped"),
    text_column("evidence", "why it is capped; empty: it is not"),
    **CLUSTERED,
)

jar = Table(
    "jar",
    metadata,
    number("seed_id", key=True),
    bytes_column("data", CHUNK, "cookies of its party, JSON of at most 64 KiB"),
    **CLUSTERED,
)

rejection = Table(
    "rejection",
    metadata,
    number("seed_id", key=True),
    bytes_column("url_hash", HASH, key=True),
    word("reason", 24, "a verdict of seed.verdicts; a few URLs are kept for each"),
    text_column("url"),
    text_column("evidence", "the page on which it stands, the limit, ..."),
    Index("rejection_url_hash", "url_hash"),
    **CLUSTERED,
)

sitemap_url = Table(
    "sitemap_url",
    metadata,
    number("seed_id", key=True),
    bytes_column("url_hash", HASH, key=True),
    number("lastmod", "as the sitemap says; 0: it does not"),
    text_column("sitemap", "its URL"),
    word("changefreq", 8, "as the sitemap says; empty: it does not", default=""),
    **CLUSTERED,
)

robots = Table(
    "robots",
    metadata,
    bytes_column("origin_hash", HASH, "BLAKE2b-128 of origin", key=True),
    text_column("origin", "scheme://host[:port]; or a URL to which several robots.txt redirect, if it is none itself"),
    number("site_id", "0: of such a URL"),
    number("fetched_at"),
    small("status", "HTTP status; 0: no whole answer"),
    text_column("detail", "what went wrong"),
    bytes_column("body", CHUNK, "compressed (zlib)"),
    Index("robots_site", "site_id"),
    **CLUSTERED,
)

suspect = Table(
    "suspect",
    metadata,
    number("site_id", key=True),
    bytes_column("url_hash", HASH, key=True),
    number("machine_id", "died while it read the URL: each of them counts once, however often it is noted", key=True),
    text_column("url"),
    number("blame", "1: perhaps, 2: for sure; with 2, all machines together, it is not asked for again"),
    text_column("detail", "of what the machine died"),
    **CLUSTERED,
)

candidate = Table(
    "candidate",
    metadata,
    number("seed_id", "the seed whose party has the links", key=True),
    bytes_column("url_hash", HASH, key=True),
    text_column("url"),
    small("depth", "of the page where it was first found"),
    number("count", "times found"),
    small("promoted", "1: made a seed of this crawl; 2: sent to the owner of its site; 3: for guests", default=0),
    referrer_column("page.url_hash of the page where it was first found; empty: the version before did not say it"),
    small("part", f"SQLite: its part of the index of hashes; each {PART} pages of the crawl begin the next", default=0),
    *index_in_parts("candidate_url_hash", "part", ["promoted", "url_hash"], "131072 2"),
    **CLUSTERED,
)

inbox = Table(
    "inbox",
    metadata,
    row_id(),
    bytes_column("key_hash", HASH, "site.key_hash of the URL's site, which may not be in the database yet"),
    text_column("url", "sent to the owner of the site; the row goes with the checkpoint that lists it"),
    small("depth", "links from a user's seed, over all sites between"),
    small("hops", "sites from a user's seed"),
    number("seed_id", "the seed whose party has found it"),
    referrer_column("page.url_hash of the page where it was found"),
    small(
        "guest", "1: for guests at the site, whose row has the key 'guest ' and that of the site; 2: pushed", default=0
    ),
    *index("inbox_key_hash", "key_hash"),
    **IN_PASSING,
)

outbox = Table(
    "outbox",
    metadata,
    row_id(),
    number("machine_id", "the machine that has found it, and sends it by its communicator"),
    bytes_column(
        "key_hash", HASH, "as in inbox, and all others; the row goes when the receiver has acknowledged it ..."
    ),
    text_column("url", "... or into the inbox of its site, where no other machine owns that"),
    small("depth"),
    small("hops"),
    number("seed_id"),
    referrer_column("page.url_hash of the page where it was found"),
    *index("outbox_machine_id", "machine_id"),
    **IN_PASSING,
)

server = Table(
    "server",
    metadata,
    word("address", 64, "IP address", key=True),
    number("machine_id", "with delay_per_ip: the machine that may ask it next, or was the last to ask ..."),
    number("next_due_at", "... and when any other one may"),
    Index("server_next_due_at", "next_due_at"),
    **CLUSTERED,
)

server_place = Table(
    "server_place",
    metadata,
    word("address", 64, "IP address; empty: the machine lives alone, and holds what it likes anywhere", key=True),
    number("machine_id", "0: the row that is locked while shares are told", key=True),
    number("places", "requests that it may have in flight there, of per_ip in all"),
    **CLUSTERED,
)

errand = Table(
    "errand",
    metadata,
    number("site_id", "a site that one machine has in work, and of whose host another one wants something", key=True),
    text_column("url", "what it wants, on behalf of a site of its own"),
    number("machine_id", "the one that wants it; 0: it has asked, and the owner of the site goes on after `ends_at`"),
    number("lent_at", "from when on it may ask: the owner asks nothing from then on until `ends_at`; 0: not yet"),
    number("ends_at", "after this the row counts no more, whatever has become of either machine"),
    **CLUSTERED,
)

machine = Table(
    "machine",
    metadata,
    row_id(),
    word("name", 255),
    word("host", 255),
    small("pid"),
    word("process", 255, "tells on its own host whether it still runs: boot id, pid namespace, pid, start time"),
    word("state", 8, "running, paused, stopping, stopped, dead"),
    word("wanted", 8, "what it is told to do: run, pause, stop, drain, remove", default="run"),
    number("launched_at", "when the command that started it began"),
    number("started_at"),
    number("heartbeat_at", "its lease on the sites it owns counts from here"),
    number("memory", "resident bytes at the last heartbeat", default=0),
    tally("checkpoints", "committed by it; tells a repeated commit from a new one"),
    tally("pages", "committed by it, result fetched"),
    tally("bytes", "of the page rows committed by it"),
    tally("errors", "page rows not fetched, redirect, not-modified, unwanted-type or trap"),
    tally("refused", "page rows of deltas that were refused: their sites were taken over"),
    tally("uncommitted", "records in its files that were never committed, cut off or kept as orphans: fetched again"),
    number("capacity", "seeds that it can hold, as it said with its last heartbeat; 0: not yet", default=0),
    number("urls_left", "URLs that its sites have left, as told while there is no delay; 0: not told", default=0),
    word("kept_open_by", 64, "why the crawl was not over when it last looked; empty: it has not looked", default=""),
    word(
        "agent", 255, "its identifier, which a consistent partition is made from; kept when it starts anew", default=""
    ),
    small("weight", "how much of the crawl it takes, compared with the others", default=1),
    tally("sent", "URLs that it has put into inboxes, or into its outbox"),
    tally(
        "received", "URLs that it has taken out of inboxes, or that receivers have acknowledged: sent less that waits"
    ),
    tally("reopened", "parties that had ended, and that it let go on for URLs in their inboxes"),
    tally("dropped", "external URLs that it has forgotten, as mode drop or max_candidates wants"),
    tally("carried", "URLs that other machines have acknowledged to its communicator; counted as received as well"),
    word("address", 255, "where its communicator listens, as tcp://host:port; empty: it has none", default=""),
    Index("machine_state", "state"),
)

machine_statistics = Table(
    "machine_statistics",
    metadata,
    number("machine_id", key=True),
    number("at", key=True),
    number("requests", "since the machine started, as all of these"),
    number("pages"),
    number("bytes"),
    number("errors"),
    number("queued", "seeds in its Seed ID Queue"),
    **CLUSTERED,
)

thread_statistics = Table(
    "thread_statistics",
    metadata,
    number("machine_id", key=True),
    number("at", key=True),
    small("thread", "number of the URL Collector, from 0", key=True),
    number("seeds_held"),
    **CLUSTERED,
)
