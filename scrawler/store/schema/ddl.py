"""Renders the tables as SQL files for a DBA: `python -m scrawler.store.schema.ddl mysql > sql/mysql/schema.sql`."""

from __future__ import annotations

import sys
from functools import lru_cache

from sqlalchemy import Table
from sqlalchemy.dialects import registry
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from scrawler.store.schema.columns import is_of, set_options, statistics_of
from scrawler.store.schema.migrations import newest_version
from scrawler.store.schema.whole import all_tables

DIALECTS = ("mysql", "postgresql", "sqlite")
CLOCK = {
    "mysql": "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
    "postgresql": "CAST(FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000) AS BIGINT)",
    "sqlite": "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
}  # each gives UTC milliseconds by the database's clock

_NAMES = {"mysql": "MySQL 8 and MariaDB 10.6+", "postgresql": "PostgreSQL 13+", "sqlite": "SQLite 3.37+"}
_HEAD = """\
-- SCrawler: schema of a crawl's database for {name}.
-- One database holds one crawl. Times are UTC milliseconds. URLs compare byte for byte; *_hash is BLAKE2b, 16 bytes.
-- There are no foreign keys: all rows of a site are written by the one machine that owns it, fenced by site.token.
"""
_TOLD = """
-- How many rows have the same values in the columns of an index: without it, SQLite would not go through parts.
ANALYZE sqlite_schema;
{rows}ANALYZE sqlite_schema;
"""
_TOLD_ROW = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('{table}', '{index}', '{statistics}');\n"
_TAIL = "\nINSERT INTO schema_version (version, applied_at) VALUES ({version}, {clock});\n"


@lru_cache(maxsize=4)
def dialect_of(name: str) -> Dialect:
    """Return one of DIALECTS, which is loaded now: each takes a part of a command's start."""
    made: Dialect = registry.load(name)()
    return made


def render_schema(dialect: str) -> str:
    """Return the SQL text that gives an empty database of `dialect`, one of DIALECTS, the newest schema."""
    version = newest_version(dialect)
    tables = [_render_table(table, dialect_of(dialect)) for table in all_tables()]
    tail = _TAIL.format(version=version, clock=CLOCK[dialect])
    told = _render_statistics() if dialect == "sqlite" else ""
    return _HEAD.format(name=_NAMES[dialect]) + "".join(tables) + told + tail


def _render_statistics() -> str:
    rows = [
        _TOLD_ROW.format(table=table.name, index=index, statistics=statistics)
        for table in all_tables()
        for index, statistics in statistics_of(table)
    ]
    return _TOLD.format(rows="".join(rows))


def _render_table(table: Table, dialect: Dialect) -> str:
    set_options(table, dialect.name)
    docs = {column.name: column.doc for column in table.columns if column.doc}
    lines = []
    created = (
        str(CreateTable(table).compile(dialect=dialect)).strip().replace("\n)\n ", "\n) ").replace("\n)E", "\n) E")
    )
    # Literals; MySQL would take them for expressions.
    created = created.replace("DEFAULT (x'')", "DEFAULT x''").replace("DEFAULT ('')", "DEFAULT ''")
    for line in created.splitlines():
        text = line.rstrip().replace("\t", "    ")
        doc = docs.get(text.split()[0].strip('`"')) if text.startswith("    ") else None
        lines.append(f"{text}  -- {doc}" if doc else text)
    indexes = [
        f"{CreateIndex(index).compile(dialect=dialect)};\n"
        for index in sorted(table.indexes, key=lambda index: str(index.name))
        if is_of(index, dialect.name)
    ]
    return "\n" + "\n".join(lines) + ";\n" + "".join(indexes)


if __name__ == "__main__":
    sys.stdout.write(render_schema(sys.argv[1]))
