"""What a report says of broken URLs and slow sites, beside what stands in the rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, update

from scrawler.features.broken import section as broken_section_module
from scrawler.features.broken.section import broken_section
from scrawler.model.results import PageFlag
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import page as page_table
from scrawler.store.schema.tables import seed, site
from scrawler.store.sums.page_sums import page_sums
from scrawler.store.sums.reports import Reports, SlowSite
from tests.integration.store.crawling import Worker, add, page

HOME = "http://a.org/"


def _rows(database: Database, *rows: dict[str, Any]) -> int:
    add(database, HOME)
    seed_id = Worker.of(database).claim_one().seeds[0].id
    made = [page(seed_id, HOME, depth=0)]
    made += [page(seed_id, f"{HOME}{number}", **changes) for number, changes in enumerate(rows)]
    with database.begin() as connection:
        connection.execute(insert(page_table), [row._asdict() for row in made])
    return seed_id


def _tables(database: Database, seed_id: int | None = None) -> dict[str, list[tuple[Any, ...]]]:
    section = broken_section(database, page_sums(database, seed_id).pages, seed_id)
    return {table.key: list(table.rows) for table in section.tables}


def test_broken_urls_are_listed_with_the_page_that_leads_there(database: Database) -> None:
    gone = {"result": "http-error", "status": 404, "referrer": url_hash(HOME)}
    dead = {"result": "timeout", "status": 0, "detail": "no answer within 20 s"}
    guess = {"result": "http-error", "status": 404, "flags": int(PageFlag.SITEMAP)}
    denied = {"result": "robots-denied", "status": 0}
    seed_id = _rows(database, gone, dead, guess, denied, gone)
    for of in (None, seed_id):
        tables = _tables(database, of)
        assert tables["kinds"] == [("http-error", 404, 2), ("timeout", None, 1)]
        assert tables["urls"] == [
            (f"{HOME}0", "http-error", 404, "", HOME),
            (f"{HOME}4", "http-error", 404, "", HOME),
            (f"{HOME}1", "timeout", None, "no answer within 20 s", ""),
        ]
    assert _tables(database, seed_id + 1) == {"kinds": [], "urls": []}


def test_of_many_broken_urls_some_of_each_kind_are_shown(database: Database, monkeypatch: Any) -> None:
    monkeypatch.setattr(broken_section_module, "_SHOWN", 6)
    frequent = [{"result": "http-error", "status": 404}] * 50
    rare = [{"result": "tls-failed", "status": 0}]
    _rows(database, *frequent, *rare, {"result": "http-error", "status": 500})
    tables = _tables(database)
    assert sum(row[-1] for row in tables["kinds"]) == 52
    shown = [row[1:3] for row in tables["urls"]]
    assert shown == [("http-error", 404)] * 4 + [("http-error", 500), ("tls-failed", None)]


def test_the_slowest_sites_are_those_whose_requests_took_longest(database: Database) -> None:
    add(database, "http://slow.org/", "http://slow.org/2", "http://quick.org/", "http://dead.org/")
    pages = {"http://slow.org/": 3, "http://slow.org/2": 7, "http://quick.org/": 100, "http://dead.org/": 0}
    with database.begin() as connection:
        for url, number in pages.items():
            of = {"pages": number, "requests": max(number, 1), "elapsed_ms": 90_000, "wait_ms": 50_000}
            connection.execute(update(seed).where(seed.c.url == url).values(of))
        connection.execute(update(site).where(site.c.site_key == "slow.org").values(slowest_ms=9_000))
    assert Reports(database).sites().slowest == [
        SlowSite("slow.org", 8_000, 10, 10, 180_000, 100_000, 9_000),
        SlowSite("quick.org", 400, 100, 100, 90_000, 50_000, 0),
    ], "no page came of dead.org"
