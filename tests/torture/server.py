"""A MariaDB server that can be killed, and started again on what it has left."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mariadb import _START, MariaDb, _environment, folder_in_memory


class MortalMariaDb(MariaDb):
    """A server that hands each commit to the kernel, so that SIGKILL loses none."""

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        assert self._process is not None
        assert self._reader is not None
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def start_again(self) -> None:
        """Start it on its old data and port; returns when it takes connections."""
        assert self._process is not None
        command = [*self._process.args, "--innodb-flush-log-at-trx-commit=2"]
        self._ready.clear()
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment()
        )
        self._reader = threading.Thread(target=self._read, name="mariadb-log")
        self._reader.start()
        if not self._ready.wait(_START) or self._process.poll() is not None:
            raise RuntimeError("mariadbd did not start again:\n" + "".join(self._said[-20:]))


@contextmanager
def mortal_server() -> Iterator[MortalMariaDb]:
    """Give a server of its own, with nothing in it."""
    with tempfile.TemporaryDirectory(prefix="scrawler-", dir=folder_in_memory()) as folder:
        server = MortalMariaDb(Path(folder))
        server.start()
        try:
            server.kill()
            server.start_again()
            yield server
        finally:
            server.stop()
