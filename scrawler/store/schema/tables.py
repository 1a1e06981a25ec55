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

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BINARY,
    VARBINARY,
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TextClause,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from scrawler.model.claims import SiteState
from scrawler.model.seeds import SeedState

metadata = MetaData()

_OPTIONS: dict[str, dict[str, Any]] = {
    "mysql": {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"},
    "sqlite": {"strict": True},
}
# Rows that come and go: an id that was taken out already must never be that of another row, which SQLite else allows.
_IN_PASSING: dict[str, Any] = {"info": {"in_passing": True}}
_CLUSTERED: dict[str, Any] = {"info": {"clustered": True}}  # small rows that are read in key order


class _MediumBlob(LargeBinary):
    """MySQL's type of that name; to import its own loads the whole dialect, a twentieth of each command's start."""

    __visit_name__ = "MEDIUMBLOB"


class _MediumText(Text):
    """MySQL's type of that name, as above."""

    __visit_name__ = "MEDIUMTEXT"


PART = 262_144  # rows of an index that is kept in parts; with fewer, new rows cost less, and look-ups more
_USUAL_ROWS = 1_048_576  # what SQLite takes for the rows of a table of which it knows nothing

# One object for all columns of a kind: to make hundreds of them would take a while at each command's start.
_NUMBER: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
_HASH: TypeEngine[bytes] = LargeBinary().with_variant(BINARY(16), "mysql")
_HASH_OR_NONE: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(16), "mysql")
_DIGEST: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(20), "mysql")
_CHECKS: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(28), "mysql")
_MOMENTS: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(32), "mysql")
_SPANS: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(8000), "mysql")
_SHA256: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(32), "mysql")
_CHUNK: TypeEngine[bytes] = LargeBinary().with_variant(_MediumBlob(), "mysql")
_POSTGRESQL_TEXT = Text(collation="C")
_TEXT: TypeEngine[str] = Text().with_variant(_POSTGRESQL_TEXT, "postgresql")
_LONG_TEXT: TypeEngine[str] = _TEXT.with_variant(_MediumText(), "mysql")


def _id() -> Column[int]:
    # An identity, where there are such: the right to write the table is enough, and no sequence stands beside it.
    return Column("id", _NUMBER, Identity(), primary_key=True, autoincrement=True)


def _number(
    name: str, doc: str = "", *, default: int | None = None, key: bool = False, null: bool = False
) -> Column[int]:
    given = None if default is None else text(str(default))
    return Column(name, _NUMBER, primary_key=key, autoincrement=False, nullable=null, server_default=given, doc=doc)


def _small(name: str, doc: str = "", *, default: int | None = None, key: bool = False) -> Column[int]:
    given = None if default is None else text(str(default))
    return Column(name, Integer(), primary_key=key, autoincrement=False, nullable=False, server_default=given, doc=doc)


def _word(
    name: str, length: int, doc: str = "", *, default: str | None = None, key: bool = False, null: bool = False
) -> Column[str]:
    return Column(name, _word_of(length), primary_key=key, nullable=null, server_default=default, doc=doc)


@lru_cache(maxsize=16)
def _word_of(length: int) -> TypeEngine[str]:
    kind: TypeEngine[str] = String(length).with_variant(Text(), "sqlite")
    return kind.with_variant(String(length, collation="C"), "postgresql")


def _text(name: str, doc: str = "", *, null: bool = False, kind: TypeEngine[str] | None = None) -> Column[str]:
    return Column(name, kind or _TEXT, nullable=null, doc=doc)


def _bytes(name: str, kind: TypeEngine[bytes], doc: str = "", *, key: bool = False) -> Column[bytes]:
    return Column(name, kind, primary_key=key, nullable=False, doc=doc)


class _NoBytes(FunctionElement[bytes]):
    """Bytes of length 0, as a default is written."""

    type = LargeBinary()
    inherit_cache = True


@compiles(_NoBytes)
def _no_bytes(_element: _NoBytes, _compiler: object, **_words: object) -> str:
    return "x''"


