"""Files, migrations and SQLAlchemy tables agree, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import create_engine, inspect

from scrawler.errors import StoreError
from scrawler.store.engine import open_database
from scrawler.store.migrations import migration_texts, schema_text, statements
from scrawler.store.tables import metadata
from scrawler.store.upgrade import upgrade_database
from tests.stored import load_schema_1


def _described(url: str) -> dict[str, Any]:
    """All that reflection tells of the tables, and on MySQL the server's own words."""
    engine = create_engine(url)
    with engine.connect() as connection:
        seen = inspect(connection)
        described: dict[str, Any] = {}
        for table in sorted(seen.get_table_names()):
            described[table] = {
                # Sorted: a migration adds them at the end, wherever they stand in tables.py.
                "columns": sorted(
                    (one["name"], str(one["type"]), one["nullable"], str(_plain(one["default"])))
                    for one in seen.get_columns(table)
                ),
                "key": seen.get_pk_constraint(table)["constrained_columns"],
                "indexes": sorted(
                    (one["name"], tuple(one["column_names"]), bool(one["unique"])) for one in seen.get_indexes(table)
                ),
                "foreign keys": seen.get_foreign_keys(table),
                "options": seen.get_table_options(table),
            }
            if engine.dialect.name == "mysql":
                created = connection.exec_driver_sql(f"SHOW CREATE TABLE {table}").one()[1]
                described[table]["create"] = sorted(line.strip(" ,") for line in created.splitlines())
    engine.dispose()
    return described


def _plain(default: str | None) -> str | None:
    return None if default is None else default.strip("'")


def _load(url: str, *texts: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for text in texts:
            for statement in statements(text):
                connection.exec_driver_sql(statement)
    engine.dispose()


def _empty(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for table in inspect(connection).get_table_names():
            connection.exec_driver_sql(f"DROP TABLE {table}")
    engine.dispose()


def _dialect(url: str) -> str:
    return url.partition(":")[0].partition("+")[0]


def test_files_migrations_and_tables_agree(database_url: str) -> None:
    engine = create_engine(database_url)
    metadata.create_all(engine)
    engine.dispose()
    tables = _described(database_url)
    _empty(database_url)
    _load(database_url, schema_text(_dialect(database_url)))
    file = _described(database_url)
    _empty(database_url)
    open_database(database_url).close()
    migrations = _described(database_url)
    assert set(tables) == set(metadata.tables)
    assert tables["page"]["indexes"]
    assert file == tables
    assert migrations == tables


def test_a_schema_loaded_by_hand_is_taken_as_it_is(database_url: str) -> None:
    _load(database_url, schema_text(_dialect(database_url)))
    open_database(database_url, create=False).close()
    assert upgrade_database(database_url) == []


def test_an_empty_database_is_refused_unless_it_may_be_made(mariadb_url: str) -> None:
    with pytest.raises(StoreError, match="holds no crawl"):
        open_database(mariadb_url, create=False)
    open_database(mariadb_url).close()
    open_database(mariadb_url, create=False).close()


def test_a_newer_version_is_refused_with_advice(database_url: str) -> None:
    database = open_database(database_url)
    with database.begin() as connection:
        connection.exec_driver_sql("INSERT INTO schema_version VALUES (999, 1)")
    database.close()
    with pytest.raises(StoreError, match="this program knows 2 at most: use a newer scrawler"):
        open_database(database_url)


def test_a_crawl_of_an_older_version_is_refused_with_advice(database_url: str) -> None:
    load_schema_1(database_url)
    for create in (True, False):
        with pytest.raises(StoreError, match="has schema 1, not 2; bring it up with `scrawler db upgrade`"):
            open_database(database_url, create=create)
    newer = [number for number in migration_texts(_dialect(database_url)) if number > 1]
    assert upgrade_database(database_url) == newer
    assert upgrade_database(database_url) == []
    open_database(database_url, create=False).close()


def test_an_older_schema_without_a_crawl_is_brought_up_by_whoever_makes_one(database_url: str) -> None:
    _load(database_url, migration_texts(_dialect(database_url))[1])
    with pytest.raises(StoreError, match="has schema 1, not 2"):
        open_database(database_url, create=False)
    open_database(database_url).close()
    open_database(database_url, create=False).close()


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
    assert upgrade_database(database_url) == list(migration_texts(_dialect(database_url)))
    open_database(database_url, create=False).close()
