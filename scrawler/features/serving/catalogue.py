"""What is published, and what has changed of it, in a SQLite file beside the folder: the state of the change detection.

A resource has a row, and an id that is never another one's: lists are cut into pages by ranges of ids, so that a page
whose resources are as they were is the same page as before. A change has a row with a number that only grows. Both are
written in one transaction, so many resources at a time: whenever the program is killed, what is in the file is true,
and the next scan goes on from there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from scrawler.errors import ScrawlerError

PAGE = 50_000  # resources of one list (sitemaps.org, "Sitemap file limits")
CHANGES = 500  # changes of one list: each time that one is added, crawlers read the last list anew
_VERSION = 1
_ROWS = 500  # that are read at a time
_PATIENCE = 30.0  # seconds for which another program may hold the file
_SCHEMA = """
CREATE TABLE resource (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never that of another resource: lists are cut by it
    path TEXT NOT NULL UNIQUE,  -- below the site, as it stands in a URL, without the first slash
    size INTEGER NOT NULL,  -- bytes; 0 for pages that are made of rows
    stamp INTEGER NOT NULL,  -- of a file its mtime in ns, of a row its date in ms
    inode INTEGER NOT NULL,
    digest TEXT NOT NULL,  -- SHA-256 in hexadecimal
    media_type TEXT NOT NULL,
    changed_at INTEGER NOT NULL,  -- UTC milliseconds
    seq INTEGER NOT NULL,  -- number of its last change; 0: as the first scan has found it
    checked_at INTEGER NOT NULL,  -- when the digest was taken, UTC milliseconds
    scan INTEGER NOT NULL  -- the last scan that has seen it
);
CREATE INDEX resource_scan ON resource (scan);
CREATE TABLE change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,  -- created, updated, deleted
    at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    digest TEXT NOT NULL,
    media_type TEXT NOT NULL
);
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    scan INTEGER NOT NULL,  -- number of the last scan that was begun
    complete INTEGER NOT NULL,  -- ... and of the last one that came to its end
    since INTEGER NOT NULL,  -- all changes since then stand in `change`
    scanned_at INTEGER NOT NULL  -- when the last complete scan began
);
INSERT INTO state VALUES (1, 0, 0, 0, 0);
"""


class CatalogueError(ScrawlerError):
    """The state file cannot be used."""


class Resource(NamedTuple):
    """What is published at a path, as the last scan has found it."""

    id: int
    path: str
    size: int
    stamp: int
    inode: int
    digest: str
    media_type: str
    changed_at: int
    seq: int
    checked_at: int


class Change(NamedTuple):
    """A line of the change list."""

    seq: int
    path: str
    kind: str
    at: int
    size: int
    digest: str
    media_type: str


class State(NamedTuple):
    """How far scans have come."""

    scan: int
    complete: int
    since: int
    scanned_at: int


class PageOfList(NamedTuple):
    """One page of a list: its number from 1 on, and what tells whether it is as it was."""

    number: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants here
    newest: int  # number of the last change of what stands on it
    first_at: int = 0
    last_at: int = 0

    @property
    def tag(self) -> str:
        """An entity tag, without quotes: a resource that leaves makes it fewer, one that comes or changes is newer."""
        return f"{self.number}-{self.count}-{self.newest}"


class Catalogue:
    """The state file. Readers have a connection each; only the scanner writes."""

    def __init__(self, path: Path) -> None:
        """Open the file, made where it is missing. Raises CatalogueError."""
        self.path = path
        with self.mapped():
            self._connect().close()

    @contextmanager
    def mapped(self) -> Iterator[None]:
        """Raise what SQLite says in the block as CatalogueError."""
        try:
            yield
        except sqlite3.Error as error:
            raise CatalogueError(f"cannot keep the state of the site in {self.path}: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        """Connect to the file; one that was taken away meanwhile is made anew, and the next scan is its first one."""
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._make(connection)
            elif version != _VERSION:
                raise CatalogueError(f"{self.path} is the state of another version of scrawler serve-site: remove it")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make(self, connection: sqlite3.Connection) -> None:
        """Make the tables, unless another thread has, or they are another program's."""
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            if tables:
                raise CatalogueError(f"{self.path} is a database of another program: name another file by --state")
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")

    def writer(self) -> CatalogueWriter:
        """Return what the scanner writes by; it must be closed."""
        return CatalogueWriter(self._connect())

    def state(self) -> State:
        """Return how far scans have come."""
        with closing(self._connect()) as connection:
            return State._make(connection.execute("SELECT scan, complete, since, scanned_at FROM state").fetchone())

    def newest(self) -> int:
        """Return the number of the last change."""
        with closing(self._connect()) as connection:
            (newest,) = connection.execute("SELECT COALESCE(MAX(seq), 0) FROM change").fetchone()
            return int(newest)

    def resource_pages(self, size: int = PAGE) -> list[PageOfList]:
        """Return the pages of the resource list that have something on them."""
        return self._pages(
            "SELECT (id - 1) / ? + 1, COUNT(*), MAX(seq), MIN(changed_at), MAX(changed_at) FROM resource GROUP BY 1",
            size,
        )

    def change_pages(self, size: int = CHANGES) -> list[PageOfList]:
        """Return the pages of the change list."""
        return self._pages(
            "SELECT (seq - 1) / ? + 1, COUNT(*), MAX(seq), MIN(at), MAX(at) FROM change GROUP BY 1", size
        )

    def _pages(self, query: str, size: int) -> list[PageOfList]:
        with closing(self._connect()) as connection:
            return [PageOfList._make(row) for row in connection.execute(query, (size,))]

    def resources(self, page: int, size: int = PAGE) -> Iterator[Resource]:
        """Yield the resources of one page."""
        columns = ", ".join(Resource._fields)
        query = f"SELECT {columns} FROM resource WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        for row in self._ranged(query, page, size):
            yield Resource._make(row)

    def changes(self, page: int, size: int = CHANGES) -> Iterator[Change]:
        """Yield the changes of one page, in their order."""
        query = f"SELECT {', '.join(Change._fields)} FROM change WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        for row in self._ranged(query, page, size):
            yield Change._make(row)

    def _ranged(self, query: str, page: int, size: int) -> Iterator[tuple[object, ...]]:
        after, last = (page - 1) * size, page * size
        while True:  # nothing is held open while whoever reads is slow
            with closing(self._connect()) as connection:
                rows = connection.execute(query, (after, last, _ROWS)).fetchall()
            yield from rows
            if len(rows) < _ROWS:
                return
            after = rows[-1][0]

    def find(self, path: str) -> Resource | None:
        """Return the resource at a path, if the last scan has seen one."""
        with closing(self._connect()) as connection:
            query = f"SELECT {', '.join(Resource._fields)} FROM resource WHERE path = ?"
            row = connection.execute(query, (path,)).fetchone()
            return Resource._make(row) if row else None


