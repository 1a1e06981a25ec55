"""Crawls that earlier versions left half-finished: their rows and files, under tests/data, loaded into a database.

`schema1/` was made by the last version with schema 1, once on SQLite and once on MariaDB: a crawl of `SPEC`, served at
the port of `PORTS`, killed while some seeds were done and some in work; then three more were imported. Sites 1, 3, 4, 8
and 12 have two seeds, one of them with a dot at the end of its host; sites 2, 6 and 15 have only such a one. As loaded,
the machine that was killed ran on another host, long ago, and was declared dead.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlalchemy import create_engine, make_url

from scrawler.store.migrations import migration_texts, statements
from scrawler.synthweb.spec import Hosts, WebSpec

SPEC = WebSpec(sites=16, mean_pages=7, equal=True, page_bytes=300, links=5, hosts=Hosts.NAMES)
PORTS = {"sqlite": 18471, "mysql": 18472}  # the rows hold URLs, in compressed chunks as well
_FOLDERS = {"sqlite": "sqlite", "mysql": "mariadb"}
_DATA = Path(__file__).parent / "data" / "schema1"


def dialect_of(url: str) -> str:
    """Return "sqlite" or "mysql"."""
    return make_url(url).get_backend_name()


def load_schema_1(url: str, pages_dir: Path | None = None) -> None:
    """Fill an empty database with the crawl of its kind; its WARC files go to `pages_dir`."""
    kind = dialect_of(url)
    stored = _DATA / _FOLDERS[kind]
    engine = create_engine(url)
    with engine.begin() as connection:
        rows = (stored / "rows.sql").read_text().splitlines()
        for statement in [*statements(migration_texts(kind)[1]), *rows]:
            connection.exec_driver_sql(statement.replace("%", "%%") if kind == "mysql" else statement)
    engine.dispose()
    if pages_dir is not None:
        shutil.copytree(stored / "pages", pages_dir)
