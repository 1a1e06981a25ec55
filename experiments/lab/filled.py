"""A database as a large crawl leaves it, written by SQL: what asks the database needs no crawl of days before."""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrawler.model.results import PageFlag, Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.columns import PART

_BEGAN = 1_700_000_000_000  # milliseconds since 1970
_AT_ONCE = 50_000  # rows of a transaction
_FILE_RECORDS = 20_000  # records of a WARC file
_SEEDS_A_LINK = 5  # each of so many candidates was found by a second seed
_PROMOTED = 20  # one of so many seeds was a candidate first

# Result, status, flags, and how often such a page comes.
_RESULTS = (
    (Result.FETCHED, 200, 0, 70),
    (Result.FETCHED, 200, PageFlag.NOINDEX, 4),
    (Result.FETCHED, 200, PageFlag.NEAR_DUPLICATE, 3),
    (Result.FETCHED, 200, PageFlag.SLOW, 1),
    (Result.FETCHED, 200, PageFlag.ASSET, 4),
    (Result.REDIRECT, 301, 0, 5),
    (Result.REDIRECT, 302, 0, 2),
    (Result.HTTP_ERROR, 404, 0, 4),
    (Result.HTTP_ERROR, 403, 0, 1),
    (Result.HTTP_ERROR, 500, 0, 1),
    (Result.ROBOTS_DENIED, 0, 0, 3),
    (Result.UNWANTED_TYPE, 200, 0, 1),
    (Result.TIMEOUT, 0, 0, 1),
)
_TYPES = (
    *(("text/html", 85), ("application/xhtml+xml", 1), ("application/pdf", 4), ("image/jpeg", 3), ("image/png", 2)),
    *(("text/css", 1), ("application/javascript", 1), ("text/plain", 1), ("application/json", 1), ("", 1)),
)
_ENDS = (
    *((EndReason.COMPLETED, 80), (EndReason.MAX_PAGES, 10), (EndReason.DEAD, 8), (EndReason.MAX_TIME, 2)),
    (None, 5),
)


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows of each kind there are."""

    sites: int
    seeds: int
    candidates: int  # different ones that are no seeds
    pages: int


def fill(file: Path, size: Size) -> None:
    """Write such a database to an SQLite file; of the same size it has the same rows each time."""
    database = open_database(f"sqlite:///{file}")
    Crawls(database).open("crawl", Scope.HOST)
    database.close()
    chance = random.Random(size.pages)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql > ''").fetchall()
        told = connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall()
        for name, _ in indexes:  # made at the end they are sorted once; row by row they would take most of the time
            connection.execute(f"DROP INDEX {name}")
        _insert(connection, "site", _sites(size))
        _insert(connection, "robots", _robots(size))
        _insert(connection, "seed", _seeds(size, chance))
        _insert(connection, "candidate", _candidates(size))
        _insert(connection, "page", _pages(size, chance))
        for _, text in indexes:
            connection.execute(text)
        connection.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", told)  # it went with the indexes
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _insert(connection: sqlite3.Connection, table: str, rows: Iterator[dict[str, Any]]) -> None:
    """Insert rows, by the names of their columns; all have those of the first."""
    first = next(rows, None)
    if first is None:
        return
    statement = f"INSERT INTO {table} ({', '.join(first)}) VALUES ({', '.join('?' * len(first))})"
    connection.execute("BEGIN")
    connection.execute(statement, tuple(first.values()))
    for number, row in enumerate(rows, 1):
        connection.execute(statement, tuple(row.values()))
        if number % _AT_ONCE == 0:
            connection.execute("COMMIT")
            connection.execute("BEGIN")
    connection.execute("COMMIT")


def _sites(size: Size) -> Iterator[dict[str, Any]]:
    for number in range(size.sites):
        key = _host(number)
        yield {"id": number + 1, "key_hash": url_hash(key), "site_key": key, "state": "done"}


def _robots(size: Size) -> Iterator[dict[str, Any]]:
    """Yield them in the order of their keys, in which a table without row ids grows fastest."""
    body = zlib.compress(b"User-agent: *\nDisallow: /private/\n")
    origins = sorted((url_hash(origin), origin, n) for n in range(size.sites) for origin in [f"http://{_host(n)}"])
    for key, origin, number in origins:
        status = 404 if number % 3 == 0 else 200
        yield {
            "origin_hash": key,
            "origin": origin,
            "site_id": number + 1,
            "fetched_at": _BEGAN + number,
            "status": status,
            "detail": "",
            "body": body,
        }


def _seeds(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    ends = _cycle(chance, _ENDS)
    for number in range(size.seeds):
        url = _seed_url(size, number)
        end = ends[number % len(ends)]
        pages = min(int(chance.paretovariate(1.0)), 10_000)
        verdicts = {"internal": 9 * pages + number % 23, "external": 3 * pages + number % 7, "seen": 7 * pages}
        verdicts["same-page"] = pages
        if number % 4 == 0:
            verdicts |= {"file-type": pages, "scheme": 2}
        yield {
            "id": number + 1,
            "site_id": _site_of(size, number) + 1,
            "url": url,
            "url_hash": url_hash(url),
            "state": (SeedState.DONE if end else SeedState.READY).value,
            "end_reason": end and end.value,
            "requests": pages + 1,
            "pages": pages,
            "bytes": pages * 14_000,
            "listed": 2 * pages,
            "candidates": pages,
            "wait_ms": 900 * pages,
            "verdicts": json.dumps(verdicts) if end else None,
            "elapsed_ms": 1_000 * pages,
            "added_at": _BEGAN,
        }


def _candidates(size: Size) -> Iterator[dict[str, Any]]:
    """Yield them seed by seed, as the table is ordered."""
    a_seed = -(-size.candidates // size.seeds)
    for number in range(size.seeds):
        own = range(number * a_seed, min((number + 1) * a_seed, size.candidates))
        found = {_candidate_url(one): 0 for one in own}
        if number % _SEEDS_A_LINK == 0 and own:
            found[_candidate_url((own[0] + size.candidates // 2) % size.candidates)] = 0
        if number % _PROMOTED == 0:
            found[_seed_url(size, (number + size.seeds // 2) % size.seeds)] = 1
        for key, url in sorted((url_hash(url), url) for url in found):
            yield {
                "seed_id": number + 1,
                "url_hash": key,
                "url": url,
                "depth": 1,
                "count": 1 + number % 7,
                "promoted": found[url],
                "part": number * size.pages // size.seeds // PART,
            }


def _pages(size: Size, chance: random.Random) -> Iterator[dict[str, Any]]:
    results = _cycle(chance, [((result, status, flags), times) for result, status, flags, times in _RESULTS])
    types = _cycle(chance, _TYPES)
    lengths = [int(chance.lognormvariate(9.4, 1.2)) for _ in range(9_973)]
    times = [int(chance.lognormvariate(4.6, 1.1)) for _ in range(9_967)]
    for number in range(size.pages):
        # Pages of the seeds that are held together come mixed; a seed's own are as far apart as there are seeds.
        seed = number % size.seeds
        url = f"{_seed_url(size, seed)}section-{number % 17}/page-{number}.html"
        result, status, flags = results[number * 31 % len(results)]
        answered = status > 0
        hash_ = url_hash(url)
        yield {
            "seed_id": seed + 1,
            "url_hash": hash_,
            "url": url,
            "depth": min(number // size.seeds, 7) + number % 3,
            "lane_seed": seed + 1,
            "position": number // size.seeds,
            "result": result.value,
            "status": status,
            "content_type": types[number * 7 % len(types)] if answered else "",
            "length": lengths[number % len(lengths)] if answered else 0,
            "digest": hash_ + hash_[:4] if answered else b"",
            "attempts": 2 if number % 50 == 0 else 1,
            "fetched_at": _BEGAN + number,
            "elapsed_ms": times[number % len(times)],
            "warc_file": f"crawl-m{number % 5}-{number // _FILE_RECORDS:05}.warc.gz" if answered else "",
            "warc_offset": number % _FILE_RECORDS * 15_000,
            "warc_length": 9_000,
            "revisit": 1 if number % 40 == 0 else 0,
            "detail": f"{url}/" if result is Result.REDIRECT else "",
            "flags": int(flags),
            "simhash": int.from_bytes(hash_[:8], "big", signed=True),
        }


def _cycle(chance: random.Random, weighed: Iterable[tuple[Any, int]]) -> list[Any]:
    """Return values as often as they weigh, mixed."""
    values = [value for value, times in weighed for _ in range(times)]
    chance.shuffle(values)
    return values


def _host(site: int) -> str:
    return f"www.site{site}.example"


def _site_of(size: Size, seed: int) -> int:
    return seed * 7_919 % size.sites


def _seed_url(size: Size, seed: int) -> str:
    """Return such as http://www.site417.example/12345/; neighbours are of different sites."""
    return f"http://{_host(_site_of(size, seed))}/{seed}/"


def _candidate_url(number: int) -> str:
    return f"http://www.other{number % 300_007}.example/found/{number}.html"
