"""Several processes write what refers to the same URLs, while another promotes and exports them."""

from __future__ import annotations

from typing import Any

from scrawler.store.engines.engine import Database
from tests.integration.store.crawling import add
from tests.integration.store.racing import WRITERS, write_or_promote
from tests.together import together

_ROUNDS = 10
_SHARED = 60


def _one(database: Database, query: str) -> Any:
    with database.read() as connection:
        return connection.exec_driver_sql(query).scalar_one()


def test_five_writers_with_shared_candidates_lose_nothing(database: Database, database_url: str) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(WRITERS * 10)))
    *found, promoted = together(write_or_promote, WRITERS + 1, database_url, _ROUNDS, _SHARED)
    assert _one(database, "SELECT SUM(count) FROM candidate") == sum(found)
    assert _one(database, "SELECT COUNT(*) FROM candidate") <= WRITERS * 10 * _SHARED
    assert promoted == _one(database, "SELECT COUNT(*) FROM seed WHERE hops = 1") == 11  # common1, common10 to 19
    assert _one(database, "SELECT COUNT(*) FROM candidate WHERE promoted = 1 AND url NOT LIKE 'http://common1%%'") == 0
    pages = WRITERS * 10 * _ROUNDS * 5
    assert _one(database, "SELECT COUNT(*) FROM page") == pages
    assert _one(database, "SELECT SUM(pages) FROM machine") == pages
    assert _one(database, "SELECT SUM(pages) FROM seed") == pages
