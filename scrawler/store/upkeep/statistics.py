"""Tells SQLite again what it is told of indexes, where somebody has let it count tables that were nearly empty.

What `ANALYZE` found is kept for good: of ten pages, that an index in parts is not worth its while; with millions, a
look-up would then read them all.
"""

from __future__ import annotations

from sqlalchemy import Connection, Table

from scrawler.store.engines.engine import Database
from scrawler.store.schema.columns import metadata, statistics_of

_FEW = 10_000  # rows; what was counted of fewer says nothing of a crawl, while to go through them takes no time
_FEWEST_OF_A_PART = 18  # rows below which SQLite does not go from part to part of an index


def tell_statistics_again(database: Database) -> bool:
    """Tell what a new database is told, of indexes of which that is gone, or misleads; return whether it was so.

    Other connections heed it if they are opened from now on.
    """
    if database.dialect != "sqlite" or not database.reading(_misled):
        return False

    def work(connection: Connection) -> bool:
        misled = _misled(connection)
        if misled:
            connection.exec_driver_sql("ANALYZE sqlite_schema")  # makes the table where there is none, counts nothing
        for table in misled:  # all that is said of it: by one index SQLite would take it for nearly empty
            connection.exec_driver_sql("DELETE FROM sqlite_stat1 WHERE tbl = ?", (table.name,))
            rows = [(table.name, *told) for told in statistics_of(table)]
            connection.exec_driver_sql("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", rows)
        if misled:
            connection.exec_driver_sql("ANALYZE sqlite_schema")  # takes it in
        return bool(misled)

    return database.retrying(work)


def _misled(connection: Connection) -> list[Table]:
    """Return the tables of which it is to be told again."""
    exists = "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"
    found = {}
    if connection.exec_driver_sql(exists).scalar_one():
        found = {row[0]: str(row[1]) for row in connection.exec_driver_sql("SELECT idx, stat FROM sqlite_stat1")}
    tables = metadata.tables.values()
    return [table for table in tables if any(_misleads(found.get(index), told) for index, told in statistics_of(table))]


def _misleads(counted: str | None, told: str) -> bool:
    """Tell whether what stands there of an index is of no use."""
    if counted is None or len(counted.split()) < 2:
        return True
    rows, of_a_part = (int(word) for word in counted.split()[:2])
    is_in_parts = len(told.split()) > 2
    return rows < _FEW or (is_in_parts and of_a_part < _FEWEST_OF_A_PART)
