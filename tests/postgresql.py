"""A real PostgreSQL for the tests: made in a temporary folder, on a loopback port, gone at the end.

It refuses to run as root, and is run by another user then. The databases are such as a user may have: their language
does not put letters in the order of their bytes.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrawler.store.engines.engine import open_database
from tests.limits import HANGS
from tests.mariadb import _free_port, folder_in_memory

if TYPE_CHECKING:
    from psycopg import Connection

_ADMINISTRATOR = "postgres"
_USER = "scrawler"  # has no rights but those of who owns a database
_PASSWORD = "s3cret"
_PATTERN = "pattern"  # a database
_START = HANGS
_INSTALLED = Path("/usr/lib/postgresql")  # Debian puts each version into a folder of its own there
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",  # to the kernel: SIGKILL loses nothing that was committed
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "autovacuum_naptime": "60s",  # each time it starts a process for each database
    "lc_messages": "C",
    "log_min_messages": "log",
    "password_encryption": "md5",  # each connection would take 5 ms to answer a challenge of SCRAM
}


def _programs() -> Path | None:
    """Return the folder of the newest server that is installed."""
    found = [one for one in _INSTALLED.glob("*/bin") if (one / "postgres").exists() and (one / "initdb").exists()]
    if found:
        return max(found, key=lambda one: int(one.parent.name))
    on_path = shutil.which("postgres")
    return Path(on_path).parent if on_path and (Path(on_path).parent / "initdb").exists() else None


def missing() -> str:
    """Return what is not installed, empty if all is there."""
    return "" if _programs() else "postgres"


def _server_user() -> dict[str, Any]:
    """Say as which user the server is to run, in the words of `subprocess`: root may not."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def running_postgresql(*, on_disk: bool = False) -> Iterator[Postgresql]:
    """Run a server within a block, in a temporary folder: in memory, or on disk, as for a benchmark."""
    with tempfile.TemporaryDirectory(prefix="scrawler-", dir=None if on_disk else folder_in_memory()) as folder:
        server = Postgresql(Path(folder), durable=on_disk)
        server.start()
        try:
            yield server
        finally:
            server.stop()


class Postgresql:
    """A server of its own; `start` returns when it takes connections."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._folder = folder
        self._settings = _SETTINGS | ({"fsync": "on", "full_page_writes": "on"} if durable else {})
        self.port = _free_port()
        self._process: subprocess.Popen[str] | None = None
        self._has_pattern = False
        self._strategy = ""
        self._ready = threading.Event()
        self._said: list[str] = []
        self._reader: threading.Thread | None = None
        self._administrator: Connection | None = None  # each new connection is a process of the server

    def start(self) -> None:
        programs = _programs()
        assert programs is not None
        user = _server_user()
        if user:
            os.chown(self._folder, user["user"], user["group"])
        secret = self._folder / "secret"
        secret.write_text(_PASSWORD)
        secret.chmod(0o644)  # within a folder of the server's user alone
        data = self._folder / "data"
        install = [programs / "initdb", "-D", data, "-U", _ADMINISTRATOR, "--pwfile", secret, "--auth", "md5"]
        install += ["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        if int(programs.parent.name) >= 15:
            install += ["--locale-provider=icu", "--icu-locale=en-US"]
            self._strategy = "STRATEGY FILE_COPY"  # in a third of the time; before, it was the only one
        done = subprocess.run(install, capture_output=True, text=True, timeout=_START, cwd="/", **user)
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stderr}")
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        self._command = [str(programs / "postgres"), "-D", str(data), "-p", str(self.port), *settings]
        self.start_again()
        self.run(f"CREATE ROLE {_USER} LOGIN PASSWORD '{_PASSWORD}'")

    def start_again(self) -> None:
        """Start the server on the data that it has."""
        self._ready.clear()
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/", **_server_user()
        )
        self._reader = threading.Thread(target=self._read, name="postgresql-log")
        self._reader.start()
        if not self._ready.wait(_START) or self._process.poll() is not None:
            self.stop()
            raise RuntimeError("postgres did not start:\n" + "".join(self._said[-20:]))

    def kill(self) -> None:
        """End the server with SIGKILL, all of its processes: those of sessions would end by themselves soon after."""
        assert self._process is not None
        assert self._reader is not None
        self._leave()
        of_sessions = self._children()
        self._process.kill()
        self._process.wait()
        for pid in of_sessions:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._reader.join()  # its pipe is closed when the last of them is gone

    def stop(self) -> None:
        self._leave()
        if self._process is None or self._reader is None:
            return
        self._process.send_signal(signal.SIGINT)  # ends the sessions; SIGTERM would wait for them
        try:
            self._process.wait(_START)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def pids(self) -> list[int]:
        """Return the ids of all processes that it has now."""
        return [self.pid, *self._children()]

    def url(self, database: str, user: str = _USER) -> str:
        return f"postgresql+psycopg://{user}:{_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Make an empty database; return its URL."""
        self.run(f"CREATE DATABASE {database} OWNER {_USER} {self._strategy}")
        return self.url(database)

    def create_with_schema(self, database: str) -> str:
        """Make a database with the schema of this version, a copy: to make its tables takes twice as long."""
        if not self._has_pattern:
            open_database(self.create(_PATTERN)).close()
            self._has_pattern = True
        self.run(f"CREATE DATABASE {database} OWNER {_USER} TEMPLATE {_PATTERN} {self._strategy}")
        return self.url(database)

    def drop(self, database: str) -> None:
        self.run(f"DROP DATABASE {database} WITH (FORCE)")

    def run(self, statement: str) -> None:
        """Run a statement as the server's administrator."""
        import psycopg

        if self._administrator is None:
            url = self.url("postgres", _ADMINISTRATOR).replace("+psycopg", "")
            self._administrator = psycopg.connect(url, autocommit=True)
        self._administrator.execute(statement)

    def _leave(self) -> None:
        if self._administrator is not None:
            self._administrator.close()
            self._administrator = None

    def _children(self) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line)
            del self._said[:-1000]
            if "database system is ready to accept connections" in line:
                self._ready.set()
        self._process.stderr.close()
        self._ready.set()  # it ended: nobody shall wait any longer
