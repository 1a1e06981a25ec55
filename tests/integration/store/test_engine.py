from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, make_url, select, update

from scrawler.errors import StoreBusyError, StoreError
from scrawler.model.machines import LEASE
from scrawler.store.engines.engine import SMALL_CACHE, Database, Waiting, open_database
from scrawler.store.schema.migrations import migration_texts
from scrawler.store.schema.tables import site
from tests.integration.store.crawling import add
from tests.limits import HANGS
from tests.mariadb import MariaDb
from tests.postgresql import Postgresql

_LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""


@contextmanager
def _locked_by_another_process(path: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _LOCKER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        if not process.stdin.closed:
            process.stdin.close()


def _path(url: str) -> str:
    return url.removeprefix("sqlite:///")


def test_the_clock_is_the_databases_and_agrees_with_this_host(database: Database) -> None:
    assert abs(database.now() - time.time() * 1000) < 5_000


def test_a_transaction_that_raises_leaves_nothing(database: Database) -> None:
    def work(connection: Connection) -> None:
        connection.execute(insert(site), {"key_hash": b"0123456789abcdef", "site_key": "a"})
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        database.retrying(work)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM site").scalar() == 0


def test_a_locked_sqlite_file_is_busy_then_written(sqlite_url: str) -> None:
    open_database(sqlite_url).close()
    database = open_database(sqlite_url, patience=0.05)
    with _locked_by_another_process(_path(sqlite_url)) as locker:
        with pytest.raises(StoreBusyError, match="locked by another program"), database.begin():
            pass
        with database.read() as connection:  # readers go on
            assert connection.exec_driver_sql("SELECT COUNT(*) FROM seed").scalar() == 0
        with ThreadPoolExecutor(1) as threads:
            adding = threads.submit(add, database, "http://a.org/")
            locker.stdin.close()
            assert adding.result(HANGS).new == 1
    database.close()


def test_tries_are_bounded_and_do_not_pause_once_stopped(sqlite_url: str) -> None:
    open_database(sqlite_url).close()
    stop = threading.Event()
    stop.set()
    database = open_database(sqlite_url, patience=0.01, stop=stop)
    with _locked_by_another_process(_path(sqlite_url)), pytest.raises(StoreBusyError):
        add(database, "http://a.org/")
    database.close()


def test_two_programs_may_make_the_same_database_at_once(database_url: str) -> None:
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: open_database(database_url), range(4)))
    for database in opened:
        with database.read() as connection:
            newest = connection.exec_driver_sql("SELECT MAX(version) FROM schema_version").scalar()
        assert newest == max(migration_texts(database.dialect))
        database.close()


@contextmanager
def _somebody_else() -> Iterator[None]:
    """Run the block as a user who may not write what root owns; the tests may run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX users")
def test_a_read_only_file_is_read_and_refuses_writing_in_one_line() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.db"
        url = f"sqlite:///{path}"
        open_database(url).close()
        sqlite3.connect(path).execute("PRAGMA journal_mode=DELETE").close()
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        try:
            with _somebody_else(), pytest.raises(StoreError, match=r"is read-only|cannot be opened") as told:
                add(open_database(url), "http://a.org/")
            assert "\n" not in str(told.value)
            assert not isinstance(told.value, StoreBusyError)
        finally:
            Path(folder).chmod(0o755)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "postgresql+psycopg2://localhost/x",
            r"no such kind of database: postgresql\+psycopg2; use a file as crawl.db, sqlite:///path, ",
        ),
        ("postgresql://me:topsecret@127.0.0.1:1", "names no database; use postgresql"),
        ("postgresql://me:top@secret@127.0.0.1:1/x", "holds an @; write %40 for it"),
        (
            "postgresql://me:topsecret@127.0.0.1:1/x?foo=1",
            r"parameters \(foo\) that cannot be used; known are host",
        ),
        ("postgresql://me:topsecret@127.0.0.1:1/x?sslmode=odd", r"parameters \(sslmode\) that cannot be used|sslmode"),
        ("postgres://me:topsecret@127.0.0.1:1/crawl", "cannot be reached"),
        ("nonsense", "cannot be read"),
        ("sqlite://", "needs a file"),
        (
            "sqlite+aiosqlite:///crawl.db",
            r"no such kind of database: sqlite\+aiosqlite; use a file as crawl.db, sqlite:///path, ",
        ),
        ("sqlite:////no/such/folder/crawl.db", "no folder /no/such/folder"),
        ("mysql+pymysql://me:topsecret@127.0.0.1:1/crawl", "cannot be reached"),
    ],
)
def test_what_cannot_be_opened_is_one_line_without_password(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as told:
        open_database(url)
    assert "\n" not in str(told.value)
    assert "topsecret" not in str(told.value)


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, only notes " * 100)
    with pytest.raises(StoreError, match="is not an SQLite database"):
        open_database(f"sqlite:///{path}")


def test_no_file_is_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="import seeds"):
        open_database(f"sqlite:///{tmp_path / 'none.db'}", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=["mariadb", "postgresql"])
def server(request: pytest.FixtureRequest) -> MariaDb | Postgresql:
    """The session's servers."""
    one: MariaDb | Postgresql = request.getfixturevalue(f"{request.param}_server")
    return one


