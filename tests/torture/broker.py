"""A Redis server of a test's own, in a folder of its own, that may be stopped and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
from contextlib import closing
from pathlib import Path

from tests.torture.crawl import wait_for

REDIS = shutil.which("redis-server")
_READY = 60  # seconds


class Redis:
    """`redis-server` at a free port of this host; what it has is lost when it is killed."""

    def __init__(self, folder: Path) -> None:
        """Start it."""
        self._folder = folder
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._start()

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"redis://127.0.0.1:{self._port}/0"

    def _start(self) -> None:
        assert REDIS is not None
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [REDIS, "--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--appendonly", "no"],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._answers, _READY, "Redis answers")

    def _answers(self) -> bool:
        assert self._process.poll() is None, "Redis has ended"
        try:
            with socket.create_connection(("127.0.0.1", self._port), 5) as asked:
                asked.sendall(b"PING\r\n")
                return asked.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def restart(self) -> None:
        """Kill it, with all that waits there, and start it again at the same port."""
        self.kill()
        self._start()

    def kill(self) -> None:
        """Let it end at once."""
        self._process.kill()
        self._process.wait()
