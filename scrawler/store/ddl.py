"""Renders the tables as SQL files for a DBA: `python -m scrawler.store.ddl mysql > sql/mysql/schema.sql`."""

from __future__ import annotations

import sys

from sqlalchemy import Table
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from scrawler.store.migrations import migration_texts
from scrawler.store.tables import metadata

DIALECTS: dict[str, Dialect] = {"mysql": mysql.dialect(), "sqlite": sqlite.dialect()}
CLOCK = {
    "mysql": "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
    "sqlite": "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
}  # each gives UTC milliseconds by the database's clock

_NAMES = {"mysql": "MySQL 8 and MariaDB 10.6+", "sqlite": "SQLite 3.37+"}
_HEAD = """\
-- SCrawler: schema of a crawl's database for {name}.
-- One database holds one crawl. Times are UTC milliseconds. URLs compare byte for byte; *_hash is BLAKE2b, 16 bytes.
-- There are no foreign keys: all rows of a site are written by the one machine that owns it, fenced by site.token.
"""
_TAIL = "\nINSERT INTO schema_version (version, applied_at) VALUES ({version}, {clock});\n"


def render_schema(dialect: str) -> str:
    """Return the SQL text that gives an empty database of `dialect` ("mysql", "sqlite") the newest schema."""
    version = max(migration_texts(dialect))
    tables = [_render_table(table, DIALECTS[dialect]) for table in metadata.tables.values()]
    return _HEAD.format(name=_NAMES[dialect]) + "".join(tables) + _TAIL.format(version=version, clock=CLOCK[dialect])


def _render_table(table: Table, dialect: Dialect) -> str:
    docs = {column.name: column.doc for column in table.columns if column.doc}
    lines = []
    created = (
        str(CreateTable(table).compile(dialect=dialect)).strip().replace("\n)\n ", "\n) ").replace("\n)E", "\n) E")
    )
    for line in created.splitlines():
        text = line.rstrip().replace("\t", "    ")
        doc = docs.get(text.split()[0].strip('`"')) if text.startswith("    ") else None
        lines.append(f"{text}  -- {doc}" if doc else text)
    indexes = [
        f"{CreateIndex(index).compile(dialect=dialect)};\n"
        for index in sorted(table.indexes, key=lambda index: str(index.name))
    ]
    return "\n" + "\n".join(lines) + ";\n" + "".join(indexes)


if __name__ == "__main__":
    sys.stdout.write(render_schema(sys.argv[1]))