class Found(NamedTuple):
    """What a scan has found at a path."""

    path: str
    size: int
    stamp: int
    inode: int
    digest: str
    media_type: str
    changed_at: int


class CatalogueWriter:
    """The scanner's connection: what it writes becomes durable a batch at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def begin(self) -> tuple[int, bool]:
        """Begin a scan; return its number, and whether no scan before has come to its end."""
        with self._transaction():
            self._connection.execute("UPDATE state SET scan = scan + 1")
            scan, complete = self._connection.execute("SELECT scan, complete FROM state").fetchone()
        return scan, complete == 0

    def known(self, paths: Sequence[str]) -> dict[str, Resource]:
        """Return what is known of paths."""
        marks = ", ".join("?" * len(paths))
        query = f"SELECT {', '.join(Resource._fields)} FROM resource WHERE path IN ({marks})"
        return {row[1]: Resource._make(row) for row in self._connection.execute(query, list(paths))}

    def write(self, scan: int, first: bool, seen: Iterable[str], found: Iterable[Found]) -> int:
        """Note in one transaction what a scan has seen as it was, and what it has read; return how much has changed."""
        now = time.time_ns() // 1_000_000
        with self._transaction():
            self._connection.executemany("UPDATE resource SET scan = ? WHERE path = ?", [(scan, path) for path in seen])
            return sum(self._write_one(scan, first, one, now) for one in found)

    def _write_one(self, scan: int, first: bool, one: Found, now: int) -> bool:
        """Write what was read; return whether it is new or has changed."""
        run = self._connection.execute
        before = run("SELECT digest, size FROM resource WHERE path = ?", (one.path,)).fetchone()
        if before == (one.digest, one.size):  # only its date is another one
            run(
                "UPDATE resource SET stamp = ?, inode = ?, checked_at = ?, scan = ? WHERE path = ?",
                (one.stamp, one.inode, now, scan, one.path),
            )
            return False
        kind = "created" if before is None else "updated"
        seq = 0 if first else self._change(one, kind)
        run(
            "INSERT INTO resource (path, size, stamp, inode, digest, media_type, changed_at, seq, checked_at, scan)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET size = excluded.size,"
            " stamp = excluded.stamp, inode = excluded.inode, digest = excluded.digest,"
            " media_type = excluded.media_type, changed_at = excluded.changed_at, seq = excluded.seq,"
            " checked_at = excluded.checked_at, scan = excluded.scan",
            (one.path, one.size, one.stamp, one.inode, one.digest, one.media_type, one.changed_at, seq, now, scan),
        )
        return True

    def _change(self, one: Found, kind: str) -> int:
        """Add a line to the change list, whose dates only grow: one that lies before the last one's takes that."""
        done = self._connection.execute(
            "INSERT INTO change (path, kind, at, size, digest, media_type)"
            " VALUES (?, ?, MAX(?, COALESCE((SELECT at FROM change ORDER BY seq DESC LIMIT 1), 0)), ?, ?, ?)",
            (one.path, kind, one.changed_at, one.size, one.digest, one.media_type),
        )
        return int(done.lastrowid or 0)

    def finish(self, scan: int, began_at: int, keep: int) -> None:
        """Note that a scan has come to its end: what it has not seen is gone. At least `keep` changes are kept."""
        while self._take_out(scan):
            pass
        with self._transaction():
            newest = self._connection.execute("SELECT COALESCE(MAX(seq), 0) FROM change").fetchone()[0]
            last = (newest - keep) // CHANGES * CHANGES  # whole pages go, and none that is not full
            if last > 0:
                at = self._connection.execute("SELECT MAX(at) FROM change WHERE seq <= ?", (last,)).fetchone()[0]
                if at is not None:
                    self._connection.execute("DELETE FROM change WHERE seq <= ?", (last,))
                    self._connection.execute("UPDATE state SET since = MAX(since, ?)", (at,))
            self._connection.execute(
                "UPDATE state SET since = CASE WHEN complete = 0 THEN ? ELSE since END, complete = ?, scanned_at = ?",
                (began_at, scan, began_at),
            )

    def _take_out(self, scan: int) -> bool:
        """Take some resources out that a scan has not seen; return whether there may be more."""
        now = time.time_ns() // 1_000_000
        with self._transaction():
            run = self._connection.execute
            gone = run("SELECT id, path FROM resource WHERE scan < ? LIMIT ?", (scan, _ROWS)).fetchall()
            for _, path in gone:
                run(
                    "INSERT INTO change (path, kind, at, size, digest, media_type) VALUES (?, 'deleted', ?, 0, '', '')",
                    (path, now),
                )
            self._connection.executemany("DELETE FROM resource WHERE id = ?", [(one[0],) for one in gone])
        return len(gone) == _ROWS

    def _transaction(self) -> _Transaction:
        return _Transaction(self._connection)


class _Transaction:
    """One transaction that writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
