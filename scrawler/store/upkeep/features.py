"""Which features a database needs: those that keep rows of their own in it.

Features of this program have their tables in sql/. One of another package makes its own when a run first uses it, with
its name before theirs, and changes them when a newer version comes; the crawler leaves tables alone that it does not
know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from sqlalchemy import Connection, select

from scrawler.errors import StoreError
from scrawler.feature import Feature, features
from scrawler.model.terms import Millis
from scrawler.references import load_object
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.schema.tables import feature


class Upgrade(Protocol):
    """Makes the tables of a feature, or changes them, from the version that is there; 0: there are none.

    It may be called again after a kill, or by two machines at the same time: `CREATE TABLE IF NOT EXISTS`.
    """

    def __call__(self, connection: Connection, version: int, /) -> None:
        """Raises what the database raises."""


def has_rows_of(database: Database, name: str) -> bool:
    """Tell whether a feature keeps rows in a database: until a run has used it, its tables may not be there."""
    return bool(database.rows(select(feature.c.name).where(feature.c.name == name)))


def missing_features(database: Database) -> list[str]:
    """Return the names of features whose rows the database holds, and which are not installed here."""
    return _missing(_versions(database))


def need(connection: Connection, one: Feature, database: Database) -> bool:
    """Note that a database needs a feature from now on, in the transaction of its first rows.

    Returns whether that stood there before, so that it need not be asked again.
    """
    there = feature.c.name == one.name, feature.c.version >= one.version
    if connection.execute(select(feature.c.name).where(*there)).first() is not None:
        return True
    _note(connection, one, database, database_time(connection, database.clock))
    return False


def ready_features(database: Database, wanted: Iterable[Feature]) -> None:
    """Let features that keep rows make or change their tables, as far as that is to do.

    Raises StoreError, also where a feature is not installed whose rows the database holds.
    """
    versions = _versions(database)
    if missing := _missing(versions):
        raise StoreError(
            f"{database.where} has rows of the feature {', '.join(missing)}, which is not installed: install what"
            " brings it"
        )
    _bring_up(database, wanted, versions)


def upgrade_features(database: Database) -> None:
    """Let those features change their tables that the database needs already, and that are installed."""
    versions = _versions(database)
    _bring_up(database, [one for one in features() if one.name in versions], versions)


def _missing(versions: Mapping[str, int]) -> list[str]:
    return sorted(versions.keys() - {one.name for one in features()})


def _versions(database: Database) -> dict[str, int]:
    return {row[0]: row[1] for row in database.rows(select(feature.c.name, feature.c.version))}


def _bring_up(database: Database, wanted: Iterable[Feature], versions: Mapping[str, int]) -> None:
    for one in wanted:
        version = versions.get(one.name, 0)
        is_late = one.needed_by_rows and not version
        if one.version > version and not is_late:
            _upgrade(database, one, version)


def _upgrade(database: Database, one: Feature, version: int) -> None:
    now = database.now()

    def work(connection: Connection) -> None:
        if (reference := one.hooks.get("upgrade")) is not None:
            load_object(reference)(connection, version)
        _note(connection, one, database, now)

    database.retrying(work)


def _note(connection: Connection, one: Feature, database: Database, now: Millis) -> None:
    note = BulkInsert.replacing(feature, ("name", "version", "since"), database.compiler)
    note.run(connection, [(one.name, one.version, now)])