def test_a_wrong_password_or_database_is_told(server: MariaDb | Postgresql) -> None:
    wrong = server.url("crawl_x").replace("s3cret", "wrong")
    with pytest.raises(StoreError, match="refuses this user") as told:
        open_database(wrong)
    assert "wrong@" not in str(told.value)
    assert not isinstance(told.value, StoreBusyError)
    with pytest.raises(StoreError, match="does not exist") as told:
        open_database(server.url("crawl_none"))
    assert not isinstance(told.value, StoreBusyError)


def test_a_connection_that_the_server_closed_is_made_anew(server_url: str) -> None:
    database = open_database(server_url)
    is_mysql = database.dialect == "mysql"
    mine, end = ("CONNECTION_ID()", "KILL {}") if is_mysql else ("pg_backend_pid()", "SELECT pg_terminate_backend({})")
    with database.read() as connection:
        number = connection.exec_driver_sql(f"SELECT {mine}").scalar()
    other = open_database(server_url)
    with other.read() as connection:
        connection.exec_driver_sql(end.format(number))
    assert database.now() > 0
    tries = []

    def killed_once(connection):
        tries.append(connection.exec_driver_sql(f"SELECT {mine}").scalar())
        if len(tries) == 1:
            with other.read() as killer:
                killer.exec_driver_sql(end.format(tries[0]))
        return connection.exec_driver_sql("SELECT 42").scalar()

    assert database.retrying(killed_once) == 42
    assert len(tries) == 2
    database.close()
    other.close()