@compiles(_NoBytes, "postgresql")
def _no_bytes_of_postgresql(_element: _NoBytes, _compiler: object, **_words: object) -> str:
    return "''"  # x'' would be bits


def _some_bytes(name: str, kind: TypeEngine[bytes], doc: str = "") -> Column[bytes]:
    return Column(name, kind, nullable=False, server_default=_NoBytes(), doc=doc)


def _referrer(doc: str) -> Column[bytes]:
    return Column("referrer", _HASH_OR_NONE, nullable=False, server_default=_NoBytes(), doc=doc)


def set_options(table: Table, dialect: str) -> None:
    """Give a table what only its dialect knows, before it is made.

    Said where the table is declared, that would load the dialects of all for each command.
    """
    options = _OPTIONS.get(dialect, {})
    if dialect == "sqlite" and table.info.get("clustered"):
        options = {**options, "with_rowid": False}
    if dialect == "sqlite" and table.info.get("in_passing"):
        options = {**options, "autoincrement": True}
    for name, value in options.items():
        table.dialect_options[dialect][name] = value


def statistics_of(table: Table) -> list[tuple[str, str]]:
    """Return what SQLite is told of a table's indexes, by their names, in the words of its table sqlite_stat1.

    Nobody lets it count them. Untold, it does not go from part to part of an index, but reads the whole table; and it
    looks for the pages of a URL among all those of a seed.
    """
    told = {str(index.name): index.info["statistics"] for index in table.indexes if "statistics" in index.info}
    return sorted(told.items())


def is_of(index: Index, dialect: str) -> bool:
    """Tell whether a dialect has this index, and give it what only PostgreSQL knows: which rows are in it.

    Said where the index is made, that would load PostgreSQL's dialect for each command, a twentieth of its start.
    """
    only: tuple[str, ...] | None = index.info.get("only")
    if dialect == "postgresql" and "where" in index.info:
        index.dialect_options[dialect]["where"] = text(index.info["where"])
    return only is None or dialect in only


def _if_of(*given: Any, dialect: Dialect, **_: Any) -> bool:
    return is_of(given[1], dialect.name)  # what is to be made, the index, the connection, ...


def _index(name: str, *columns: str, rows: int = 0) -> tuple[Index, Index]:
    """Make an index whose rows come in the order of their ids: on MySQL and SQLite each one has the id at its end.

    `rows` tells SQLite how many have the same values (0: it takes ten for usual).
    """
    statistics = {"statistics": f"{_USUAL_ROWS} {rows}"} if rows else {}
    plain = Index(name, *columns, info={"only": ("mysql", "sqlite"), **statistics}).ddl_if(callable_=_if_of)
    with_id = Index(name, *columns, "id", info={"only": ("postgresql",)}).ddl_if(callable_=_if_of)
    return plain, with_id


def _index_in_parts(name: str, part: str | TextClause, columns: Sequence[str], same: str) -> tuple[Index, Index]:
    """Make an index of hashes. On SQLite each PART of rows, in the order in which they came, has one of its own.

    A hash stands anywhere in an index. Where that was one of 2,000,000 rows, each new row was another 4 KiB to be read
    and written: a page row took 21 us, and 12 in parts. A look-up goes through all parts (see `statistics_of`).

    `part` tells the number of a row's part; `same` how many rows of a part have the same values in the first of
    `columns`, in the first two, and so on.
    """
    whole = Index(name, *columns, info={"only": ("mysql", "postgresql")}).ddl_if(callable_=_if_of)
    info = {"only": ("sqlite",), "statistics": f"{_USUAL_ROWS} {PART} {same}"}
    in_parts = Index(f"{name}_in_parts", part, *columns, info=info).ddl_if(callable_=_if_of)
    return whole, in_parts


def _tally(name: str, doc: str = "") -> Column[int]:
    return _number(name, doc, default=0)


schema_version = Table(
    "schema_version",
    metadata,
    _number("version", "number of a migration that was applied", key=True),
    _number("applied_at"),
)

