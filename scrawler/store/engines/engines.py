"""Makes the engines of a database, and sets their connections up: the only place that does.

A reader's connections on a server end no transaction: each statement sees what is committed when it begins, and the
round trips are saved.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from scrawler.errors import DatabaseUrlError, StoreError
from scrawler.model.machines import LEASE
from scrawler.store.engines.locking import note_locks
from scrawler.store.engines.parameters import checked_parameters
from scrawler.store.engines.sqlite_sums import attached

_MYSQL_SESSION = (
    "SET SESSION sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
    " time_zone='+00:00', innodb_lock_wait_timeout={seconds}, group_concat_max_len=1000000"
    # Only MariaDB has this setting, and reads such a comment. A machine that freezes within a transaction loses what it
    # has locked together with its lease: without it nobody could take its sites over until it wakes.
    " /*M!100300 , idle_write_transaction_timeout={lease}*/"
)
_MYSQL_DRIVERS = {"mysql", "mariadb", "mysql+pymysql", "mariadb+pymysql"}
_POSTGRESQL_DRIVERS = {"postgresql", "postgres", "postgresql+psycopg"}
SQLITE_DRIVERS = {"sqlite", "sqlite+pysqlite"}
_POSTGRESQL_SESSION = {
    "default_transaction_isolation": r"read\ committed",
    "standard_conforming_strings": "on",
    # As on MariaDB: a machine that freezes within a transaction loses what it has locked together with its lease.
    "idle_in_transaction_session_timeout": f"{LEASE}",
    # Tables grow from nothing: a plan that was made while they were empty reads them whole. To make one takes 50 us.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",  # would compile reports for longer than it takes to make them
}
USE = "use a file as crawl.db, sqlite:///path, mysql://user:password@host/name or postgresql://user:password@host/name"
_FILE = re.compile(r"[^:@?]+[.](?:db|sqlite3?)")  # a name that is no URL, and no piece of one with a password
_ESCAPES = (
    "the user or password in the database URL holds an @; write %40 for it (and %3A, %2F, %3F, %23, %25 for : / ? # %)"
)


def parsed_url(url: str) -> URL:
    """Return where a database is, with the driver that is used for its kind; raises DatabaseUrlError.

    The name of an SQLite file, as `crawl.db`, will do.
    """
    try:
        target = make_url(f"sqlite:///{url}" if _FILE.fullmatch(url) else url)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUrlError(f"the database URL cannot be read; {USE}") from error
    if target.drivername in _MYSQL_DRIVERS:
        # MySQL and MariaDB have one dialect here: both understand all that this package writes.
        return checked_parameters(_on_server(target, "mysql+pymysql"))
    if target.drivername in _POSTGRESQL_DRIVERS:
        return checked_parameters(_on_server(target, "postgresql+psycopg"))
    if target.drivername not in SQLITE_DRIVERS:
        raise DatabaseUrlError(f"no such kind of database: {target.drivername}; {USE}")
    if target.database in (None, "", ":memory:"):
        raise DatabaseUrlError("an SQLite database needs a file: sqlite:///path")
    if "?" in url and not str(target.database).startswith("file:"):
        given = ", ".join(target.query) or "a ?, which begins them"  # in a file's name it would cut this off
        raise DatabaseUrlError(f"an SQLite database takes no parameters, and here stand {given}")
    return checked_parameters(target.set(drivername="sqlite"))


def load_dialect(url: str) -> None:
    """Load what speaks to a database of that kind, if there is any: for processes that are about to be forked."""
    with suppress(DatabaseUrlError, ArgumentError):  # who opens it says what is wrong
        parsed_url(url).get_dialect()


def dialect_of(url: str) -> str:
    """Return the dialect of the database at a URL: "sqlite", "mysql" or "postgresql"; raises DatabaseUrlError."""
    return parsed_url(url).get_backend_name()


def _on_server(target: URL, driver: str) -> URL:
    if "@" in (target.host or ""):  # an "@" in the host ends a part of a password, which is not to be shown
        raise DatabaseUrlError(_ESCAPES)
    if not target.database:
        raise DatabaseUrlError(f"the database URL names no database; use {driver}://user:password@host/name")
    return target.set(drivername=driver)


def engines_for(target: URL, *, create: bool, patience: float, answer: float, cache: int) -> tuple[Engine, Engine]:
    """Make the engines for writing and for reading.

    Times are in seconds, as those of `Waiting` and `open_database`; `cache` is in KiB, of each connection to SQLite.
    """
    if target.get_backend_name() == "sqlite":
        engine = _sqlite_engine(target, create, patience, cache)
        return engine, engine
    make = _mysql_engine if target.get_backend_name() == "mysql" else _postgresql_engine
    writer = make(target, patience, answer, isolation_level="READ COMMITTED")
    reader = make(target, patience, answer, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)
    return writer, reader


def _check_path(path: Path, create: bool) -> None:
    """Raise DatabaseUrlError where no database can be at `path`, StoreError where none is and none is to be made."""
    if "\0" in str(path):
        raise DatabaseUrlError(f"no path of a database holds a NUL: {str(path)!r}")
    try:
        if not path.parent.is_dir():
            raise DatabaseUrlError(f"there is no folder {path.parent} for the database {path.name}")
        if not create and not path.exists():
            raise StoreError(f"there is no database {path}; import seeds, or make one with `scrawler db init`")
        if create:
            with suppress(
                FileExistsError, PermissionError, IsADirectoryError
            ):  # SQLite says what is wrong, if anything
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # pages may be nobody else's matter
    except OSError as error:  # the name may be too long, or its folder closed to us
        raise DatabaseUrlError(f"database {str(path)!r} cannot be opened: {error.strerror}") from error


def _made_engine(
    target: URL,
    connect: Callable[..., Any] | None = None,
    misread: tuple[type[Exception], ...] = (TypeError, ValueError, AttributeError, OSError),
    **options: Any,
) -> Engine:
    """Make an engine; what is wrong with the URL's parameters raises DatabaseUrlError, also later.

    The driver is given them when it connects, by `connect`, and has one of the errors `misread` then. Its own errors,
    as of a server that is away, pass through.
    """
    try:
        # The connection that was used last comes first: SQLite forgets all that a connection has in its cache when
        # another one has written, and would read the same pages into the cache of each in turn.
        engine = create_engine(target, pool_size=4, max_overflow=-1, pool_use_lifo=True, **options)
    except NoSuchModuleError as error:
        raise DatabaseUrlError(f"no such kind of database: {target.drivername}") from error
    except (ArgumentError, TypeError, ValueError) as error:
        raise _bad_parameters(target, error) from error
    if not target.query and connect is None:
        return engine

    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Dialect, _record: object, arguments: Any, parameters: Any) -> Any:
        try:
            return (connect or dialect.connect)(*arguments, **parameters)
        except misread as error:
            raise _bad_parameters(target, error) from error

    return engine


def _bad_parameters(target: URL, error: Exception) -> DatabaseUrlError:
    said = " ".join(str(error).removeprefix("Connection.__init__() ").split())
    return DatabaseUrlError(f"the database URL has parameters ({', '.join(target.query)}) that cannot be used: {said}")


def _connect_to_file(path: str, **options: Any) -> sqlite3.Connection:
    """Connect to a file that is there: in the place of one that was taken away SQLite would make an empty one."""
    connection: sqlite3.Connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=rw", uri=True, **options)
    return connection


def _sqlite_engine(target: URL, create: bool, patience: float, cache: int) -> Engine:
    attached()  # before there is a connection
    path = Path(cast(str, target.database))
    if str(path).startswith("file:"):
        engine = _made_engine(target)
    else:
        _check_path(path, create)
        engine = _made_engine(target, _connect_to_file, misread=())
    # A file that is only read stays as it is, as a copy made by VACUUM INTO, which has no WAL.
    journal = () if target.query.get("mode") == "ro" else ("journal_mode = WAL",)

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver does not begin transactions by itself: `_begin` does
        for pragma in (
            f"busy_timeout = {int(patience * 1000)}",
            *journal,
            # A file may come from somebody else: what its schema calls is not trusted, and its cells are checked.
            "trusted_schema = OFF",
            "cell_size_check = ON",
            "synchronous = NORMAL",  # with a WAL a killed process loses nothing
            "case_sensitive_like = ON",  # LIKE is as on MySQL with a binary collation
            f"cache_size = -{cache}",  # at most, taken as needed
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


def _mysql_engine(target: URL, patience: float, answer: float, **options: Any) -> Engine:
    session = _MYSQL_SESSION.format(seconds=max(1, int(patience)), lease=LEASE // 1000)
    engine = _made_engine(
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
    event.listen(engine, "connect", note_locks)
    return engine


def _postgresql_engine(target: URL, patience: float, answer: float, **options: Any) -> Engine:
    try:
        from scrawler.store.engines.answering import MISREAD, connect
    except ImportError as error:
        raise StoreError(
            "PostgreSQL needs the package psycopg, which is not there: pip install 'seed-scrawler[postgresql]'"
        ) from error
    session = _POSTGRESQL_SESSION | {"lock_timeout": str(max(1_000, int(patience * 1000)))}
    settings = " ".join(f"-c {name}={value}" for name, value in session.items())
    said = target.query.get("options", "")  # what the user says of the session comes last, and holds
    timeouts = {"connect_timeout": max(2, int(min(10.0, answer))), "tcp_user_timeout": int(answer * 1000)}
    return _made_engine(
        target.difference_update_query(["options"]),
        partial(connect, answer),
        MISREAD,
        pool_pre_ping=False,  # see MySQL
        pool_reset_on_return=None,
        use_native_hstore=False,  # another question to the server
        connect_args={
            **{name: value for name, value in timeouts.items() if name not in target.query},
            "client_encoding": "utf8",
            "fallback_application_name": "scrawler",
            "options": f"{settings} {said if isinstance(said, str) else ' '.join(said)}".strip(),
        },
        **options,
    )
