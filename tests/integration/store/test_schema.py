"""Files, migrations and SQLAlchemy tables agree, on all engines."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect, make_url

import scrawler
from scrawler.errors import StoreError
from scrawler.features.cluster.store.partitions import MappedPartition
from scrawler.model.partitions import PartitionKind
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.columns import metadata, set_options, statistics_of
from scrawler.store.schema.migrations import migration_texts, schema_text, statements
from scrawler.store.schema.whole import all_tables
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.limits import HANGS
from tests.stored import BEFORE, NEWEST, SCHEMAS, dialect_of, load_schema, newer_than, on_engines_with_them

_ASKED = {  # by dialect, what tells of all tables at once: reflection asks five times a table
    "sqlite": {
        "columns": 'SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk'
        " FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' ORDER BY 1, 2",
        "indexes": 'SELECT m.name, l.name, l."unique", l.origin, l.partial, i.seqno, i.name'
        " FROM sqlite_master AS m, pragma_index_list(m.name) AS l, pragma_index_info(l.name) AS i"
        " WHERE m.type = 'table' ORDER BY 1, 2, 6",
        "expressions": "SELECT name, trim(sql, char(10)) FROM sqlite_master WHERE sql LIKE '% / %' ORDER BY 1",
        "foreign keys": "SELECT m.name, f.* FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f"
        " ORDER BY 1, 2, 3",
        "options": "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main' ORDER BY 1",
    },
    "postgresql": {
        "columns": "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull,"
        " attidentity, attcollation::regcollation::text, pg_get_expr(adbin, adrelid)"
        " FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid"
        " LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
        " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped"
        " ORDER BY 1, 2",
        "indexes": "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
        "keys": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
        "options": "SELECT relname, relpersistence::text, reloptions::text FROM pg_class"
        " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1",
    },
}
# Runs commands, each in a fork, and prints their exit codes.
_ONE_AFTER_THE_OTHER = """
import json, os, sys
import scrawler.app, scrawler.cli.db, scrawler.cli.run, scrawler.cli.status
from scrawler.cli import main

for words in json.loads(sys.argv[1]):
    pid = os.fork()
    if pid == 0:
        sys.argv[1:] = words
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
_STATISTICS = "SELECT tbl, idx, stat FROM sqlite_stat1 ORDER BY 1, 2"


def _described(url: str) -> dict[str, Any]:
    """All that can be told of the tables, on MySQL in the server's own words; columns without their order.

    A migration adds them at the end, wherever they stand in tables.py.
    """
    engine = create_engine(url)
    with engine.connect() as connection:
        if engine.dialect.name == "mysql":
            tables = inspect(connection).get_table_names()
            created = {name: connection.exec_driver_sql(f"SHOW CREATE TABLE {name}").one()[1] for name in tables}
            described = {name: sorted(line.strip(" ,") for line in text.splitlines()) for name, text in created.items()}
        else:
            asked = _ASKED[engine.dialect.name]
            described = {name: connection.exec_driver_sql(query).all() for name, query in asked.items()}
    engine.dispose()
    return described


def _tables(url: str) -> set[str]:
    engine = create_engine(url)
    names = set(inspect(engine).get_table_names())
    engine.dispose()
    return names


def _file(url: str) -> str:
    """Return the path of an SQLite database, empty for one on a server."""
    return str(make_url(url).database) if dialect_of(url) == "sqlite" else ""


def _load(url: str, *texts: str) -> None:
    """Load SQL files by hand."""
    if path := _file(url):
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("\n".join(("BEGIN;", *texts, ";COMMIT;")))
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        for text in texts:
            for statement in statements(text):
                connection.exec_driver_sql(statement)
    engine.dispose()


def _empty(url: str) -> None:
    if path := _file(url):
        for file in Path(path).parent.glob(f"{Path(path).name}*"):
            file.unlink()
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
        elif tables := inspect(connection).get_table_names():
            connection.exec_driver_sql(f"DROP TABLE {', '.join(tables)}")
    engine.dispose()


