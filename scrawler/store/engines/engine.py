"""Opens the database and hands out transactions, which are tried again while it is busy or away."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import Dialect

from scrawler.backoff import Backoff
from scrawler.errors import StoreBusyError
from scrawler.model.terms import Millis
from scrawler.store.engines.engines import engines_for, parsed_url
from scrawler.store.engines.faults import mapped
from scrawler.store.engines.rows import AnyRow, AnySelect
from scrawler.store.schema.ddl import CLOCK, dialect_of
from scrawler.store.schema.migrations import check_columns, check_version, migrate

T = TypeVar("T")

# KiB of a database that each connection to SQLite keeps in memory, taken as needed: as much as helps whoever goes
# through all of it, and what is enough for a machine, whose checkpoints bring many rows at a time: with 4 MiB a page's
# rows take 33 us, with 2 MiB 35, of 250 for the page, and of several connections each fills what it may have.
LARGE_CACHE, SMALL_CACHE = 65_536, 2_048

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # bounds of the pauses between two tries, in seconds
_SQLITE_LOOKS = 0.1  # seconds at most between two looks of a connection that waits for the write lock
_SAY_AFTER, _SAY_EVERY = 2.0, 60.0  # seconds of tries before the user is told, and between two times
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")  # how the names of its files end


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long transactions wait for a database that is locked or away; times in seconds.

    A transaction that meets a lock, a deadlock or a lost connection is tried again for `give_up_after`; once the
    program is asked to stop, for `once_stopped` at most, all transactions together. A server that says nothing for
    `answer` is taken for lost: a long report needs minutes, a machine must know before its lease is long over.
    `say` is told, in a line, that there is something to wait for.
    """

    give_up_after: float = 10.0
    once_stopped: float = 1.0
    answer: float = 300.0
    to_open: float = 0.0  # seconds after which it gives up a server that it could not reach at first
    say: Callable[[str], None] = lambda line: None


