"""Fixtures for all tests: databases, each test with a fresh one on SQLite, on MariaDB and on PostgreSQL."""

from __future__ import annotations

import gc
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine, event, make_url
from sqlalchemy.engine import Dialect

from experiments.lab.process import pass_over
from tests import mariadb, postgresql
from tests.failures import (  # noqa: F401  hooks of pytest, but for the first
    place_of,
    pytest_runtest_logreport,
    pytest_sessionfinish,
    pytest_xdist_make_scheduler,
)
from tests.forks import end_forks, fork_machines, fork_webs
from tests.hot import VisiblePatches, require_the_form
from tests.limits import HEAVY, allow
from tests.mariadb import MariaDb, folder_in_memory, running_mariadb
from tests.plain import leave_out_compiled_parts
from tests.postgresql import Postgresql, running_postgresql
from tests.proxy import Proxy
from tests.statements import share_compiled

if os.environ.get("TEST_PLAIN"):  # `make test-plain`
    leave_out_compiled_parts()
if COMPILED := bool(os.environ.get("TEST_COMPILED")):  # `make test-compiled`
    require_the_form()

# Tests may be started with nohup, or in the background, where a shell lets programs ignore Ctrl-C. What they start is
# to feel both all the same: an ignored signal is passed on to programs, one that does nothing is not.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, pass_over)

# A busy machine is no failure: neither an example that takes long, nor few of them in a second.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

share_compiled()
fork_machines()
fork_webs()
gc.disable()  # what is collected stays: to look through it again and again would take a fifth of the time of that

_NUMBERS = itertools.count(1)
_ROOM = 4 << 30  # bytes; all tests together leave one in their folders
_STORE = Path(__file__).parent / "integration" / "store"
_ADVICE = {
    "MARIADB": "not installed (Debian: mariadb-server)",
    "POSTGRESQL": "not installed (Debian: postgresql)",
}


@event.listens_for(Engine, "do_connect")
def _without_tls(dialect: Dialect, _record: object, _arguments: object, parameters: dict[str, object]) -> None:
    """Have connections to MariaDB ask for no TLS, which its server of the tests does not know.

    For each of them PyMySQL would read all authorities of the machine, which takes 18 ms: longer than most tests' work.
    """
    if dialect.name == "mysql" and not any(name.startswith("ssl") for name in parameters):
        parameters["ssl_disabled"] = True


if COMPILED:

    @pytest.fixture
    def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
        """Patches as usual; a test of which compiled code would not see them is skipped, and the summary says so."""
        with VisiblePatches.context() as patches:
            yield patches


def _skip_without_mariadb() -> None:
    """Skip the test where MariaDB is not installed; the summary says so."""
    if lacking := mariadb.missing():
        pytest.skip(f"{lacking} {_ADVICE['MARIADB']}")


def _skip_without_postgresql() -> None:
    """Skip the test where PostgreSQL is not installed; the summary says so."""
    if lacking := postgresql.missing():
        pytest.skip(f"{lacking} {_ADVICE['POSTGRESQL']}")


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    """A MariaDB server for the whole session; without the programs its tests are skipped, and the summary says so."""
    _skip_without_mariadb()
    with running_mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Postgresql]:
    """A PostgreSQL server for the whole session; without the programs its tests are skipped, as those of MariaDB."""
    _skip_without_postgresql()
    with running_postgresql() as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """URL of an SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'crawl.db'}"


def _created(server: MariaDb | Postgresql, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a database; with its tables for a test that has it opened by the fixture `database`."""
    name = f"crawl_{next(_NUMBERS)}"
    is_opened = "database" in request.fixturenames
    yield (server.create_with_schema if is_opened else server.create)(name)
    server.drop(name)


@pytest.fixture
def mariadb_url(mariadb_server: MariaDb, request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty MariaDB database, or of one with its tables; see `_created`."""
    yield from _created(mariadb_server, request)


@pytest.fixture
def postgresql_url(postgresql_server: Postgresql, request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty PostgreSQL database, or of one with its tables; see `_created`."""
    yield from _created(postgresql_server, request)


@pytest.fixture(params=["mariadb", "postgresql"])
def server_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database; the test runs once on MariaDB and once on PostgreSQL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def proxy(server_url: str) -> Iterator[Proxy]:
    """What stands between a test and the session's server."""
    with Proxy(make_url(server_url).port or 0) as one:
        yield one


@pytest.fixture
def proxied_url(server_url: str, proxy: Proxy) -> str:
    """URL of an empty database behind the proxy: once of MariaDB, and once of PostgreSQL."""
    return proxy.in_front_of(server_url)


@pytest.fixture(params=["mariadb", "postgresql"], scope="module")
def mortal(request: pytest.FixtureRequest) -> Iterator[MariaDb | Postgresql]:
    """A server that may be killed: the one of the session is for all."""
    if request.param == "mariadb":
        _skip_without_mariadb()
        with running_mariadb() as server:
            yield server
    else:
        _skip_without_postgresql()
        with running_postgresql() as other:
            yield other


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database; the test runs once on SQLite, once on MariaDB and once on PostgreSQL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.hookimpl(tryfirst=True)  # before heavy ones are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let whole crawls on a database server be `servers`, but for those marked `on_each_engine`; order heavy tests.

    Tests of the store alone run on each engine.
    """
    for item in items:
        case = getattr(item, "callspec", None)  # of a test that has several
        engine = case.params.get("database_url") if case else None
        if _STORE in item.path.parents or item.get_closest_marker("on_each_engine") is not None:
            continue
        if engine in ("mariadb", "postgresql"):
            item.add_marker(pytest.mark.servers)
    items.sort(key=lambda item: place_of(item.nodeid) if item.get_closest_marker("heavy") else -1)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what was collected out of all that the collector of garbage goes through: that is most of a worker."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    only = item.get_closest_marker("interpreted")
    if COMPILED and only is not None:
        pytest.skip(f"only in Python: {only.args[0]}")
    if item.get_closest_marker("heavy") is not None:
        allow(HEAVY)


def pytest_configure() -> None:
    """Let folders of tests be in memory where there is room: who waits for a disk leaves processors idle."""
    folder = folder_in_memory(_ROOM)
    if folder is not None and not os.statvfs(folder).f_flag & os.ST_NOEXEC:  # some tests run programs that they make
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)


def pytest_unconfigure() -> None:
    end_forks()


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Let no case be named by bytes that nobody can read: what is compressed holds the second of its making.

    Workers that collect at different seconds would name it differently, and refuse the suite.
    """
    return argname if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])}
    for name, advice in _ADVICE.items():
        if lacking := sorted(reason for reason in reasons if reason.endswith(advice)):
            terminalreporter.section(f"NOT TESTED ON {name}", sep="!", red=True, bold=True)
            terminalreporter.line("; ".join(lacking))