def test_files_migrations_and_tables_agree(database_url: str) -> None:
    engine = create_engine(database_url)
    for table in all_tables():
        set_options(table, engine.dialect.name)
    metadata.create_all(engine)
    if engine.dialect.name == "sqlite":
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE sqlite_schema")  # makes the table of statistics
    engine.dispose()
    tables = _described(database_url)
    _empty(database_url)
    _load(database_url, schema_text(dialect_of(database_url)))
    file = _described(database_url)
    _empty(database_url)
    _load(database_url, *migration_texts(dialect_of(database_url)).values())
    migrations = _described(database_url)
    _empty(database_url)
    open_database(database_url).close()
    made = _described(database_url)
    assert _tables(database_url) == {table.name for table in all_tables()}
    assert "page" in str(tables)
    assert file == tables
    assert migrations == tables
    assert made == tables


def test_sqlite_is_told_of_its_indexes_by_schema_and_migrations(tmp_path: Path) -> None:
    told = [(table.name, *one) for table in all_tables() for one in statistics_of(table)]
    assert ("page", "page_url_hash_in_parts") in [one[:2] for one in told]
    for texts in ([schema_text("sqlite")], list(migration_texts("sqlite").values())):
        path = tmp_path / f"{len(texts)}.db"
        _load(f"sqlite:///{path}", *texts)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(_STATISTICS).fetchall() == sorted(told)


def test_a_schema_loaded_by_hand_is_taken_as_it_is(database_url: str) -> None:
    _load(database_url, schema_text(dialect_of(database_url)))
    open_database(database_url, create=False).close()
    assert upgrade_database(database_url) == []


def test_an_empty_database_is_refused_unless_it_may_be_made(server_url: str) -> None:
    with pytest.raises(StoreError, match="holds no crawl"):
        open_database(server_url, create=False)
    open_database(server_url).close()
    open_database(server_url, create=False).close()


def test_a_newer_version_is_refused_with_advice(database_url: str) -> None:
    database = open_database(database_url)
    with database.begin() as connection:
        connection.exec_driver_sql("INSERT INTO schema_version VALUES (999, 1)")
    database.close()
    for opened in (open_database, upgrade_database):
        with pytest.raises(StoreError, match=f"this program knows {NEWEST} at most: use a newer scrawler"):
            opened(database_url)


@on_engines_with_them
@pytest.mark.parametrize("number", SCHEMAS)
def test_a_crawl_of_an_older_version_is_refused_with_advice(number: int, database_url: str) -> None:
    load_schema(number, database_url)
    for create in (True, False):
        with pytest.raises(
            StoreError, match=f"has schema {number}, not {NEWEST}; bring it up with `scrawler db upgrade`"
        ):
            open_database(database_url, create=create)
    assert upgrade_database(database_url) == newer_than(number, database_url)
    assert upgrade_database(database_url) == []
    open_database(database_url, create=False).close()


@on_engines_with_them
@pytest.mark.parametrize("number", SCHEMAS)
def test_an_older_schema_without_a_crawl_is_brought_up_by_whoever_makes_one(number: int, database_url: str) -> None:
    texts = migration_texts(dialect_of(database_url))
    _load(database_url, *(text for one, text in texts.items() if one <= number))
    with pytest.raises(StoreError, match=f"has schema {number}, not {NEWEST}"):
        open_database(database_url, create=False)
    open_database(database_url).close()
    open_database(database_url, create=False).close()


def test_migrations_that_somebody_loaded_by_hand_in_part_are_finished_by_the_upgrade(database_url: str) -> None:
    texts = migration_texts(dialect_of(database_url))
    parts = [part for text in texts.values() for part in statements(text)]
    open_database(database_url).close()
    whole = _described(database_url)
    for loaded in _loaded_in_part(database_url, parts, _stops(texts, each=dialect_of(database_url) == "sqlite")):
        upgrade_database(database_url)
        assert _described(database_url) == whole, parts[loaded - 1]


def _loaded_in_part(url: str, parts: list[str], stops: list[int]) -> Iterator[int]:
    """Give the database as many of the statements as each stop says, in turn; a file is a copy of what grows."""
    if path := _file(url):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as growing:
            for before, loaded in itertools.pairwise([0, *stops]):
                growing.executescript(";\n".join(parts[before:loaded]))
                _empty(url)
                Path(path).write_bytes(growing.serialize())
                yield loaded
        return
    for loaded in stops:
        _empty(url)
        _load(url, ";\n".join(parts[:loaded]))
        yield loaded


