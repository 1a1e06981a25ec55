"""Whether a crawl under torture lost or doubled anything: database, files and server's log against the truth.

All of it is read with plain SQL and warcio, so that the crawler does not judge itself.
"""

from __future__ import annotations

import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrawler.features.synthweb.process import LoggedRequest
from scrawler.store.lists.ahead import LISTED_IN
from scrawler.store.lists.orphans import spans_of
from tests.torture.archive import Span, index_lines, records
from tests.torture.crawl import CrawlUnderTest
from tests.torture.moody import Mood
from tests.torture.web import TortureWeb, host_of, is_robots

_NORMAL, _AHEAD = 0, -20  # lanes whose URLs were listed there first
_SHOWN = 5  # examples of each kind of fault
CLOCK = 0.01  # seconds that a pause may be short of the delay: granularity of clocks, ways of answers

Problems = Iterator[str]
_ERROR = "result NOT IN ('fetched', 'redirect', 'unwanted-type', 'trap')"
_COUNTED = {  # counter of a seed -> which of its rows it counts
    "pages": "result = 'fetched'",
    "redirects": "result = 'redirect'",
    "http_errors": "result = 'http-error'",
    "denied": "result IN ('robots-denied', 'robots-unavailable')",
    "failures": "result NOT IN ('fetched', 'redirect', 'http-error', 'robots-denied', 'robots-unavailable')",
    "revisits": "result = 'fetched' AND revisit = 1",
    "requests - retries - slowed - pushed_back": "result NOT IN ('robots-denied', 'robots-unavailable')",
}


@dataclass(frozen=True)
class Findings:
    """What a verification found: figures, and problems, of which there must be none."""

    problems: list[str]
    rows: int
    requests: int
    fetched_again: int
    orphans: int
    refused: int  # page rows that came too late
    uncommitted: int  # records that the machines' rows tell of: of pages that were fetched again
    shortest_gap: float  # seconds between two requests to a host

    def raise_if_any(self) -> None:
        """Raise AssertionError with all problems."""
        assert not self.problems, "\n".join(self.problems)


def verify(crawl: CrawlUnderTest, web: TortureWeb, most_again: int) -> Findings:
    """Compare all that an ended crawl has left with the truth; `most_again` URLs may have been fetched again."""
    web.requests.look()
    checks = (rows, seeds, counters, lists, candidates, owners, moods, archive)
    problems = [problem for check in checks for problem in check(crawl, web)]
    problems += [*requests(web, most_again), *politeness(web, crawl.pace.delay)]
    asked = len(web.requests.pages())
    return Findings(
        problems,
        rows=crawl.sql.one("SELECT COUNT(*) FROM page"),
        requests=asked,
        fetched_again=asked - len(web.requests.urls),
        orphans=len(orphan_spans(crawl)),
        refused=crawl.sql.one("SELECT SUM(refused) FROM machine"),
        uncommitted=crawl.sql.one("SELECT SUM(uncommitted) FROM machine"),
        shortest_gap=min(gap for gap, _ in gaps(web)),
    )


