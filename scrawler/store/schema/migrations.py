"""Brings a database to the schema of this program by numbered SQL files: sql/<dialect>/migrations/0001_initial.sql.

Each file records its own number in `schema_version`, so that a DBA may as well load it by hand. An empty database is
given the schema as it is now, sql/<dialect>/schema.sql, in about half the time; on MySQL, where each statement is
committed by itself, it goes through the migrations, which are finished by whoever comes after one that was cut short.
Not Alembic: what is applied must be the very text that a DBA reads, and some thirty lines do that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable

from sqlalchemy import Connection, inspect, select
from sqlalchemy import func as sql
from sqlalchemy.exc import DBAPIError

from scrawler.errors import StoreError
from scrawler.store.schema.columns import metadata
from scrawler.store.schema.tables import crawl, schema_version

_COLUMNS = {  # what names tables and columns in one statement, where SQLAlchemy's inspector needs one a table
    "sqlite": "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'",
    "mysql": "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()",
    "postgresql": (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    ),
}
_DONE_BEFORE = {1050, 1060, 1061, 1091}  # MySQL: table, column or index exists; what is to be dropped does not
_POSTGRESQL_DONE_BEFORE = {"42P07", "42701", "42703", "42704"}  # the same
_SQLITE_DONE_BEFORE = re.compile(
    r"(?:table|index) \S+ already exists|duplicate column name: |no such column: "
    r"|there is already another table or index with this name: |no such table: inbox$"
)
_TURN_S = 60  # seconds for which a program waits until another one has changed the schema
_OTHERS = "another program is changing the schema of the database; try again later"
_CHANGES_TABLES = re.compile(r"CREATE |ALTER |DROP ")
_NUMBERED = re.compile(r"(\d{4})_\w+\.sql")


def sql_folder(dialect: str) -> Traversable:
    """Return the folder of SQL files of a dialect, "mysql", "postgresql" or "sqlite": as they were installed."""
    return resources.files("scrawler.sql") / dialect


def schema_text(dialect: str) -> str:
    """Return the schema for a dialect as it stands in sql/."""
    return (sql_folder(dialect) / "schema.sql").read_text(encoding="utf-8")


def migration_texts(dialect: str) -> dict[int, str]:
    """Return all migrations for `dialect`, by number in rising order."""
    found = {
        int(match[1]): entry.read_text(encoding="utf-8")
        for entry in _migrations(dialect)
        if (match := _NUMBERED.fullmatch(entry.name))
    }
    return dict(sorted(found.items()))


@lru_cache(maxsize=8)
def newest_version(dialect: str) -> int:
    """Return the number of the last migration of a dialect; no file is read for it."""
    return max(int(match[1]) for entry in _migrations(dialect) if (match := _NUMBERED.fullmatch(entry.name)))


def _migrations(dialect: str) -> Iterator[Traversable]:
    return (sql_folder(dialect) / "migrations").iterdir()


def statements(text: str) -> list[str]:
    """Split the text of an SQL file at the semicolons that end a line; comments are left out."""
    bare = re.sub(r"^--.*\n|[ ]+-- .*$", "", text, flags=re.MULTILINE)
    return [part.strip() for part in re.split(r";[ ]*(?:\n|\Z)", bare) if part.strip()]


def current_version(connection: Connection) -> int:
    """Return the number of the last migration applied, 0 for none."""
    if not inspect(connection).has_table("schema_version"):
        return 0
    return connection.execute(select(sql.max(schema_version.c.version))).scalar_one() or 0


def check_version(connection: Connection, where: str, *, may_be_empty: bool) -> bool:
    """Return whether the database is still to get its schema: it has none, or one whose making was cut short.

    Raises:
        StoreError: its schema is older or newer than this program, or it has none and must not be empty.
    """
    version = known_version(connection, where)
    newest = newest_version(connection.dialect.name)
    if version == newest:
        check_columns(connection, where)
        return False
    if may_be_empty and version < newest and not _holds_crawl(connection, version):
        return True
    if version == 0:
        raise StoreError(f"database {where} holds no crawl; import seeds, or make one with `scrawler db init`")
    raise StoreError(f"database {where} has schema {version}, not {newest}; bring it up with `scrawler db upgrade`")


def known_version(connection: Connection, where: str) -> int:
    """Return the number of the last migration applied, 0 for none.

    Raises:
        StoreError: its schema is newer than this program.
    """
    version = current_version(connection)
    newest = newest_version(connection.dialect.name)
    if version > newest:
        raise StoreError(
            f"database {where} has schema {version}; this program knows {newest} at most: use a newer scrawler"
        )
    return version


def _holds_crawl(connection: Connection, version: int) -> bool:
    """Whether there is anything that a person should know of before the schema is changed."""
    return version != 0 and connection.scalar(select(crawl.c.id).limit(1)) is not None


def check_columns(connection: Connection, where: str) -> None:
    """Check that all is there which the tables have: between releases they change under one number.

    Raises:
        StoreError: something is missing.
    """
    result = connection.exec_driver_sql(_COLUMNS[connection.dialect.name])
    found = set(result.cursor.fetchall())
    result.close()
    # In the order in which they were defined: to sort the tables takes longer than to read what is there.
    needed = ((table.name, column.name) for table in metadata.tables.values() for column in table.columns)
    lacking = next((one for one in needed if one not in found), None)
    if lacking is not None:
        raise StoreError(
            f"database {where} was made by an unreleased version of this program, and has no column"
            f" {'.'.join(lacking)}: import the seeds into another database"
        )


def migrate(begin: Callable[[], AbstractContextManager[Connection]], dialect: str) -> list[int]:
    """Apply all missing migrations in one writing transaction; return their numbers.

    An empty database gets the whole schema at once, but for MySQL's.

    MySQL commits each DDL statement by itself, so there a named lock keeps a second program out meanwhile. Whoever was
    cut short there has left some of a migration's things, but not its number: it is applied again from its start, and
    what is done already is passed by. So each statement of a migration must be one that can be repeated. On SQLite and
    PostgreSQL only a person who loads a file by hand can leave one half done; what is done already is passed by there
    as well.
    """
    with _alone(begin, dialect), begin() as connection:
        if dialect == "postgresql":
            _wait_for_turn(connection)
        version = current_version(connection)
        missing = {number: text for number, text in migration_texts(dialect).items() if number > version}
        has_tables = dialect == "mysql" or bool(inspect(connection).get_table_names())
        # There an error ends the transaction, unless it is in one of its own: two more questions for each statement.
        nested = dialect == "postgresql" and has_tables
        for text in missing.values() if has_tables else [schema_text(dialect)]:
            for statement in statements(text):
                _apply(connection, statement, nested)
    return list(missing)


def _apply(connection: Connection, statement: str, nested: bool) -> None:
    try:
        with connection.begin_nested() if nested else nullcontext():
            connection.exec_driver_sql(statement)
    except DBAPIError as error:
        if _CHANGES_TABLES.match(statement) is None or not _was_done_before(error, connection.dialect.name):
            raise


def _was_done_before(error: DBAPIError, dialect: str) -> bool:
    """Tell whether what a statement makes is there already, or what it drops is gone."""
    said = error.orig.args[0] if error.orig is not None and error.orig.args else None
    if dialect == "postgresql":
        return getattr(error.orig, "sqlstate", None) in _POSTGRESQL_DONE_BEFORE
    if dialect == "sqlite":  # SQLite has one code for all of these errors
        return _SQLITE_DONE_BEFORE.match(str(said)) is not None
    return said in _DONE_BEFORE


def _wait_for_turn(connection: Connection) -> None:
    """Keep a second program out until the transaction ends."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_TURN_S}s'")
    try:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('scrawler.migrate'))")
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "55P03":  # lock_not_available
            raise
        raise StoreError(_OTHERS) from error


@contextmanager
def _alone(begin: Callable[[], AbstractContextManager[Connection]], dialect: str) -> Iterator[None]:
    """Keep a second program out until the block's transaction is committed; elsewhere the transaction does that."""
    if dialect != "mysql":
        yield
        return
    with begin() as guard:
        if not guard.exec_driver_sql(f"SELECT GET_LOCK('scrawler.migrate', {_TURN_S})").scalar():
            raise StoreError(_OTHERS)
        try:
            yield
        finally:
            guard.exec_driver_sql("SELECT RELEASE_LOCK('scrawler.migrate')")
