"""Brings the database of an earlier version to the schema of this one, and its rows to what this one expects."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, literal_column, select

from scrawler.errors import StoreError
from scrawler.model.machines import LEASE
from scrawler.model.terms import Millis
from scrawler.store.claims.overview import LIVING, is_silent
from scrawler.store.engines.engine import Database, Waiting, connect
from scrawler.store.schema.migrations import check_columns, known_version, migrate, newest_version
from scrawler.store.schema.tables import machine
from scrawler.store.upkeep.features import upgrade_features
from scrawler.store.upkeep.final_dots import dotted_sites, join_dotted_sites

_STATEMENT = 86_400.0  # seconds that one statement may take: it may write a large table anew


def upgrade_database(url: str) -> list[int]:
    """Apply the migrations that the database at `url` lacks; return their numbers.

    The rows are changed first: whoever is cut short leaves the old number, and is told to do it again. It is done as
    well where somebody loaded the migrations by hand.

    Raises:
        StoreError: the database refuses, or a machine crawls, or its schema is newer than this program.
    """
    database = connect(url, Waiting(answer=_STATEMENT), create=False)
    try:
        if database.reading(lambda connection: _is_to_do(connection, database)):
            join_dotted_sites(database)
        applied = migrate(database.begin, database.dialect)
        database.reading(lambda connection: check_columns(connection, database.where))
        upgrade_features(database)
        return applied
    finally:
        database.close()


def _is_to_do(connection: Connection, database: Database) -> bool:
    """Whether there are rows to change; if there is anything to do at all, no machine may crawl meanwhile."""
    version = known_version(connection, database.where)
    if version == 0:
        return False
    dotted = dotted_sites(connection)
    if dotted or version < newest_version(database.dialect):
        _check_nobody_crawls(connection, database)
    return bool(dotted)


def _check_nobody_crawls(connection: Connection, database: Database) -> None:
    now: ColumnElement[Millis] = literal_column(database.clock).label("now")
    living = select(machine.c.name, machine.c.heartbeat_at, machine.c.process, now).where(machine.c.state.in_(LIVING))
    names = [row.name for row in connection.execute(living.order_by(machine.c.id)) if not is_silent(row, LEASE)]
    if names:
        raise StoreError(
            f"machines crawl with the database {database.where} ({', '.join(names)}): stop them with the version of"
            " this program that started them, then upgrade"
        )
