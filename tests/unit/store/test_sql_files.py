from __future__ import annotations

import pytest

from scrawler.store.schema.ddl import DIALECTS, render_schema
from scrawler.store.schema.migrations import migration_texts, schema_text, statements


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_schema_file_is_what_the_tables_say(dialect):
    assert schema_text(dialect) == render_schema(dialect), "run `make schema`"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_migrations_are_numbered_without_gaps_and_record_their_numbers(dialect):
    texts = migration_texts(dialect)
    assert list(texts) == list(range(min(texts), max(texts) + 1))
    for number, text in texts.items():
        assert f"INSERT INTO schema_version (version, applied_at) VALUES ({number}, " in text


def test_all_dialects_have_the_same_migrations_from_their_first_one_on():
    assert list(migration_texts("mysql")) == list(migration_texts("sqlite"))
    assert min(migration_texts("mysql")) == 1
    assert list(migration_texts("postgresql")) == [number for number in migration_texts("mysql") if number >= 5]


def test_statements_are_split_at_semicolons_that_end_a_line():
    text = "-- about; it\nCREATE TABLE a (\n    b INTEGER  -- one; two\n);\nINSERT INTO a VALUES ('x;y');\n"
    assert statements(text) == ["CREATE TABLE a (\n    b INTEGER\n)", "INSERT INTO a VALUES ('x;y')"]


def test_migrations_say_nothing_that_mysql_does_not_know():
    for text in migration_texts("mysql").values():
        assert "IF NOT EXISTS" not in "".join(statements(text)), "for columns and indexes only MariaDB knows it"
