"""Fixtures: a machine with files to be finished, on SQLite and on MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scrawler.store.engines.engine import Database, open_database
from tests.integration.crawl.records.fetching import Fetching, add_hosts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pages"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    add_hosts(database)
    yield database
    database.close()


@pytest.fixture
def fetching(database: Database, folder: Path) -> Fetching:
    return Fetching(database, folder)