feature = Table(
    "feature",
    metadata,
    _word("name", 64, "of the room of a feature that keeps rows of its own in this database", key=True),
    _small("version", "of its tables"),
    _number("since", "when a run first used it"),
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
    _text("again", "JSON: the round that was ordered, until it is begun for all its seeds", null=True, kind=_LONG_TEXT),
    _number("revisit_clock", "up to when the budget of visits to URLs again is spent; 0: nothing is", default=0),
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
        "ready or active; of the row of a site's guests: guest, visited, left",
        default=SiteState.READY.value,
    ),
    _number("owner", "machine.id", null=True),
    _number("token", "counts the owners; what an earlier one still writes is refused", default=0),
    _number("next_due_at", "politeness clock: no request before", default=0),
    _word("address", 64, "IP address last used", default=""),
    _small("pushbacks", "refusals in a row: 429, 503, or what is found to be a refusal of all", default=0),
    _number("pause_ms", "pause between two requests; a site taken over from a dead machine rests that long", default=0),
    _number("slowest_ms", "its slowest answer; 0: none. Asked by a dead machine, it may answer that late", default=0),
    _number("visits", "site.id of the site whose guests have their parties here, and whose lease they take", null=True),
    _some_bytes("rates", _MOMENTS, "how often its pages change: four sums of doubles; empty: nothing is known"),
    _number("revisit_clock", "up to when its own budget of visits to URLs again is spent; 0: nothing is", default=0),
    _small("window_from", "minute of the day, UTC, from which its owner wants it to be asked ...", default=0),
    _small("window_to", "... and up to which; the same as window_from: at any time", default=0),
    Index("site_key_hash", "key_hash", unique=True),
    *_index("site_state", "state", "owner"),
    # PostgreSQL sorts what it finds by IS NULL, however it is indexed: all free sites, for each claim.
    Index("site_free", "id", info={"only": ("postgresql",), "where": "state = 'ready' AND owner IS NULL"}).ddl_if(
        callable_=_if_of
    ),
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
    _tally("pushed_back", "answers by which its site refused, as 429, 503"),
    _tally("slowed", "URLs put off to the slow lane"),
    _tally("slow_pages", "pages fetched there"),
    _tally("wait_ms", "time in which only politeness held it up"),
)
_LATER_COUNTS = (  # later columns stand at the end, where a migration adds them
    _tally("internal_errors", "answers that met a fault of this program"),
    _tally("not_modified", "URLs visited again whose page is as it was"),
)
_ROUND_COUNTS = (
    _tally("saved", "bytes of bodies that did not come again (304), or that an earlier crawl has archived"),
)
SEED_COUNTS = (*_FIRST_COUNTS, *_LATER_COUNTS, *_ROUND_COUNTS)

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
    _text("columns", "JSON: further columns of its line in the seed file, 16,000 characters; NULL: none", null=True),
    _small("base_depth", "links from a user's seed to its URL, where that came from another site", default=0),
    _small("reopened", "times that it went on after its end, for URLs from other sites", default=0),
    *_ROUND_COUNTS,
    _small("round", "0: its URLs are fetched for the first time; n: they were visited again n times", default=0),
    _number("round_at", "when that round was begun; 0: it is the first", default=0),
    _number("states_to", "page.id up to which url_state has what its first round has brought", default=0),
    Column(
        "due_at",
        _NUMBER,
        nullable=True,
        server_default=text("0"),
        doc="when a URL of it is due next; 0: look into url_state; NULL: never",
    ),
    _number("guest_of", "of a guests' party: the seed that found its URL; url_hash is of 'guest ' and url", null=True),
    _small("skipped", "1: the user wants nothing of it now: no machine, round or retry takes it up", default=0),
    _number("batch", "promotion.id of the promotion that made it a seed; 0: none", default=0),
    Index("seed_url_hash", "url_hash", unique=True),
    *_index("seed_site", "site_id", "state"),
    *_index("seed_state", "state", "end_reason"),
    *_index("seed_due", "state", "due_at"),
)