class Database:
    """A crawl's database. Any thread may use it; each transaction has a connection of its own from the pool."""

    def __init__(self, engine: Engine, reader: Engine, stop: threading.Event, waiting: Waiting) -> None:
        """Take over `engine`, and `reader` for reading; pauses between two tries are cut short when `stop` is set."""
        self._engine = engine
        self._reader = reader
        self._writer = engine.execution_options(scrawler_writing=True)
        self._stop = stop
        self._waiting = waiting
        self._stopped_at = inf
        self._said_at = -inf
        self.dialect = engine.dialect.name  # "sqlite", "postgresql" or "mysql", which MariaDB is too
        # The parameters are left out: a password may stand among them.
        self.where = engine.url.set(query={}).render_as_string(hide_password=True)
        self.clock = CLOCK[self.dialect]

    def is_at(self, path: Path) -> bool:
        """Tell whether a path leads to a file of the database's own, by whatever name or link.

        Those are also the ones that SQLite keeps beside it, whether or not they are there now: what another program
        writes there is taken for a part of the database.
        """
        base = self._main_file()
        if not base:
            return False
        files = [Path(os.path.realpath(base + ending)) for ending in _SQLITE_FILES]
        if Path(os.path.realpath(path)) in files:
            return True
        return path.exists() and any(file.exists() and path.samefile(file) for file in files)

    @property
    def folder(self) -> Path | None:
        """The folder of the database's file; None where it has none, as on a server."""
        file = self.file
        return None if file is None else Path(os.path.realpath(file)).parent

    @property
    def file(self) -> Path | None:
        """The database's file; None where it has none, as on a server."""
        base = self._main_file()
        return Path(base) if base else None

    def _main_file(self) -> str:
        if self.dialect != "sqlite":
            return ""
        with self.read() as connection:
            return str(connection.exec_driver_sql("PRAGMA database_list").all()[0][2])  # the first one is "main"

    @property
    def compiler(self) -> Dialect:
        """The dialect for statements that are compiled once and executed through the driver."""
        return dialect_of(self.dialect)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Give a writing transaction: committed at the end of the block, rolled back when it raises.

        On SQLite it has the write lock from its start, so it never fails half-way for a lock.

        Raises:
            StoreBusyError: another program holds a lock, or the server is away; worth trying again.
            StoreError: anything else.
        """
        with mapped(self.where), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection for reading; raises as `begin` does."""
        with mapped(self.where), self._reader.connect() as connection:
            yield connection

    def retrying(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a writing transaction, again while the database is busy or away, as `Waiting` says.

        `work` may have been committed when it is run again: the connection can break before the answer comes.
        """
        return self._retrying(work, self.begin)

    def reading(self, work: Callable[[Connection], T], give_up_after: float | None = None) -> T:
        """Run `work` on a connection for reading, again while the database is busy or away."""
        return self._retrying(work, self.read, give_up_after)

    def streaming(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which reads a long result row by row: that needs a transaction on PostgreSQL, as for writing."""
        return self._retrying(work, self.begin if self.dialect == "postgresql" else self.read)

    def rows(self, query: AnySelect, values: Mapping[str, Any] | None = None) -> Sequence[AnyRow]:
        """Return all that a query finds; one that is made once, and given its `values`, takes a quarter of the time."""
        return self.reading(lambda connection: connection.execute(query, values).all())

    def plain_rows(self, query: AnySelect) -> Sequence[tuple[Any, ...]]:
        """Return all that a query finds as the driver gives it: for numbers, texts and bytes, half the price of `rows`.

        The columns have no names then, and what other types would make of their values is left out.
        """
        return self.reading(lambda connection: plain_rows(connection, query))

    def _retrying(
        self, work: Callable[[Connection], T], transaction: Callable[[], Any], give_up_after: float | None = None
    ) -> T:
        began, backoff = time.monotonic(), Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                with transaction() as connection:
                    return work(connection)
            except StoreBusyError as error:
                left = self._patience_left(began, give_up_after)
                if left <= 0:
                    raise
                self._say(error, began)
            self._pause(min(left, backoff.pause()))

    def _patience_left(self, began: float, give_up_after: float | None) -> float:
        now = time.monotonic()
        give_up_at = began + (self._waiting.give_up_after if give_up_after is None else give_up_after)
        self._stopped_at = min(self._stopped_at, now) if self._stop.is_set() else inf
        return min(give_up_at, self._stopped_at + self._waiting.once_stopped) - now

    def _pause(self, seconds: float) -> None:
        if self._stop.is_set():
            threading.Event().wait(seconds)  # the last tries must not be a busy loop
        else:
            self._stop.wait(seconds)

    def _say(self, error: StoreBusyError, began: float) -> None:
        now = time.monotonic()
        if now - began >= _SAY_AFTER and now - self._said_at >= _SAY_EVERY:
            self._said_at = now
            self._waiting.say(f"{error}; waiting for it")

    def let_others_write(self, held: float) -> None:
        """Rest for as long as SQLite's lock was held: a writer that takes it again at once would leave none to others.

        The others look but every 0.1 s whether it is free, and heartbeats are among them.
        """
        if self.dialect == "sqlite":
            self._pause(max(2 * _SQLITE_LOOKS, held))

    def now(self) -> Millis:
        """Return the time by the database's clock."""
        return self.reading(lambda connection: database_time(connection, self.clock))

    def close(self) -> None:
        """Close all connections; the object is not used again."""
        for engine in {self._engine, self._reader}:
            engine.pool.dispose()  # an engine would make itself a new pool


def plain_rows(connection: Connection, query: AnySelect) -> Sequence[tuple[Any, ...]]:
    """Do what `Database.plain_rows` does, on a connection."""
    result = connection.execute(query)
    found: Sequence[tuple[Any, ...]] = result.cursor.fetchall()
    result.close()
    return found


def database_time(connection: Connection, clock: str) -> Millis:
    """Return the time by the clock of the database behind `connection`."""
    return int(connection.exec_driver_sql(f"SELECT {clock}").scalar_one())


def open_database(
    url: str,
    *,
    create: bool = True,
    stop: threading.Event | None = None,
    patience: float = 5.0,
    waiting: Waiting | None = None,
    cache: int = LARGE_CACHE,
) -> Database:
    """Open the database at `url`; with `create` an empty one gets its schema.

    `url` is sqlite:///path, mysql+pymysql://..., mariadb+pymysql://... or postgresql+psycopg://...; `patience` is how
    many seconds a statement waits for another program's lock, `cache` how many KiB of it SQLite may keep in memory.

    Raises:
        DatabaseUrlError: no database can be at such a URL.
        StoreError: not reachable, not a crawl's database, or its schema is older or newer than this program.
    """
    waiting = waiting or Waiting()
    database = connect(url, waiting, create=create, stop=stop, patience=patience, cache=cache)
    try:
        if _is_empty(database, create, waiting):
            migrate(database.begin, database.dialect)
            database.reading(lambda connection: check_columns(connection, database.where))
    except BaseException:
        database.close()
        raise
    return database


def connect(
    url: str,
    waiting: Waiting,
    *,
    create: bool,
    stop: threading.Event | None = None,
    patience: float = 5.0,
    cache: int = LARGE_CACHE,
) -> Database:
    """Give the database at `url` as it is, whatever its schema; parameters and errors are those of `open_database`."""
    engines = engines_for(parsed_url(url), create=create, patience=patience, answer=waiting.answer, cache=cache)
    return Database(*engines, stop or threading.Event(), waiting)


def _is_empty(database: Database, create: bool, waiting: Waiting) -> bool:
    def check(connection: Connection) -> bool:
        return check_version(connection, database.where, may_be_empty=create)

    # A file is locked for a moment while another program makes it; that there is no server is told at once.
    patience = waiting.give_up_after if database.dialect == "sqlite" else waiting.to_open
    return database.reading(check, max(patience, waiting.to_open))
