"""Page processors: how far they have come with the pages of a crawl, and with the file of their items."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select, update

from scrawler.errors import StoreError
from scrawler.features.items.tables import processor
from scrawler.store.engines.engine import Database
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.rows import AnyRow, inserting_new
from scrawler.store.reading.committed import Place

_START = Place()


@dataclass(frozen=True, slots=True)
class Processed:
    """How far the processors of one name have come."""

    name: str
    place: Place = _START
    pages: int = 0  # given to them
    items: int = 0  # that they made
    errors: int = 0  # pages at which one of them failed
    items_file: str = ""  # seen from the folder of the database, where that is a file
    items_bytes: int = 0
    version: int = 0


class Processors:
    """The processors of a crawl."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def find(self, name: str) -> Processed:
        """Return how far a name has come; nothing is stored yet of one that is new."""
        rows = list(self._database.rows(select(processor).where(processor.c.name == name)))
        return _processed(rows[0]) if rows else Processed(name)

    def take(self, begins_at: Processed) -> Processed:
        """Take over the work of a name, as it was found or from where it begins anew; return it with its new version.

        Who had it before cannot commit any more. Raises StoreError where it has gone on since it was found.
        """

        def work(connection: Connection) -> None:
            row = {"name": begins_at.name, "cursor_page": 0, "gaps": "[]", "items_file": ""}
            connection.execute(inserting_new(processor, self._database.dialect), row)

        if not begins_at.version:
            self._database.retrying(work)
        return self.commit(begins_at)

    def commit(self, done: Processed, also: Callable[[Connection], None] | None = None) -> Processed:
        """Store how far it has come, and in the same transaction do `also`; return it with its new version.

        Raises StoreError where another one took over.
        """
        after = replace(done, version=done.version + 1)

        def work(connection: Connection) -> None:
            mine = update(processor).where(processor.c.name == done.name, processor.c.version == done.version)
            if connection.execute(mine.values(_values(after))).rowcount:
                if also is not None:
                    also(connection)
                return
            stored = connection.execute(select(processor).where(processor.c.name == done.name)).first()
            if stored is None or _processed(stored) != after:  # else an earlier try did commit
                raise StoreError(f"another program works with the page processors {done.name} of this crawl")

        self._database.retrying(work)
        return after

    def all(self) -> Sequence[Processed]:
        """Return how far all have come, by name."""
        return [_processed(row) for row in self._database.rows(select(processor).order_by(processor.c.name))]


def _processed(row: AnyRow) -> Processed:
    place = Place(row.cursor_page, tuple((first, last) for first, last in read_json(row.gaps)))
    return Processed(row.name, place, row.pages, row.items, row.errors, row.items_file, row.items_bytes, row.version)


def _values(done: Processed) -> dict[str, object]:
    return {
        "cursor_page": done.place.after,
        "gaps": json.dumps(done.place.gaps),
        "pages": done.pages,
        "items": done.items,
        "errors": done.errors,
        "items_file": done.items_file,
        "items_bytes": done.items_bytes,
        "version": done.version,
    }