seed_round = Table(
    "seed_round",
    metadata,
    _number("seed_id", key=True),
    _small("round", "one that is over; that which a seed is in, or was in last, stands in its own row", key=True),
    _number("began_at", "0: it was the first"),
    _number("ended_at"),
    _word("end_reason", 24),
    _word("end_detail", 1000),
    _number("elapsed_ms", "as seed.elapsed_ms at its end: since the seed began, as all counts here"),
    *(_number(column.name) for column in SEED_COUNTS),
    **_CLUSTERED,
)

lane = Table(
    "lane",
    metadata,
    _number("seed_id", "the seed that listed the entries", key=True),
    _small(
        "kind",
        "0: normal; r + 100 p: r-th retry, pushed back p times; others stand in model/lanes.py",
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
    _number("length", "body bytes over the wire; where the server said 304, those that an earlier crawl has"),
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
    _referrer("url_hash of the page that listed the URL first; empty: none did, or the version before did not say it"),
    *_index_in_parts("page_url_hash", text(f"id / {PART}"), ["url_hash"], "1"),
    *_index("page_seed", "seed_id", rows=200),
    Index("page_warc_file", "warc_file", "warc_offset"),
)

url_state = Table(
    "url_state",
    metadata,
    _number("seed_id", "its visits were made for this seed", key=True),
    _bytes("url_hash", _HASH, key=True),
    _text("url"),
    _small("depth"),
    _number("position", "as page.position"),
    _small("flags", "as page.flags, of its last visit"),
    _referrer("as page.referrer"),
    _small("visit", "page.visit of the last visit"),
    _number("visited_at", "when it was asked for last ..."),
    _word("result", 24, "... and what came of that"),
    _bytes("digest", _DIGEST, "of its newest payload; empty: none that is whole"),
    _text("payload_url", "whose record holds that payload, if it is another URL's; empty: its own"),
    _number("payload_at", "page.fetched_at of that record"),
    _number("length", "bytes of that payload, as transferred"),
    _word("etag", 255, "as the server sent it with that"),
    _word("last_modified", 64, "as the server sent it with that"),
    _number("known_since", "its first visit"),
    _number("changed_at", "when a visit last found it changed; 0: never"),
    _small("changes", "visits that found it changed"),
    _small("missing", "answers of 404 or 410 in a row"),
    _number("interval_ms", "from its last visit to the next one, by the policy"),
    _number("due_at", "when it is to be visited again; 0: never, -1: it is listed for that"),
    _number("simhash", "of the text of its newest payload; 0: not computed", default=0),
    _some_bytes("checks", _CHECKS, "how often it was found changed: seven sums of floats; empty: it was not checked"),
    _some_bytes(
        "text_print",
        _HASH_OR_NONE,
        "of its text without dates and counters, digest and simhash, or of a body that came packed; empty: none",
    ),
    _small("demand_cell", "revisit_demand.cell in which it is counted; 0: in none", default=0),
    Index("url_state_due", "seed_id", "due_at"),
    **_CLUSTERED,
)

revisit_demand = Table(
    "revisit_demand",
    metadata,
    _number("site_id", "whose URLs; 0: of all sites, as one machine has counted them", key=True),
    _number("machine_id", "which machine has counted them; 0: before any ran, or for a site", key=True),
    _small(
        "cell", "how often they change, and what they weigh: see scrawler/features/revisit/policies/demand.py", key=True
    ),
    _number("pages", "so many more than before; of one machine it may be below 0: others have counted them first"),
    **_CLUSTERED,
)

url_change = Table(
    "url_change",
    metadata,
    _id(),
    _number("at"),
    _number("seed_id"),
    _bytes("url_hash", _HASH),
    _text("url"),
    _word("kind", 8, "new, changed, failing, gone, back, moved"),
    _small("visit", "page.visit of the visit that has found it"),
    _text("detail", "where it has moved"),
    _small("distance", "by how many of 64 bits the simhashes of old and new text differ; -1: not known", default=-1),
    *_index("url_change_at", "at"),
    *_index("url_change_seed", "seed_id", "at"),
)

thinned = Table(
    "thinned",
    metadata,
    _number("seed_id", key=True),
    _bytes("group_hash", _HASH, "of what visits have in common, by keep_visits gone from page; these are:", key=True),
    _word("result", 24),
    _small("status"),
    _small("depth"),
    _small("flags"),
    _text("content_type"),
    _small("size", "class of its length"),
    _small("time", "class of its elapsed_ms"),
    _number("month", "of 30 days since 1970"),
    _number("pages", "how many there are, and sums over them"),
    _number("bytes"),
    _number("longest", "bytes of the longest"),
    _number("retried"),
    _number("first_at"),
    _number("last_at"),
    _number("first_id", "the lowest page.id of them"),
    **_CLUSTERED,
)

webhook = Table(
    "webhook",
    metadata,
    _bytes("url_hash", _HASH, "BLAKE2b-128 of url", key=True),
    _text("url", "changes are sent to it"),
    _number("cursor_change", "all rows of url_change up to this id were delivered"),
    _number("batch_to", "the message on its way goes up to this id; 0: there is none", default=0),
    _word("message_id", 64, "its id, the same at each try", default=""),
    _small("tries", "of this message, which have failed", default=0),
    _number("next_at", "no try before", default=0),
    _tally("delivered", "changes"),
    _tally("messages", "that were delivered"),
    _number("delivered_at", "when the last of them was; 0: none", default=0),
    _word("error", 1000, "what went wrong at the last try; empty: nothing", default=""),
    _number("error_at", "when; 0: never", default=0),
    _word("holder", 255, "the process that sends, as machine.process ...", default=""),
    _number("held_until", "... which others leave alone until then", default=0),
    **_CLUSTERED,
)

orphan = Table(
    "orphan",
    metadata,
    _word("warc_file", 255, "holds a whole response or revisit record that no row of page refers to ...", key=True),
    _number("warc_offset", "... because it was not committed in time, or its row was taken back, or thinned", key=True),
    _number("warc_length"),
    _some_bytes(
        "others", _SPANS, "others of the file, behind it: how far from one to the next, and length, compressed"
    ),
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

promotion = Table(
    "promotion",
    metadata,
    _id(),
    _number("promoted_at"),
    _text("what", "JSON: what was promoted, as it was asked for"),
    _number("after_seed", "seed.id of the newest seed before it: its own come later", default=0),
    _number("undone_at", "0: it holds", default=0),
)

search = Table(
    "search",
    metadata,
    _number("seed_id", key=True),
    _small("queries", "asked of the search forms of its site", default=0),
    _number("results", "links that the answers have shown", default=0),
    _number("found", "URLs that these have listed first", default=0),
    _word("ended", 16, "why no more is asked: budget, repeats, no-terms, failing, refused; empty: goes on", default=""),
    _bytes("data", _CHUNK, "forms and terms of its pages, compressed JSON"),
    **_CLUSTERED,
)

search_query = Table(
    "search_query",
    metadata,
    _number("seed_id", key=True),
    _bytes("url_hash", _HASH, "of the URL that asks, which stands in the seed's list", key=True),
    _small("number", "1: the first query of the seed"),
    _text("term", "that was asked for"),
    _text("form", "action and field of the form"),
    _small("answers", "pages of results", default=0),
    _number("results", "links to results on these", default=0),
    _number("found", "URLs that these have listed first", default=0),
    Index("search_query_url_hash", "url_hash"),
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
    _word("changefreq", 8, "as the sitemap says; empty: it does not", default=""),
    **_CLUSTERED,
)

sitemap_trust = Table(
    "sitemap_trust",
    metadata,
    _number("site_id", key=True),
    _tally("newer_right", "visits that found a page changed whose lastmod said so; thousandths, as all of these, ..."),
    _tally("newer_wrong", "... for what is long ago counts less and less"),
    _tally("older_right", "visits that found a page as it was whose lastmod said so"),
    _tally("older_wrong"),
    _tally("changefreq_right", "visits to pages whose rate of change is known, and within a factor of four of that"),
    _tally("changefreq_wrong"),
    **_CLUSTERED,
)

published_url = Table(
    "published_url",
    metadata,
    _number("seed_id", key=True),
    _bytes("url_hash", _HASH, key=True),
    _number("changed_at", "when it last changed, as the ResourceSync lists of its server say; 0: they do not"),
    _small("gone", "1: that change was its deletion"),
    _text("source", "URL of the list that says so"),
    **_CLUSTERED,
)

publisher = Table(
    "publisher",
    metadata,
    _number("seed_id", "whose site has change lists of ResourceSync", key=True),
    _number("complete_since", "they have told of all changes since then; 0: of none"),
    _number("read_at", "when the last of them was read"),
    _small("hits", "visits that found of a URL what they have said; halved now and then, as are misses"),
    _small("misses", "visits that found something else"),
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

processor = Table(
    "processor",
    metadata,
    _word("name", 255, "of page processors that work together, with commas between them", key=True),
    _number("cursor_page", "they have had all rows of page up to this id ..."),
    _text("gaps", "... but for these, JSON: [first, last] of ids that were not committed yet", kind=_LONG_TEXT),
    _tally("pages", "given to them"),
    _tally("items", "that they made"),
    _tally("errors", "pages at which one of them failed: their items were left out"),
    _text("items_file", "path of the file with the items, or table:NAME of this database; empty: none"),
    _tally("items_bytes", "of that file which are committed (a killed process wrote what follows); rows of that table"),
    _tally("version", "counts commits, and who begins: what an earlier process still commits is refused"),
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
    _small("promoted", "1: made a seed of this crawl; 2: sent to the owner of its site; 3: for guests", default=0),
    _referrer("page.url_hash of the page where it was first found; empty: the version before did not say it"),
    _small(
        "part", f"SQLite: its part of the index of hashes; each {PART} pages of the crawl begin the next", default=0
    ),
    *_index_in_parts("candidate_url_hash", "part", ["promoted", "url_hash"], "131072 2"),
    **_CLUSTERED,
)

inbox = Table(
    "inbox",
    metadata,
    _id(),
    _bytes("key_hash", _HASH, "site.key_hash of the URL's site, which may not be in the database yet"),
    _text("url", "sent to the owner of the site; the row goes with the checkpoint that lists it"),
    _small("depth", "links from a user's seed, over all sites between"),
    _small("hops", "sites from a user's seed"),
    _number("seed_id", "the seed whose party has found it"),
    _referrer("page.url_hash of the page where it was found"),
    _small(
        "guest", "1: for guests at the site, whose row has the key 'guest ' and that of the site; 2: pushed", default=0
    ),
    *_index("inbox_key_hash", "key_hash"),
    **_IN_PASSING,
)

outbox = Table(
    "outbox",
    metadata,
    _id(),
    _number("machine_id", "the machine that has found it, and sends it by its communicator"),
    _bytes("key_hash", _HASH, "as in inbox, and all others; the row goes when the receiver has acknowledged it ..."),
    _text("url", "... or into the inbox of its site, where no other machine owns that"),
    _small("depth"),
    _small("hops"),
    _number("seed_id"),
    _referrer("page.url_hash of the page where it was found"),
    *_index("outbox_machine_id", "machine_id"),
    **_IN_PASSING,
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
    _number("urls_left", "URLs that its sites have left, as told while there is no delay; 0: not told", default=0),
    _word("kept_open_by", 64, "why the crawl was not over when it last looked; empty: it has not looked", default=""),
    _word(
        "agent", 255, "its identifier, which a consistent partition is made from; kept when it starts anew", default=""
    ),
    _small("weight", "how much of the crawl it takes, compared with the others", default=1),
    _tally("sent", "URLs that it has put into inboxes, or into its outbox"),
    _tally(
        "received", "URLs that it has taken out of inboxes, or that receivers have acknowledged: sent less that waits"
    ),
    _tally("reopened", "parties that had ended, and that it let go on for URLs in their inboxes"),
    _tally("dropped", "external URLs that it has forgotten, as mode drop or max_candidates wants"),
    _tally("carried", "URLs that other machines have acknowledged to its communicator; counted as received as well"),
    _word("address", 255, "where its communicator listens, as tcp://host:port; empty: it has none", default=""),
    Index("machine_state", "state"),
)

slot_table = Table(
    "slot_table",
    metadata,
    _word("kind", 16, "of partition: dynamic, modulo, subsite", key=True),
    _number("version", "counts its changes; one that was made from an earlier version is refused"),
    _text("machines", "JSON: id -> weight of those among whom the slots are divided", kind=_LONG_TEXT),
    _text(
        "slots", "JSON: the machine.id of each slot, 0: nobody's; a site's slot follows from its key", kind=_LONG_TEXT
    ),
    **_CLUSTERED,
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

pushed = Table(
    "pushed",
    metadata,
    _id(),
    _number("site_id", "the site that is known, and to whose lists it goes"),
    _text("url", "somebody has told that it is new, or has changed; the row goes when it is listed"),
    _bytes("url_hash", _HASH),
    _word("source", 16, "who has told it: indexnow, websub, ping, owner"),
    _number("at", "when it came, last"),
    _number("due_at", "when it may be asked for: at once, once it is proved, or in the window of the site's owner"),
    _text("proof", "JSON: what is not proved yet, key and place of its file; empty: all is"),
    Index("pushed_site_url", "site_id", "url_hash", unique=True),
    *_index("pushed_due_at", "due_at"),
    **_IN_PASSING,
)

push_tally = Table(
    "push_tally",
    metadata,
    _number("site_id", "0: of no known site", key=True),
    _number("day", "days since 1970, UTC", key=True),
    _word("source", 16, "as in pushed", key=True),
    _tally("accepted", "URLs; the quota of the site counts them"),
    _tally("refused", "URLs, or messages: outside the crawl, over the quota, not proved"),
    _tally("listed", "URLs that machines have taken into the lists of parties"),
    **_CLUSTERED,
)

push_key = Table(
    "push_key",
    metadata,
    _bytes("key_hash", _SHA256, "SHA-256 of a key for pings, which is 256 random bits", key=True),
    _number("site_id"),
    _text("host", "as it was given"),
    _number("created_at"),
    _number("used_at", "0: never", default=0),
    **_CLUSTERED,
)

subscription = Table(
    "subscription",
    metadata,
    _id(),
    _number("site_id"),
    _text("topic"),
    _bytes("topic_hash", _HASH),
    _text("hub"),
    _text("callback", "as the hub knows it: it ends with the token"),
    _word("token", 64, "random: who knows it may answer for the hub"),
    _word("secret", 64, "random: the hub signs with it"),
    _word("state", 16, "asked, active, denied, leaving, left, failed"),
    _number("asked_at", "when the hub was last asked"),
    _number("lease_until", "0: there is no lease", default=0),
    _number("next_at", "when the hub is to be asked again; 0: never", default=0),
    _small("failures", "times in a row that it could not be asked", default=0),
    _word("detail", 1000, "what went wrong", default=""),
    _tally("deliveries", "messages that were signed by the hub"),
    _tally("forged", "messages that were not"),
    Index("subscription_topic", "topic_hash", unique=True),
    Index("subscription_token", "token", unique=True),
    *_index("subscription_next_at", "next_at"),
)

site_owner = Table(
    "site_owner",
    metadata,
    _id(),
    _number("site_id"),
    _text("host", "with its port, where that is not the scheme's own"),
    _bytes("token_hash", _SHA256, "SHA-256 of the owner's token, which is 256 random bits"),
    _word("proof", 8, "how it was shown last: file, meta, dns"),
    _number("proved_at"),
    _number("created_at"),
    Index("site_owner_token", "token_hash", unique=True),
)

submission = Table(
    "submission",
    metadata,
    _number("owner_id", "site_owner.id", key=True),
    _bytes("url_hash", _HASH, key=True),
    _text("url"),
    _number("at", "when it was submitted, last"),
    Index("submission_at", "owner_id", "at"),
    **_CLUSTERED,
)

listener = Table(
    "listener",
    metadata,
    _id(),
    _word("host", 255),
    _small("pid"),
    _word("process", 255, "as machine.process"),
    _word("address", 255, "where it listens"),
    _number("started_at"),
    _number("heartbeat_at"),
    _number("stopped_at", "0: it has not stopped in order", default=0),
)
