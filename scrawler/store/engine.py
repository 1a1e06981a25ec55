"""Opens the database and hands out transactions: the only place that makes an engine or sets a connection up."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from scrawler.errors import StoreBusyError, StoreError
from scrawler.model import LEASE, Millis
from scrawler.store.ddl import CLOCK, DIALECTS
from scrawler.store.faults import mapped
from scrawler.store.migrations import check_version, migrate

T = TypeVar("T")

TRIES = 8  # of a transaction that meets a lock, a deadlock or a lost connection
LONGEST_PAUSE = 2.0  # seconds between two tries
_MYSQL_SESSION = (
    "SET SESSION sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
    " time_zone='+00:00', innodb_lock_wait_timeout={seconds}, group_concat_max_len=1000000"
    # Only MariaDB has it and reads this comment: a machine that freezes within a transaction loses the rows that it
    # has locked together with its lease; without it nobody could take its sites over until it wakes.
    " /*M!100300 , idle_write_transaction_timeout={lease}*/"
)
_MYSQL_DRIVERS = {"mysql", "mariadb", "mysql+pymysql", "mariadb+pymysql"}


class Database:
    """A crawl's database. Any thread may use it; each transaction has a connection of its own from the pool."""

    def __init__(self, engine: Engine, stop: threading.Event) -> None:
        """Take over `engine`; pauses between two tries end at once when `stop` is set."""
        self._engine = engine
        self._writer = engine.execution_options(scrawler_writing=True)
        self._stop = stop
        self.dialect = engine.dialect.name  # "sqlite" or "mysql", which MariaDB is too
        self.where = engine.url.render_as_string(hide_password=True)
        self.clock = CLOCK[self.dialect]

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
        with mapped(self.where), self._engine.connect() as connection:
            yield connection

    def retrying(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a writing transaction, again when the database is busy or away, up to TRIES times.

        Once the stop event is set the pauses fall away, the tries stay: a last checkpoint still gets through.
        """
        return self._retrying(work, self.begin)

    def reading(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a connection for reading, again when the database is busy or away, up to TRIES times."""
        return self._retrying(work, self.read)

    def _retrying(self, work: Callable[[Connection], T], transaction: Callable[[], Any]) -> T:
        for attempt in range(1, TRIES):
            try:
                with transaction() as connection:
                    return work(connection)
            except StoreBusyError:
                self._stop.wait(random.uniform(0.0, min(LONGEST_PAUSE, 0.02 * 2**attempt)))
        with transaction() as connection:
            return work(connection)

    def now(self) -> Millis:
        """Return the time by the database's clock."""
        return self.reading(lambda connection: database_time(connection, self.clock))

    def close(self) -> None:
        """Close all connections; the object is not used again."""
        self._engine.dispose()


def database_time(connection: Connection, clock: str) -> Millis:
    """Return the time by the clock of the database behind `connection`."""
    return int(connection.exec_driver_sql(f"SELECT {clock}").scalar_one())


def open_database(
    url: str, *, create: bool = True, stop: threading.Event | None = None, patience: float = 5.0
) -> Database:
    """Open the database at `url`; with `create` an empty one gets its schema.

    `url` is sqlite:///path, mysql+pymysql://... or mariadb+pymysql://...; `patience` is how many seconds a
    statement waits for another program's lock.

    Raises:
        StoreError: not reachable, not a crawl's database, or its schema is older or newer than this program.
    """
    target = _parsed(url)
    if target.get_backend_name() == "sqlite":
        engine = _sqlite_engine(target, create, patience)
    else:
        engine = _mysql_engine(target, patience)
    database = Database(engine, stop or threading.Event())
    try:
        if _is_empty(database, create):
            migrate(database.begin, database.dialect)
    except BaseException:
        database.close()
        raise
    return database


def _is_empty(database: Database, create: bool) -> bool:
    def check(connection: Connection) -> bool:
        return check_version(connection, database.where, may_be_empty=create)

    if database.dialect == "sqlite":
        return database.reading(check)  # a file that another program is just making is locked for a moment
    with database.read() as connection:  # a server that cannot be reached is told at once
        return check(connection)


def upgrade_database(url: str) -> list[int]:
    """Apply the migrations that the database at `url` lacks; return their numbers."""
    target = _parsed(url)
    if target.get_backend_name() == "sqlite":
        engine = _sqlite_engine(target, create=False, patience=5.0)
    else:
        engine = _mysql_engine(target, patience=5.0)
    database = Database(engine, threading.Event())
    try:
        return migrate(database.begin, database.dialect)
    finally:
        database.close()


def _parsed(url: str) -> URL:
    try:
        target = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreError("the database URL cannot be read; use sqlite:///path or mysql+pymysql://...") from error
    if target.drivername in _MYSQL_DRIVERS:
        # One dialect for both: what this package writes is understood by MySQL and by MariaDB.
        return target.set(drivername="mysql+pymysql")
    if target.get_backend_name() != "sqlite":
        raise StoreError(f"no such kind of database: {target.drivername}; use sqlite:///path or mysql+pymysql://...")
    if target.database in (None, "", ":memory:"):
        raise StoreError("an SQLite database needs a file: sqlite:///path")
    return target


def _sqlite_engine(target: URL, create: bool, patience: float) -> Engine:
    path = Path(cast(str, target.database))
    if not str(path).startswith("file:"):
        if not create and not path.exists():
            raise StoreError(f"there is no database {path}; import seeds, or make one with `scrawler db init`")
        if not path.parent.is_dir():
            raise StoreError(f"there is no folder {path.parent} for the database {path.name}")
    try:
        engine = create_engine(target, pool_size=4, max_overflow=-1)
    except NoSuchModuleError as error:
        raise StoreError(f"no such kind of database: {target.drivername}") from error

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where `_begin` says, not where the driver guesses
        for pragma in (
            f"busy_timeout = {int(patience * 1000)}",
            "journal_mode = WAL",
            "synchronous = NORMAL",  # with WAL a killed process loses nothing
            "case_sensitive_like = ON",  # as on MySQL with a binary collation
            "cache_size = -65536",  # KiB, taken as needed
            # Rows keyed by hashes touch pages all over the file: the later these go there, the fewer times each.
            "wal_autocheckpoint = 16000",  # pages of 4 KiB
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A deferred transaction that turns into a writing one fails at once when another one writes.
        writing = connection.get_execution_options().get("scrawler_writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _mysql_engine(target: URL, patience: float) -> Engine:
    session = _MYSQL_SESSION.format(seconds=max(1, int(patience)), lease=LEASE // 1000)
    return create_engine(
        target,
        isolation_level="READ COMMITTED",
        pool_size=4,
        max_overflow=-1,
        pool_pre_ping=True,  # an idle connection may have been closed by the server
        connect_args={
            "charset": "utf8mb4",
            "init_command": session,
            "connect_timeout": 10,  # seconds, as the others
            "read_timeout": 300,
            "write_timeout": 300,
        },
    )
