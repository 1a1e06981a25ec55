"""What must hold once a crawl of damaged answers has ended, read with plain SQL and warcio."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from warcio.exceptions import ArchiveLoadFailed

from scrawler.store.lists.ahead import LISTED_IN
from tests.consistency import check_records
from tests.torture.sql import PlainSql

_SHOWN = 10
_ENDED_WHOLE = "('completed', 'max-depth')"
_COUNTED = {  # counter of a seed -> which of its rows it counts
    "pages": "result = 'fetched'",
    "redirects": "result = 'redirect'",
    "http_errors": "result = 'http-error'",
    "denied": "result IN ('robots-denied', 'robots-unavailable')",
    "unwanted": "result = 'unwanted-type'",
    "trapped": "result = 'trap'",
    "not_modified": "result = 'not-modified'",
    "revisits": "result = 'fetched' AND revisit = 1",
    "noindex": "flags & 1",
    "pages + redirects + http_errors + failures + denied + unwanted + trapped + not_modified": "1 = 1",
}

Problems = Iterator[str]


def verify(sql: PlainSql, url: str, pages_dir: Path) -> list[str]:
    """Return what is wrong with an ended crawl, a line each."""
    problems = [problem for check in (errors, seeds, counters, lists) for problem in check(sql)]
    try:
        check_records(url, pages_dir, decodable=False)
    except (AssertionError, ArchiveLoadFailed) as error:
        problems.append(f"archive: {error!r}")
    return problems


def errors(sql: PlainSql) -> Problems:
    """No URL was ended by a fault of the crawler."""
    yield from _told("internal-error", sql.rows("SELECT url, detail FROM page WHERE result = 'internal-error'"))
    yield from _told("seed", sql.rows("SELECT url, end_detail FROM seed WHERE end_reason = 'internal-error'"))
    yield from _told("robots.txt", sql.rows("SELECT origin, detail FROM robots WHERE detail LIKE '%internal-error%'"))


def seeds(sql: PlainSql) -> Problems:
    """Each seed has come to an end."""
    yield from _told("not done", sql.rows("SELECT url, state FROM seed WHERE state <> 'done'"))


def counters(sql: PlainSql) -> Problems:
    """Counters of seeds are those of their rows, and no URL has two."""
    twice = sql.rows("SELECT url, COUNT(*) FROM page GROUP BY url_hash HAVING COUNT(*) > 1")
    yield from _told("more than one row", twice)
    for name, condition in _COUNTED.items():
        counted = f"(SELECT COUNT(*) FROM page WHERE seed_id = seed.id AND {condition})"
        wrong = sql.rows(f"SELECT url, {name}, {counted} FROM seed WHERE {name} <> {counted}")
        yield from _told(f"counted wrongly: {name}", wrong)


def lists(sql: PlainSql) -> Problems:
    """Each list is whole in its chunks, and what is listed has a row where its seed was crawled to its end."""
    chunks: dict[tuple[int, int], list[tuple[int, int, bytes]]] = defaultdict(list)
    for seed, kind, *chunk in sql.rows("SELECT seed_id, kind, first_position, entries, data FROM chunk"):
        chunks[seed, kind].append(tuple(chunk))
    listed: dict[str, str] = {}
    whole = dict(sql.rows(f"SELECT id, url FROM seed WHERE end_reason IN {_ENDED_WHOLE}"))
    for seed, kind, cursor, length in sql.rows("SELECT seed_id, kind, cursor_position, length FROM lane"):
        there = sorted(chunks[seed, kind])
        end = 0
        if kind not in LISTED_IN:  # what is worked off of a list that repeats URLs may be gone
            end = min(there[0][0], cursor) if there else cursor
        for first, entries, data in there:
            lines = zlib.decompress(data).decode().split("\n")
            if (first, entries) != (end, len(lines)):
                yield f"list of seed {seed}, lane {kind}: chunk at {first} is amiss"
            end = first + entries
            if seed in whole:
                listed |= {line.rpartition(" ")[2]: whole[seed] for line in lines}
        if end != length:
            yield f"list of seed {seed}, lane {kind}: {length} entries, {end} in chunks"
    found = {url for (url,) in sql.rows("SELECT url FROM page")}
    yield from _told("listed URL without a row", (url for url in listed if url not in found))


def _told(what: str, examples: Iterable[object]) -> Problems:
    found = sorted(map(str, examples))
    if found:
        yield f"{what}: {len(found)}\n    " + "\n    ".join(found[:_SHOWN])
