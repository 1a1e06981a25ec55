from __future__ import annotations

import json
import os

import pytest
from sqlalchemy import select

from scrawler.errors import StoreError
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import run
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker, add


def _domain(url: str) -> str:
    return ".".join(url.split("/")[2].split(".")[-2:])


def test_the_crawl_is_made_once_and_keeps_its_name_and_scope(database: Database) -> None:
    crawls = Crawls(database)
    crawl = crawls.open("first", Scope.HOST)
    assert (crawl.id, crawl.name, crawl.scope) == (1, "first", Scope.HOST)
    assert crawls.open("second", Scope.DOMAIN) == crawl


def test_another_scope_moves_all_seeds_to_their_sites(database: Database) -> None:
    crawls = Crawls(database)
    crawls.open("c", Scope.HOST)
    add(database, *(f"http://www{n}.d{n % 7}.org/" for n in range(2_100)))
    crawls.rekey(Scope.DOMAIN, _domain)
    assert crawls.open("c", Scope.DOMAIN).scope is Scope.DOMAIN
    assert {view.site_key for view in Seeds(database).list()} == {f"d{n}.org" for n in range(7)}
    sites = Worker.of(database).claim(2_000, 1_000)
    assert {site.key: len(site.seeds) for site in sites} == {f"d{n}.org": 300 for n in range(7)}


def test_the_scope_is_fixed_once_a_seed_was_begun(database: Database) -> None:
    crawls = Crawls(database)
    crawls.open("c", Scope.HOST)
    add(database, "http://www.a.org/", "http://www.b.org/")
    Worker.of(database).claim(1)
    with pytest.raises(StoreError, match="cannot be changed to domain"):
        crawls.rekey(Scope.DOMAIN, _domain)
    assert crawls.open("c", Scope.DOMAIN).scope is Scope.HOST
    assert {view.site_key for view in Seeds(database).list()} == {"www.a.org", "www.b.org"}


def test_a_run_is_recorded_with_its_settings_and_end(database: Database) -> None:
    crawls = Crawls(database)
    number = crawls.begin_run(7, {"threads": 20, "user_agent": "crawler 🕷"})
    other = crawls.begin_run(7, {})
    crawls.end_run(number, "completed", pages=1, bytes_=2**40, errors=3)
    with database.read() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM run ORDER BY id").mappings().all()
    assert [row["id"] for row in rows] == [number, other]
    assert json.loads(rows[0]["settings"]) == {"threads": 20, "user_agent": "crawler 🕷"}
    assert (rows[0]["outcome"], rows[0]["pages"], rows[0]["bytes"], rows[0]["errors"]) == ("completed", 1, 2**40, 3)
    assert rows[0]["ended_at"] >= rows[0]["started_at"]
    assert (rows[1]["outcome"], rows[1]["ended_at"]) == (None, None)


def test_runs_with_the_same_settings_share_them(database: Database) -> None:
    """The newest has them; of the others that is left which is looked up in them, and where the rest stands."""
    crawls = Crawls(database)
    settings = {"threads": 20, "pages_dir": "pages", "archive_to": "s3://copies", "note": "x" * 4_000}
    machines = [Machines(database).register("here", os.getpid(), 0).id for _ in range(4)]
    first = crawls.begin_run(machines[0], settings)
    second = crawls.begin_run(machines[1], settings)  # while the first one lives
    declare_dead(database, machines[0])
    declare_dead(database, machines[1])
    other = crawls.begin_run(machines[2], settings | {"threads": 3})
    declare_dead(database, machines[2])
    newest = crawls.begin_run(machines[3], settings)
    with database.read() as connection:
        stored = {row.id: json.loads(row.settings) for row in connection.execute(select(run.c.id, run.c.settings))}
    short = {"pages_dir": "pages", "archive_to": "s3://copies", "as_in_run": newest}
    assert stored == {first: short, second: short, other: settings | {"threads": 3}, newest: settings}
    assert crawls.copied_to() == "s3://copies"
    assert {str(path) for path in Machines(database).folders("here").values()} == {"pages"}