def test_who_freezes_within_a_transaction_loses_its_locks_with_its_lease(server_url: str) -> None:
    database = open_database(server_url)
    is_mysql = database.dialect == "mysql"
    name = "idle_write_transaction_timeout" if is_mysql else "idle_in_transaction_session_timeout"
    held = f"SELECT @@{name}" if is_mysql else f"SELECT setting FROM pg_settings WHERE name = '{name}'"
    shorter = f"SET SESSION {name} = {1 if is_mysql else 1000}"
    add(database, "http://a.org/")
    mine = update(site).values(next_due_at=1)

    def freeze() -> None:
        with database.begin() as frozen:
            assert int(frozen.exec_driver_sql(held).scalar_one()) == (LEASE // 1000 if is_mysql else LEASE)
            frozen.exec_driver_sql(shorter)
            frozen.execute(mine)
            with database.begin() as other:  # waits for the lock
                other.execute(mine.values(next_due_at=2))
            frozen.execute(mine)

    with pytest.raises(StoreBusyError):
        freeze()
    with database.read() as connection:
        assert connection.execute(select(site.c.next_due_at)).scalar_one() == 2
    database.close()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (6, "Error on delete of '/tmp/#sql-temptable-1-2-3.MAI' (Errcode: 2 \"No such file or directory\")"),
        (1011, "Error on delete of '/tmp/#sql-1-2' (errno: 2)"),
        (3, "Error writing file '/tmp/MYfd=5' (Errcode: 28 \"No space left on device\")"),
        (1114, "The table '/tmp/#sql-1' is full"),
        (1020, "Record has changed since last read in table 'seed'"),
    ],
)
def test_what_a_server_may_do_at_the_next_try_is_tried_again(mariadb_url: str, code: int, words: str) -> None:
    """The words are the server's own; here it is told to say them, for these things do not happen at will."""
    database = open_database(mariadb_url)
    tries = []

    def work(connection: Connection) -> str:
        tries.append(code)
        if len(tries) == 1:
            said = words.replace("'", "''")
            connection.exec_driver_sql(f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = '{said}'")
        return "done"

    assert database.retrying(work) == "done"
    assert len(tries) == 2
    database.close()


@pytest.mark.parametrize("state", ["53100", "53200", "58030", "40001", "40P01", "55P03", "57014", "57P01", "53300"])
def test_what_postgresql_may_do_at_the_next_try_is_tried_again(postgresql_url: str, state: str) -> None:
    database = open_database(postgresql_url)
    tries = []

    def work(connection: Connection) -> str:
        tries.append(state)
        if len(tries) == 1:
            said = f"RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = 'no room'"
            connection.exec_driver_sql(f"DO $$ BEGIN {said}; END $$")
        return "done"

    assert database.retrying(work) == "done"
    assert len(tries) == 2
    database.close()


def test_a_read_only_postgresql_is_told(postgresql_url: str) -> None:
    database = open_database(postgresql_url)

    def change() -> None:
        with database.begin() as connection:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            connection.execute(update(site).values(next_due_at=1))

    with pytest.raises(StoreError, match="is read-only") as told:
        change()
    assert not isinstance(told.value, StoreBusyError)
    database.close()


@pytest.mark.parametrize("made", [False, True])
def test_a_user_without_rights_is_told(postgresql_server: Postgresql, postgresql_url: str, made: bool) -> None:
    if made:
        open_database(postgresql_url).close()
    guest = f"guest_{made}".lower()
    postgresql_server.run(f"CREATE ROLE {guest} LOGIN PASSWORD 's3cret'")
    try:
        with pytest.raises(StoreError, match="refuses this user, who must own it") as told:
            open_database(postgresql_server.url(make_url(postgresql_url).database or "", guest))
        assert not isinstance(told.value, StoreBusyError)
    finally:
        postgresql_server.run(f"DROP ROLE {guest}")


def test_a_postgresql_database_that_cannot_hold_all_text_is_refused(postgresql_server: Postgresql) -> None:
    names = "ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0"
    postgresql_server.run(f"CREATE DATABASE crawl_latin {names}")
    try:
        with pytest.raises(StoreError, match=r"crawl_latin holds text as LATIN1, .* ENCODING 'UTF8'"):
            open_database(postgresql_server.url("crawl_latin"))
    finally:
        postgresql_server.drop("crawl_latin")


def test_a_postgresql_that_says_nothing_is_taken_for_lost(postgresql_url: str) -> None:
    database = open_database(postgresql_url, waiting=Waiting(give_up_after=0, answer=1.0))
    with pytest.raises(StoreBusyError, match=r"cannot be reached .*no answer for 1 s"), database.read() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(600)")
    assert database.now() > 0
    database.close()


def test_what_a_server_will_never_do_is_not_tried_again(server_url: str) -> None:
    database = open_database(server_url)
    with pytest.raises(StoreError, match="refuses") as raised, database.begin() as connection:
        connection.exec_driver_sql("SELECT no_such_column FROM seed")
    assert not isinstance(raised.value, StoreBusyError)
    database.close()


def test_a_connection_to_sqlite_keeps_no_more_in_memory_than_it_may(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/small.db", cache=SMALL_CACHE)
    try:
        assert database.reading(lambda one: one.exec_driver_sql("PRAGMA cache_size").scalar()) == -SMALL_CACHE
    finally:
        database.close()


def test_the_connection_that_was_used_last_is_used_again(tmp_path: Path) -> None:
    def driver_of(connection: Connection) -> object:
        return connection.connection.dbapi_connection

    database = open_database(f"sqlite:///{tmp_path}/warm.db")
    try:
        with database.read() as first, database.read() as second:
            assert driver_of(first) is not driver_of(second)
            last = driver_of(first)  # it goes back after the second
        for _ in range(3):
            with database.begin() as connection:
                assert driver_of(connection) is last, "what another one has in its cache is out of date"
    finally:
        database.close()
