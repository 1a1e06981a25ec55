"""The schema is made and upgraded whenever somebody is cut off in the midst of it: on MariaDB each DDL commits."""

from __future__ import annotations

import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event

from scrawler.errors import StoreBusyError, StoreError
from scrawler.store.engines.engine import open_database
from scrawler.store.schema.migrations import migration_texts, statements
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.forks import run_python
from tests.limits import HANGS
from tests.mariadb import MariaDb
from tests.stored import NEWEST, SCHEMAS, load_schema, newer_than

_CHANGE = re.compile(r"CREATE|ALTER|DROP|INSERT|UPDATE|DELETE")
_NAMES = (f"crawl_cut_{number}" for number in range(10_000))
_KILLED = """\
import os, signal, sys
from sqlalchemy import Engine, event
from scrawler.store.engines.engine import open_database
left = int(sys.argv[2])
@event.listens_for(Engine, "after_cursor_execute")
def after(connection, cursor, statement, parameters, context, many):
    global left
    left -= statement.startswith(("CREATE", "ALTER", "INSERT"))
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
open_database(sys.argv[1])
"""


def _made() -> int:
    return sum(len(statements(text)) for text in migration_texts("mysql").values())


def _upgraded(schema: int) -> int:
    return sum(len(statements(text)) for number, text in migration_texts("mysql").items() if number > schema)


class _Killed(BaseException):
    """Stands for SIGKILL: nothing that is done for errors is done."""


@contextmanager
def _cut(number: int, *, kill: bool = False) -> Iterator[None]:
    """Cut the connection as soon as its change with this number, from 1, is answered; then go on, or be killed."""
    left = number

    def look(connection: Any, cursor: Any, statement: str, *_: object) -> None:
        nonlocal left
        left -= _CHANGE.match(statement) is not None
        if left == 0:
            left = -1
            cursor.connection._sock.shutdown(socket.SHUT_RDWR)
            if kill:
                raise _Killed

    event.listen(Engine, "after_cursor_execute", look)
    try:
        yield
    finally:
        event.remove(Engine, "after_cursor_execute", look)


def _shape(url: str) -> list[tuple[Any, ...]]:
    """All that the server tells of columns, keys and indexes, and the versions that were applied."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = [
            *connection.exec_driver_sql(
                "SELECT table_name, column_name, column_type, is_nullable, column_default, extra, collation_name"
                " FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, 2"
            ),
            *connection.exec_driver_sql(
                "SELECT table_name, index_name, seq_in_index, column_name, non_unique"
                " FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3"
            ),
            *connection.exec_driver_sql("SELECT version FROM schema_version ORDER BY version"),
        ]
    engine.dispose()
    return [tuple(row) for row in found]


@pytest.fixture
def fresh(mariadb_server: MariaDb) -> Iterator[Callable[[], str]]:
    """Makes empty databases, any number."""
    made: list[str] = []

    def one() -> str:
        made.append(next(_NAMES))
        return mariadb_server.create(made[-1])

    yield one
    for name in made:
        mariadb_server.drop(name)


@pytest.fixture
def whole(fresh: Callable[[], str]) -> list[tuple[Any, ...]]:
    """The shape of a database that was made without a cut."""
    url = fresh()
    open_database(url).close()
    return _shape(url)


@pytest.mark.heavy
def test_a_database_whose_making_was_cut_short_is_finished_by_the_next_command(
    fresh: Callable[[], str], whole: list[tuple[Any, ...]]
) -> None:
    for number in range(1, _made() + 1):
        url = fresh()
        with _cut(number), pytest.raises(StoreBusyError, match="cannot be reached"):
            open_database(url)
        with pytest.raises(StoreError, match=rf"holds no crawl; import seeds|has schema \d+, not {NEWEST}; bring"):
            open_database(url, create=False)
        open_database(url).close()
        assert _shape(url) == whole, number


@pytest.mark.heavy
@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_upgrade_that_was_cut_short_is_finished_by_the_next(
    schema: int, fresh: Callable[[], str], whole: list[tuple[Any, ...]]
) -> None:
    """From the first schema it is cut at each statement; from others at those of their own step, as the rest is."""
    sites_joined = {1: 8}.get(schema, 0)
    own_step = _upgraded(schema) - _upgraded(schema + 1)
    for number in count(1) if schema == SCHEMAS[0] else range(1, own_step + 1):
        url = fresh()
        load_schema(schema, url)
        newer = newer_than(schema, url)
        try:
            with _cut(number, kill=True):
                assert upgrade_database(url) == newer
            break
        except _Killed:
            pass
        with pytest.raises(StoreError, match=rf"has schema \d+, not {NEWEST}; bring it up with `scrawler db upgrade`"):
            open_database(url)
        assert upgrade_database(url) in [newer[done:] for done in range(len(newer))]
        assert _shape(url) == whole, number
        assert _joined(url) == (16, 21, 0), number
    assert number > _upgraded(schema) + sites_joined or (schema != SCHEMAS[0] and number == own_step)


def _joined(url: str) -> tuple[int, ...]:
    """Count the sites, the seeds that have one, and the sites whose key ends in a dot."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT (SELECT COUNT(*) FROM site), (SELECT COUNT(*) FROM seed JOIN site ON site.id = site_id),"
            " (SELECT COUNT(*) FROM site WHERE site_key LIKE '%%.:%%')"
        ).one()
    engine.dispose()
    return tuple(found)


def test_a_program_that_is_killed_leaves_a_database_that_the_next_one_finishes(
    fresh: Callable[[], str], whole: list[tuple[Any, ...]]
) -> None:
    for number in (1, _made() // 2, _made()):
        url = fresh()
        killed = run_python("-c", _KILLED, url, str(number))
        assert killed.returncode == -signal.SIGKILL
        open_database(url).close()
        assert _shape(url) == whole, number


def test_programs_that_finish_one_database_at_once_wait_for_each_other(
    fresh: Callable[[], str], whole: list[tuple[Any, ...]]
) -> None:
    for cut in (1, _made() // 2, _made() - _upgraded(1)):
        url = fresh()
        with _cut(cut), pytest.raises(StoreBusyError):
            open_database(url)
        failed: list[BaseException] = []
        together = threading.Barrier(4)

        def make(url: str = url, together: threading.Barrier = together, failed: list[Any] = failed) -> None:
            try:
                together.wait(HANGS)
                open_database(url).close()
            except BaseException as error:
                failed.append(error)

        makers = [threading.Thread(target=make) for _ in range(4)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        assert not failed
        assert _shape(url) == whole
