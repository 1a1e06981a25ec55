"""Opens the database and hands out transactions: the only place that makes an engine or sets a connection up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from scrawler.backoff import Backoff
from scrawler.errors import DatabaseUrlError, StoreBusyError, StoreError
from scrawler.model.machines import LEASE
from scrawler.model.terms import Millis
from scrawler.store.ddl import CLOCK, DIALECTS
from scrawler.store.faults import mapped
from scrawler.store.migrations import check_columns, check_version, migrate
from scrawler.store.rows import AnyRow, AnySelect

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # bounds of the pauses between two tries, in seconds
_SQLITE_LOOKS = 0.1  # seconds at most between two looks of a connection that waits for the write lock
_SAY_AFTER, _SAY_EVERY = 2.0, 60.0  # seconds of tries before the user is told, and between two times
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")  # how the names of its files end
_MYSQL_SESSION = (
    "SET SESSION sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
    " time_zone='+00:00', innodb_lock_wait_timeout={seconds}, group_concat_max_len=1000000"
    # Only MariaDB has this setting, and reads such a comment. A machine that freezes within a transaction loses what it
    # has locked together with its lease: without it nobody could take its sites over until it wakes.
    " /*M!100300 , idle_write_transaction_timeout={lease}*/"
)
_MYSQL_DRIVERS = {"mysql", "mariadb", "mysql+pymysql", "mariadb+pymysql"}


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
        self.dialect = engine.dialect.name  # "sqlite" or "mysql", which MariaDB is too
        # The parameters are left out: a password may stand among them.
        self.where = engine.url.set(query={}).render_as_string(hide_password=True)
        self.clock = CLOCK[self.dialect]

    def is_at(self, path: Path) -> bool:
        """Tell whether a path leads to a file of the database's own, by whatever name or link.

        Those are also the ones that SQLite keeps beside it, whether or not they are there now: what another program
        writes there is taken for a part of the database.
        """
        if self.dialect != "sqlite":
            return False
        with self.read() as connection:
            base = connection.exec_driver_sql("PRAGMA database_list").all()[0][2]  # the first database is "main"
        files = [Path(os.path.realpath(base + ending)) for ending in _SQLITE_FILES]
        if Path(os.path.realpath(path)) in files:
            return True
        return path.exists() and any(file.exists() and path.samefile(file) for file in files)

    @property
    def compiler(self) -> Dialect:
        """The dialect for statements that are compiled once and executed through the driver."""
        return DIALECTS[self.dialect]

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

    def rows(self, query: AnySelect) -> Sequence[AnyRow]:
        """Return all that a query finds."""
        return self.reading(lambda connection: connection.execute(query).all())

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
        if self._stop.is_set():
            self._stopped_at = min(self._stopped_at, now)
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
        self._engine.dispose()
        self._reader.dispose()


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
) -> Database:
    """Open the database at `url`; with `create` an empty one gets its schema.

    `url` is sqlite:///path, mysql+pymysql://... or mariadb+pymysql://...; `patience` is how many seconds a
    statement waits for another program's lock.

    Raises:
        DatabaseUrlError: no database can be at such a URL.
        StoreError: not reachable, not a crawl's database, or its schema is older or newer than this program.
    """
    waiting = waiting or Waiting()
    database = connect(url, waiting, create=create, stop=stop, patience=patience)
    try:
        if _is_empty(database, create, waiting):
            migrate(database.begin, database.dialect)
            database.reading(lambda connection: check_columns(connection, database.where))
    except BaseException:
        database.close()
        raise
    return database


def connect(
    url: str, waiting: Waiting, *, create: bool, stop: threading.Event | None = None, patience: float = 5.0
) -> Database:
    """Give the database at `url` as it is, whatever its schema; parameters and errors are those of `open_database`."""
    return Database(*_engines(_parsed(url), create, patience, waiting), stop or threading.Event(), waiting)


def _is_empty(database: Database, create: bool, waiting: Waiting) -> bool:
    def check(connection: Connection) -> bool:
        return check_version(connection, database.where, may_be_empty=create)

    # A file is locked for a moment while another program makes it; that there is no server is told at once.
    patience = waiting.give_up_after if database.dialect == "sqlite" else waiting.to_open
    return database.reading(check, max(patience, waiting.to_open))


def _parsed(url: str) -> URL:
    try:
        target = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUrlError("the database URL cannot be read; use sqlite:///path or mysql+pymysql://...") from error
    if target.drivername in _MYSQL_DRIVERS:
        if "@" in (target.host or ""):  # an "@" in the host ends a part of a password, which is not to be shown
            raise DatabaseUrlError(
                "the user or password in the database URL holds an @; write %40 for it"
                " (and %3A, %2F, %3F, %23, %25 for : / ? # %)"
            )
        if not target.database:
            raise DatabaseUrlError("the database URL names no database; use mysql+pymysql://user:password@host/name")
        # MySQL and MariaDB have one dialect here: both understand all that this package writes.
        return target.set(drivername="mysql+pymysql")
    if target.get_backend_name() != "sqlite":
        raise DatabaseUrlError(
            f"no such kind of database: {target.drivername}; use sqlite:///path or mysql+pymysql://..."
        )
    if target.database in (None, "", ":memory:"):
        raise DatabaseUrlError("an SQLite database needs a file: sqlite:///path")
    if target.query and not str(target.database).startswith("file:"):
        raise DatabaseUrlError(f"an SQLite database takes no parameters, and here stand {', '.join(target.query)}")
    return target


def _check_path(path: Path, create: bool) -> None:
    """Raise DatabaseUrlError where no database can be at `path`, StoreError where none is and none is to be made."""
    if "\0" in str(path):
        raise DatabaseUrlError(f"no path of a database holds a NUL: {str(path)!r}")
    try:
        if not path.parent.is_dir():
            raise DatabaseUrlError(f"there is no folder {path.parent} for the database {path.name}")
        if not create and not path.exists():
            raise StoreError(f"there is no database {path}; import seeds, or make one with `scrawler db init`")
    except OSError as error:  # the name may be too long, or its folder closed to us
        raise DatabaseUrlError(f"database {str(path)!r} cannot be opened: {error.strerror}") from error


def _made_engine(target: URL, **options: Any) -> Engine:
    """Make an engine; parameters of the URL that are unknown, or not of their kind, raise DatabaseUrlError, also later.

    The driver is given them when it connects. Its own errors, as of a server that is away, pass through.
    """
    try:
        engine = create_engine(target, pool_size=4, max_overflow=-1, **options)
    except NoSuchModuleError as error:
        raise DatabaseUrlError(f"no such kind of database: {target.drivername}") from error
    except (ArgumentError, TypeError, ValueError) as error:
        raise _bad_parameters(target, error) from error
    if not target.query:
        return engine

    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Dialect, _record: object, arguments: Any, parameters: Any) -> Any:
        try:
            return dialect.connect(*arguments, **parameters)
        except (TypeError, ValueError, AttributeError, OSError) as error:
            raise _bad_parameters(target, error) from error

    return engine


def _bad_parameters(target: URL, error: Exception) -> DatabaseUrlError:
    said = str(error).removeprefix("Connection.__init__() ")
    return DatabaseUrlError(f"the database URL has parameters ({', '.join(target.query)}) that cannot be used: {said}")


def _sqlite_engine(target: URL, create: bool, patience: float) -> Engine:
    path = Path(cast(str, target.database))
    if not str(path).startswith("file:"):
        _check_path(path, create)
    engine = _made_engine(target)

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver does not begin transactions by itself: `_begin` does
        for pragma in (
            f"busy_timeout = {int(patience * 1000)}",
            "journal_mode = WAL",
            "synchronous = NORMAL",  # with a WAL a killed process loses nothing
            "case_sensitive_like = ON",  # LIKE is as on MySQL with a binary collation
            "cache_size = -65536",  # 64 MiB at most, taken as needed
            # Rows with hashes as keys touch pages all over the file: written late, each is written fewer times.
            "wal_autocheckpoint = 16000",  # in pages of 4 KiB
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # BEGIN IMMEDIATE: a deferred transaction that wants to write fails at once while another one writes.
        writing = connection.get_execution_options().get("scrawler_writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _engines(target: URL, create: bool, patience: float, waiting: Waiting) -> tuple[Engine, Engine]:
    """Make the engines for writing and for reading; a reader on MySQL ends no transaction, and saves a round trip."""
    if target.get_backend_name() == "sqlite":
        engine = _sqlite_engine(target, create, patience)
        return engine, engine
    writer = _mysql_engine(target, patience, waiting.answer, isolation_level="READ COMMITTED")
    reader = _mysql_engine(
        target, patience, waiting.answer, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True
    )
    return writer, reader


def _mysql_engine(target: URL, patience: float, answer: float, **options: Any) -> Engine:
    session = _MYSQL_SESSION.format(seconds=max(1, int(patience)), lease=LEASE // 1000)
    return _made_engine(
        target,
        # These round trips are not needed: that the server closed a connection meanwhile is found out by the first
        # statement, and `retrying` makes a new one; every transaction ends by itself before its connection goes back.
        pool_pre_ping=False,
        pool_reset_on_return=None,
        connect_args={
            "charset": "utf8mb4",
            "init_command": session,
            "connect_timeout": min(10.0, answer),  # in seconds, as the other times
            "read_timeout": answer,
            "write_timeout": answer,
        },
        **options,
    )
