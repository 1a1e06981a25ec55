"""Where external URLs go: the one door by which they leave the parties that found them.

A party notes them, its next delta brings them, and the checkpoint that makes the pages durable on which they stand
gives them to the crawl's `Externals` in the same transaction. What else may become of them is another implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection, select
from sqlalchemy import func as sql

from scrawler.model.rows import ExternalRow
from scrawler.store.commit.candidate_room import CandidateRoom
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.schema.columns import PART
from scrawler.store.schema.tables import candidate, page

KEPT, PROMOTED, SENT, FOR_GUESTS = 0, 1, 2, 3  # values of candidate.promoted


class Externals(Protocol):
    """What becomes of external URLs. A machine has one, which its store thread and its selector call."""

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> Mapping[str, int] | None:
        """Take what a checkpoint brings, inside its transaction: rows that are written here are durable with it.

        Returned is what to add to columns of the machine's row, as `sent`, if there is anything.

        `found` is in order of seed and hash, in SQLite of hash alone; of a site that has another owner by now nothing
        is in it. The sites of the checkpoint are locked, and no other may be. The transaction may be done again from
        its start, or not be committed: an effect outside of the database happens once at least, and perhaps for pages
        that are asked for again.
        """

    def become_seeds(self) -> int:
        """Make seeds of what may be crawled, and return how many are new; called when no seed is left to claim."""


class AsCandidates:
    """Keeps each URL as a candidate seed, for people to choose from."""

    def __init__(self, database: Database, most: int = 0) -> None:
        """Work on `database`; each seed may have `most` candidates, any number with 0."""
        self._room = CandidateRoom(database, most)
        self._rows = BulkInsert.adding(candidate, (*ExternalRow._fields, "part"), database.compiler, "count")

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> Mapping[str, int] | None:
        """Count each URL for the seed that found it, as far as there is room for it."""
        if not found:
            return None
        part = newest_part(connection)
        fitting = self._room.fitting(connection, found)
        self._rows.run(connection, [(*row, part) for row in fitting])
        return {"dropped": len(found) - len(fitting)} if len(fitting) < len(found) else None

    def become_seeds(self) -> int:
        """Leave the choice to people."""
        return 0


class Forgotten:
    """Counts what was found, and keeps nothing of it."""

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> Mapping[str, int] | None:
        """Count each URL as dropped."""
        return {"dropped": len(found)} if found else None

    def become_seeds(self) -> int:
        """There is nothing that could."""
        return 0


def newest_part(connection: Connection) -> int:
    """Return in which part of the index of hashes new candidates stand, as `candidate.part`."""
    if connection.dialect.name != "sqlite":
        return 0
    newest: int | None = connection.scalar(select(sql.max(page.c.id)))
    return (newest or 0) // PART
