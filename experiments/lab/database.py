"""A MariaDB server for as long as a benchmark runs, with an empty database for each turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import click

from tests.mariadb import MariaDb, missing, running_mariadb


class DatabaseServer:
    """A running server; `fresh` may be called any number of times."""

    def __init__(self, server: MariaDb) -> None:
        self._server = server
        self._numbers = count(1)

    def fresh(self) -> str:
        """Make an empty database and return its URL."""
        return self._server.create(f"crawl_bench_{next(self._numbers)}")

    def pids(self) -> list[int]:
        """Return the server's process id, for its CPU time."""
        return [self._server.pid]


@contextmanager
def mariadb() -> Iterator[DatabaseServer]:
    """Run a server within a block, in a temporary folder."""
    if programs := missing():
        raise click.ClickException(f"not installed: {programs} (Debian: mariadb-server)")
    with running_mariadb(on_disk=True) as server:
        yield DatabaseServer(server)