def _stops(texts: dict[int, str], *, each: bool) -> list[int]:
    """Return after how many statements of all migrations somebody stopped.

    That is after each one behind the first migration, or, where making tables takes long, in the middle and at the end
    of each migration.
    """
    counts = [len(statements(texts[number])) for number in sorted(texts)]
    total, first = sum(counts), counts[0]
    begin = first if len(counts) > 1 else first - 3
    if each:
        return list(range(begin, total))
    ends = [sum(counts[: number + 1]) for number in range(len(counts))]
    middles = [end - (count + 1) // 2 for end, count in zip(ends, counts, strict=True)]
    return sorted({one for one in (*middles, *ends) if begin <= one < total})


@on_engines_with_them
def test_an_upgrade_ends_where_a_table_is_not_there(database_url: str) -> None:
    load_schema(1, database_url)
    _load(database_url, "DROP TABLE seed;\nDELETE FROM site;\n")
    with pytest.raises(StoreError, match=r"no such table: seed|seed' doesn't exist"):
        upgrade_database(database_url)
    with pytest.raises(StoreError, match=f"has schema 1, not {NEWEST}"):
        open_database(database_url)


@on_engines_with_them  # elsewhere no program is older
def test_an_older_program_refuses_a_crawl_of_this_one(database_url: str, tmp_path: Path, older: Path) -> None:
    open_database(database_url).close()
    environment = {**os.environ, "PYTHONPATH": str(older)}
    commands = [[*words, "--db", database_url] for words in (["status"], ["run"], ["db", "upgrade"])]
    command = [sys.executable, "-c", _ONE_AFTER_THE_OTHER, json.dumps(commands)]
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANGS)
    assert told.stdout.split() == ["4"] * len(commands), told.stderr
    refusal = f"has schema {NEWEST}; this program knows {BEFORE} at most: use a newer scrawler"
    assert told.stderr.count(refusal) == len(commands)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which Python finds this program as it was before its newest migration."""
    package = tmp_path_factory.mktemp("older") / "scrawler"
    # With what Python has compiled of it, which is good for files of the same age.
    shutil.copytree(Path(scrawler.__file__).parent, package, ignore=shutil.ignore_patterns("sql"))
    sql = Path(str(resources.files("scrawler.sql")))
    shutil.copytree(sql, package / "sql")
    for migrations in package.glob("sql/*/migrations"):
        max(migrations.iterdir()).unlink()
    return package.parent


def test_tables_of_an_unreleased_version_are_refused_by_name(database_url: str) -> None:
    database = open_database(database_url)
    with database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE seed DROP COLUMN slow_pass")
    database.close()
    for opened in (open_database, upgrade_database):
        with pytest.raises(StoreError, match=r"unreleased version .* seed\.slow_pass: import the seeds"):
            opened(database_url)


def test_upgrade_makes_the_schema_of_an_empty_database(database_url: str) -> None:
    create_engine(database_url).connect().close()
    assert upgrade_database(database_url) == list(migration_texts(dialect_of(database_url)))
    open_database(database_url, create=False).close()


def test_machines_of_schema_5_get_names_and_weights_and_tables_of_slots(database_url: str) -> None:
    kind = dialect_of(database_url)
    engine = create_engine(database_url)
    with engine.begin() as connection:
        for number, text in migration_texts(kind).items():
            for statement in statements(text) if number <= 5 else ():
                connection.exec_driver_sql(statement.replace("%", "%%") if kind == "mysql" else statement)
        connection.exec_driver_sql("INSERT INTO crawl (id, name, scope, created_at) VALUES (1, 'crawl', 'host', 0)")
        connection.exec_driver_sql(
            "INSERT INTO machine (name, host, pid, process, state, launched_at, started_at, heartbeat_at)"
            " VALUES ('a-1', 'a', 1, '', 'dead', 0, 0, 0)"
        )
    engine.dispose()
    with pytest.raises(StoreError, match="has schema 5, not"):
        open_database(database_url)
    assert upgrade_database(database_url) == newer_than(5, database_url)
    database = open_database(database_url, create=False)
    made = Machines(database).register("a", 1, 0)
    partition = MappedPartition(database, made.id, PartitionKind.MODULO)
    partition.follow(Machines(database).beat(made.id).living)
    assert partition.owners.owner("example.org") == made.id
    assert [(one.agent, one.weight) for one in Machines(database).machines()] == [("", 1), ("a-1", 1)]
    database.close()