def rows(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """Each URL of the truth has one row, with its result, and there are no others."""
    found = crawl.sql.rows("SELECT url, result FROM page")
    yield from _told("more than one row", (url for url, times in Counter(url for url, _ in found).items() if times > 1))
    results = dict(found)
    yield from _told("no row", web.results.keys() - results.keys())
    yield from _told("a row beyond the truth", results.keys() - web.results.keys() - web.may_be_asked_for)
    wrong = (f"{url} {result}" for url, result in results.items() if web.results.get(url, result) != result)
    yield from _told("wrong result", wrong)


def seeds(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """Each seed has come to a good end."""
    found = crawl.sql.rows("SELECT url, state, end_reason FROM seed")
    yield from _told("lost seed", set(web.seeds) ^ {url for url, _, _ in found})
    yield from _told("seed not done", (f"{url} {state}" for url, state, _ in found if state != "done"))
    bad = (f"{url} {reason}" for url, _, reason in found if reason not in ("completed", "covered"))
    yield from _told("seed with another end than expected", bad)


def counters(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """Counters of seeds and machines are those of the rows."""
    for name, condition in _COUNTED.items():
        query = f"SELECT id, {name}, (SELECT COUNT(*) FROM page WHERE seed_id = seed.id AND {condition}) FROM seed"
        yield from _unequal(f"seed: {name}", crawl.sql.rows(query))
    found = "SELECT COALESCE(SUM(count), 0) FROM candidate WHERE seed_id = seed.id"
    yield from _unequal("seed: candidates", crawl.sql.rows(f"SELECT id, candidates, ({found}) FROM seed"))
    size = "SELECT COALESCE(SUM(length), 0) FROM page WHERE seed_id = seed.id"
    yield from _unequal(
        "seed: bytes", crawl.sql.rows(f"SELECT id, bytes, ({size}) FROM seed WHERE retries + slowed + pushed_back = 0")
    )
    for name, condition in (("pages", "result = 'fetched'"), ("errors", _ERROR)):
        query = f"SELECT 0, (SELECT SUM({name}) FROM machine), (SELECT COUNT(*) FROM page WHERE {condition})"
        yield from _unequal(f"all machines: {name}", crawl.sql.rows(query))


def lists(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """Each list is finished and whole in its chunks, and rows stand at the positions where their URLs are listed."""
    chunks: dict[tuple[int, int], list[tuple[int, int, int, bytes]]] = defaultdict(list)
    for seed, kind, *chunk in crawl.sql.rows("SELECT seed_id, kind, seq, first_position, entries, data FROM chunk"):
        chunks[seed, kind].append(tuple(chunk))
    lanes = crawl.sql.rows("SELECT seed_id, kind, cursor_position, length, ahead FROM lane")
    yield from _told("unfinished list", (lane for lane in lanes if lane[2] != lane[3] or lane[4] != "[]"))
    listed: set[tuple[int, int, str]] = set()
    for seed, kind, cursor, length, _ in lanes:
        there = sorted(chunks[seed, kind])
        begin = 0
        end = 0
        if kind not in LISTED_IN:  # what is worked off of a list that repeats URLs may be gone
            begin = there[0][0] if there else 0
            end = min(there[0][1], cursor) if there else cursor
        for number, (seq, first, entries, data) in enumerate(there, begin):
            lines = zlib.decompress(data).decode().splitlines()
            if (seq, first, entries) != (number, end, len(lines)):
                yield f"list of seed {seed}, lane {kind}: chunk {seq} at {first} is amiss"
            end = first + entries
            if kind == _NORMAL:
                listed |= {(seed, first + index, line.rpartition(" ")[2]) for index, line in enumerate(lines)}
            elif kind == _AHEAD:
                listed |= {(seed, position, url) for position, url in _positions(lines)}
        if end != length:
            yield f"list of seed {seed}, lane {kind}: {length} entries, {end} in chunks"
    found = {*crawl.sql.rows("SELECT lane_seed, position, url FROM page")}
    yield from _told("row at a wrong position", found - listed)
    yield from _told("listed URL without a row", {url for _, _, url in listed} - {url for _, _, url in found})
    per_site = (
        "SELECT site_id, SUM(listed), (SELECT COUNT(*) FROM page JOIN seed lister ON lister.id = lane_seed"
        " WHERE lister.site_id = seed.site_id) FROM seed GROUP BY site_id"
    )
    yield from _unequal("site: listed", crawl.sql.rows(per_site))


def _positions(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the positions of a lane's URLs: of a line that tells none it is the next one."""
    position = -1
    for line in lines:
        *told, url = line.split(" ")
        position = int(told[1]) if told else position + 1
        yield position, url


def candidates(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """The seeds of each site have handed back just the external URLs of their parties."""
    found: dict[str, set[str]] = defaultdict(set)
    query = "SELECT COALESCE(home_url, seed.url), candidate.url FROM candidate JOIN seed ON seed.id = seed_id"
    for home, url in crawl.sql.rows(query):
        found[host_of(home)].add(url)
    truth: dict[str, set[str]] = defaultdict(set)
    for one in web.parties.values():
        truth[host_of(one.home)] |= one.external
    further = set[str]().union(*(one.external for one in web.wider))
    for site in found.keys() | truth.keys():
        lost = truth[site] - found[site] - web.may_be_asked_for
        yield from _told(f"candidate of {site} lost", lost)
        yield from _told(f"candidate of {site} beyond the truth", found[site] - truth[site] - further)


def owners(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """No site is left with an owner or with work."""
    left = crawl.sql.rows(
        "SELECT site_key, state, owner FROM site WHERE state NOT IN ('done', 'left') OR owner IS NOT NULL"
    )
    yield from _told("site not done", left)


def moods(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """What the web's moods have brought about was seen: else the crawl was not tried by them."""
    counts = {Mood.PUSHED_BACK: "pushed_back", Mood.BROKEN: "retries", Mood.SLOW: "slowed"}
    for mood, name in counts.items():
        if mood in web.moods.values() and not crawl.sql.one(f"SELECT SUM({name}) FROM seed"):
            yield f"no seed has {name}"


def archive(crawl: CrawlUnderTest, web: TortureWeb) -> Problems:
    """Rows with a record, records less orphans, and index lines are the same."""
    columns = "warc_file, warc_offset, warc_length, url, status"
    query = f"SELECT {columns} FROM page WHERE warc_file <> '' UNION ALL SELECT {columns} FROM robots_record"
    of_rows = [(Span(*row[:3]), row[3], str(row[4])) for row in crawl.sql.rows(query)]
    of_files = {span: (url, status) for span, url, status in records(crawl.pages_dir)}
    spans = {span for span, _, _ in of_rows}
    yield from _told("row without its record", (span for span in spans if span not in of_files))
    wrong = (span for span, url, status in of_rows if of_files.get(span, (url, status)) != (url, status))
    yield from _told("row with another record", wrong)
    orphans = orphan_spans(crawl)
    yield from _told("record without a row", (str(span) for span in of_files.keys() - spans - orphans))
    yield from _told("orphan row without a record", orphans - of_files.keys())
    yield from _told("record with a row and an orphan row", orphans & spans)
    indexed = Counter((line.span, line.url) for line in index_lines(crawl.pages_dir))
    expected = Counter((span, url) for span, url, _ in of_rows)
    yield from _told("row not in the index", expected - indexed)
    yield from _told("index line without a row", indexed - expected)


def orphan_spans(crawl: CrawlUnderTest) -> set[Span]:
    """Return the places of records that belong to no page, as the database has them."""
    rows = crawl.sql.rows("SELECT warc_file, warc_offset, warc_length, others FROM orphan")
    return {Span(file, *span) for file, *row in rows for span in spans_of(file, row)}


def requests(web: TortureWeb, most_again: int) -> Problems:
    """The server was asked for all URLs of the truth, for no others, and for few of them again."""
    asked = Counter(line.url for line in web.requests.pages())
    yield from _told("never asked for", web.asked_for - asked.keys())
    yield from _told("asked for beyond the truth", asked.keys() - web.asked_for - web.may_be_asked_for)
    again = asked.total() - len(asked)
    if again > most_again:
        yield f"{again} requests were repeated, expected at most {most_again}"


def politeness(web: TortureWeb, delay: float) -> Problems:
    """Two requests to a host were never closer than the delay, and never in flight together."""
    close = (f"{gap:.3f} s before {url}" for gap, url in gaps(web) if gap < delay - CLOCK)
    yield from _told(f"less than {delay} s between two requests to a host", close)
    given_up = {url for url, mood in web.moods.items() if mood is Mood.SLOW}  # by the crawler, before the answer
    for_host = _by_host(web)
    together = (
        f"{after.url} {(before.at - after.came) * 1000:.0f} ms before the answer to {before.url}"
        for lines in for_host
        for before, after in itertools.pairwise(lines)
        if after.came < before.at - CLOCK and before.url not in given_up
    )
    yield from _told("two requests in flight to a host", together)


def gaps(web: TortureWeb) -> list[tuple[float, str]]:
    """Return the seconds between each request and the one before it to the same host, with its URL."""
    pairs = (pair for lines in _by_host(web) for pair in itertools.pairwise(lines))
    return [(after.came - before.came, after.url) for before, after in pairs]


def _by_host(web: TortureWeb) -> list[list[LoggedRequest]]:
    lines: dict[str, list[LoggedRequest]] = defaultdict(list)
    for line in sorted(web.requests.all):
        if not (is_robots(line.url) and host_of(line.url) in web.redirected_to):
            lines[host_of(line.url)].append(line)
    return [*lines.values()]


def _unequal(what: str, found: Iterable[tuple[int, int, int]]) -> Problems:
    wrong = (f"{number}: {counted} instead of {there}" for number, counted, there in found if counted != there)
    yield from _told(f"{what} counted wrongly", wrong)


def _told(what: str, examples: Iterable[object]) -> Problems:
    found = sorted(map(str, examples))
    if found:
        yield f"{what}: {len(found)}, as {', '.join(found[:_SHOWN])}"
