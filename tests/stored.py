"""Crawls that earlier versions left half-finished: their rows and files, under tests/data, loaded into a database.

`schema1/` to `schema5/` were each made by the last version with that schema, once on SQLite and once on MariaDB: a
crawl of `SPEC`, served at the port of `port`, killed while some seeds were done and some in work; then three more were
imported. Sites 1, 3, 4, 8 and 12 have two seeds, one of them with a dot at the end of its host; sites 2, 6 and 15 have
only such a one. As loaded, the machine that was killed ran on another host, long ago, and was declared dead.

In `schema2/` it is the third machine. The first fetched the sites 0, 7 and 10, and its WARC file was removed: a loss,
which no run has told of yet. The second died while it read `POISON`, before it had committed anything.
In `schema3/` to `schema5/` it is the second machine; the first fetched the sites 0, 7 and 10.
Schemas 6 to 12 were in no version: they came together with 13.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url

from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.store.schema.migrations import migration_texts, statements

SCHEMAS = (1, 2, 3, 4, 5)
BEFORE, NEWEST = list(migration_texts("sqlite"))[-2:]  # schema of the version before, and of this one
on_engines_with_them = pytest.mark.parametrize("database_url", ["sqlite", "mariadb"], indirect=True)  # of all schemas
SPEC = WebSpec(sites=16, mean_pages=7, equal=True, page_bytes=300, links=5, hosts=Hosts.NAMES)
POISON = "http://site6.synth.test:{port}/t5/s0/p5.html"
_PORTS = {
    (number, dialect): 18469 + 2 * number + offset
    for number in SCHEMAS
    for offset, dialect in enumerate(("sqlite", "mysql"))
}
_FOLDERS = {"sqlite": "sqlite", "mysql": "mariadb"}
_DATA = Path(__file__).parent / "data"


def dialect_of(url: str) -> str:
    """Return "sqlite", "mysql" or "postgresql"."""
    return make_url(url).get_backend_name()


def port(number: int, url: str) -> int:
    """Return the port of the crawl of schema `number`: its rows hold URLs, in compressed chunks as well."""
    return _PORTS[number, dialect_of(url)]


def newer_than(number: int, url: str) -> list[int]:
    """Return the migrations that a database of schema `number` lacks."""
    return [one for one in migration_texts(dialect_of(url)) if one > number]


def load_schema(number: int, url: str, pages_dir: Path | None = None) -> None:
    """Fill an empty database with the crawl of its kind and schema; its WARC files go to `pages_dir`."""
    kind = dialect_of(url)
    stored = _DATA / f"schema{number}" / _FOLDERS[kind]
    texts = [text for one, text in migration_texts(kind).items() if one <= number]
    engine = create_engine(url)
    with engine.begin() as connection:
        rows = (stored / "rows.sql").read_text().splitlines()
        for statement in [*(one for text in texts for one in statements(text)), *rows]:
            connection.exec_driver_sql(statement.replace("%", "%%") if kind == "mysql" else statement)
    engine.dispose()
    if pages_dir is not None:
        shutil.copytree(stored / "pages", pages_dir)
