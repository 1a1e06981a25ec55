"""A real MariaDB for the tests: made in a temporary folder, on a socket and a loopback port, gone at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrawler.store.schema.migrations import schema_text, statements
from tests.limits import HANGS

if TYPE_CHECKING:
    from pymysql import Connection

_USER = "scrawler"
_PASSWORD = "s3cret"
_START = HANGS
_ROOM = 2**30  # bytes
# Tests make and drop hundreds of databases with few rows: this halves what the server computes for one.
_FOR_SMALL_TABLES = (
    "--innodb-file-per-table=0",
    "--innodb-stats-persistent=0",  # it would write to its own tables for each of ours
    "--innodb-use-native-aio=0",
    "--innodb-buffer-pool-load-at-startup=0",
    "--innodb-buffer-pool-dump-at-shutdown=0",
)


def missing() -> str:
    """Return which program is not installed, empty if all are there."""
    return ", ".join(name for name in ("mariadbd", "mariadb-install-db") if shutil.which(name, path=_path()) is None)


def folder_in_memory(room: int = _ROOM) -> str | None:
    """Return a folder in memory where there is one with room: making tables is ten times as fast there."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > room:
        return str(memory)
    return None


@contextmanager
def running_mariadb(*, on_disk: bool = False) -> Iterator[MariaDb]:
    """Run a server within a block, in a temporary folder: in memory, or on disk, as for a benchmark."""
    with tempfile.TemporaryDirectory(prefix="scrawler-", dir=None if on_disk else folder_in_memory()) as folder:
        server = MariaDb(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


class MariaDb:
    """A server of its own; `start` returns when it takes connections."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = _free_port()
        self._command: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._ready = threading.Event()
        self._said: list[str] = []
        self._reader: threading.Thread | None = None
        self._connection: Connection | None = None  # of who makes databases: each new one takes longer than that

    def start(self) -> None:
        data = self._folder / "data"
        # As root, mariadbd refuses to run unless told so; anybody else runs it as himself.
        user = ["--user=root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        # Each server removes at its start what another has in the same temporary folder, that of its installation too.
        temporary = self._folder / "tmp"
        temporary.mkdir()
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--tmpdir={temporary}", *user]
        install += ["--skip-test-db", "--auth-root-authentication-method=normal"]
        done = subprocess.run(install, capture_output=True, text=True, env=_environment(), timeout=_START)
        if done.returncode:
            raise RuntimeError(f"mariadb-install-db failed:\n{done.stderr}")
        grants = self._folder / "grants.sql"
        grants.write_text(
            f"CREATE USER IF NOT EXISTS '{_USER}'@'127.0.0.1' IDENTIFIED BY '{_PASSWORD}';\n"
            f"GRANT ALL ON `crawl\\_%`.* TO '{_USER}'@'127.0.0.1';\n"
        )
        self._command = [
            "mariadbd",
            "--no-defaults",
            f"--datadir={data}",
            f"--tmpdir={temporary}",
            f"--socket={self.socket}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--init-file={grants}",
            f"--pid-file={self._folder / 'mariadbd.pid'}",
            "--skip-name-resolve",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=2",  # to the kernel: SIGKILL loses nothing that was committed
            "--innodb-buffer-pool-size=128M",
            "--innodb-log-file-size=64M",
            *_FOR_SMALL_TABLES,
            *user,
        ]
        self.start_again()

    def start_again(self) -> None:
        """Start the server on the data that it has."""
        self._ready.clear()
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment()
        )
        self._reader = threading.Thread(target=self._read, name="mariadb-log")
        self._reader.start()
        if not self._ready.wait(_START) or self._process.poll() is not None:
            self.stop()
            raise RuntimeError("mariadbd did not start:\n" + "".join(self._said[-20:]))

    def kill(self) -> None:
        """End the server with SIGKILL."""
        assert self._process is not None
        assert self._reader is not None
        self._leave()
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def stop(self) -> None:
        self._leave()
        if self._process is None or self._reader is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_START)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def socket(self) -> Path:
        return self._folder / "s"

    def url(self, database: str) -> str:
        return f"mysql+pymysql://{_USER}:{_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Make an empty database; return its URL."""
        self._run(f"CREATE DATABASE {database}")
        return self.url(database)

    def create_with_schema(self, database: str) -> str:
        """Make a database with the schema of this version: at once, which takes a fifth of all migrations."""
        self._run(f"CREATE DATABASE {database}", f"USE {database}", *statements(schema_text("mysql")))
        return self.url(database)

    def drop(self, database: str) -> None:
        self._run(f"DROP DATABASE {database}")

    def _run(self, *lines: str) -> None:
        import pymysql

        if self._connection is None:
            self._connection = pymysql.connect(
                host="127.0.0.1", port=self.port, user=_USER, password=_PASSWORD, autocommit=True
            )
        with self._connection.cursor() as cursor:
            for line in lines:
                cursor.execute(line)

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line)
            if "ready for connections" in line:
                self._ready.set()
        self._process.stderr.close()
        self._ready.set()  # it ended: nobody shall wait any longer


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": _path()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
