from __future__ import annotations

from collections.abc import Iterator

import pytest

from scrawler.store.engines.engine import Database, open_database
from tests.ready import make_ready


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A crawl's database with its schema, once SQLite and once MariaDB."""
    make_ready(database_url)
    database = open_database(database_url)
    yield database
    database.close()
