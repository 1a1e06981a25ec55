"""Fixtures for all tests: databases, each test with a fresh one on SQLite and on MariaDB."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from experiments.lab.process import pass_over
from tests.mariadb import MariaDb, missing, running_mariadb
from tests.plain import leave_out_compiled_parts
from tests.proxy import Proxy

if os.environ.get("TEST_PLAIN"):  # `make test-plain`
    leave_out_compiled_parts()

# Tests may be started with nohup, or in the background, where a shell lets programs ignore Ctrl-C. What they start is
# to feel both all the same: an ignored signal is passed on to programs, one that does nothing is not.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, pass_over)

# A busy machine is no failure: neither an example that takes long, nor few of them in a second.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

_NUMBERS = itertools.count(1)
_ADVICE = "not installed (Debian: mariadb-server)"


def _skip_without_mariadb() -> None:
    """Skip the test where MariaDB is not installed; the summary says so."""
    if lacking := missing():
        pytest.skip(f"{lacking} {_ADVICE}")


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    """A MariaDB server for the whole session; without the programs its tests are skipped, and the summary says so."""
    _skip_without_mariadb()
    with running_mariadb() as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """URL of an SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'crawl.db'}"


@pytest.fixture
def mariadb_url(mariadb_server: MariaDb) -> Iterator[str]:
    """URL of an empty MariaDB database."""
    name = f"crawl_{next(_NUMBERS)}"
    yield mariadb_server.create(name)
    mariadb_server.drop(name)


@pytest.fixture
def proxy(mariadb_server: MariaDb) -> Iterator[Proxy]:
    """What stands between a test and the session's MariaDB."""
    with Proxy(mariadb_server.port) as one:
        yield one


@pytest.fixture
def proxied_url(mariadb_url: str, proxy: Proxy) -> str:
    """URL of an empty MariaDB database behind the proxy."""
    return proxy.in_front_of(mariadb_url)


@pytest.fixture(scope="module")
def mortal() -> Iterator[MariaDb]:
    """A MariaDB server that may be killed: the one of the session is for all."""
    _skip_without_mariadb()
    with running_mariadb() as server:
        yield server


@pytest.fixture(params=["sqlite", "mariadb"])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database; the test runs once on SQLite and once on MariaDB."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Let no case be named by bytes that nobody can read: what is compressed holds the second of its making.

    Workers that collect at different seconds would name it differently, and refuse the suite.
    """
    return argname if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])}
    if lacking := sorted(reason for reason in reasons if reason.endswith(_ADVICE)):
        terminalreporter.section("NOT TESTED ON MARIADB", sep="!", red=True, bold=True)
        terminalreporter.line("; ".join(lacking))
