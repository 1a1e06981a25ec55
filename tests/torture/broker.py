"""Brokers of a test's own, Redis and RabbitMQ, each in a folder of its own, that may be stopped and started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from tests.limits import HANGS
from tests.torture.crawl import wait_for

REDIS = shutil.which("redis-server")
_RABBITMQ_HOME = Path("/usr/lib/rabbitmq/bin")  # what Debian puts into the path wants to be root, and folders in /var
_EPMD = shutil.which("epmd")
RABBITMQ = str(_RABBITMQ_HOME / "rabbitmq-server") if _EPMD and (_RABBITMQ_HOME / "rabbitmq-server").exists() else None


def free_ports(number: int) -> list[int]:
    """Return ports of loopback that nobody listens at now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Broker(ABC):
    """A broker's process at a free port of this host; what waits there is lost when it is killed."""

    name: str

    def __init__(self, folder: Path) -> None:
        """Start it."""
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._prepare()
        self._start()

    def _prepare(self) -> None:
        """Choose ports, and write what it is configured by."""
        (self._port,) = free_ports(1)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where it is reached."""

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    def _environment(self) -> Mapping[str, str]:
        return {}

    @abstractmethod
    def _greets(self, asked: socket.socket) -> bool:
        """Whether it answers at a connection."""

    def _start(self) -> None:
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self._folder,
                env=os.environ | self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # RabbitMQ's process is a child of a script that waits for it
            )
        wait_for(self._answers, HANGS, f"{self.name} answers")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"{self.name} has ended"
        try:
            with socket.create_connection(("127.0.0.1", self._port), 5) as asked:
                return self._greets(asked)
        except OSError:
            return False

    def restart(self) -> None:
        """Kill it, with all that waits there, and start it again at the same port."""
        self._kill()
        self._start()

    def freeze(self) -> None:
        """Let it answer nobody, and take nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def kill(self) -> None:
        """Let it end at once, for good."""
        self._kill()


class Redis(Broker):
    """`redis-server`, without a file."""

    name = "redis"

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"redis://127.0.0.1:{self._port}/0"

    def _command(self) -> Sequence[str]:
        assert REDIS is not None
        return [REDIS, "--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--appendonly", "no"]

    def _greets(self, asked: socket.socket) -> bool:
        asked.sendall(b"PING\r\n")
        return asked.recv(16).startswith(b"+PONG")


class RabbitMq(Broker):
    """RabbitMQ with folders, ports and a name service of its own, so that no other one of this host is touched."""

    name = "rabbitmq"

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def _prepare(self) -> None:
        self._port, self._between, self._names = free_ports(3)
        (self._folder / "plugins").write_text("[].\n")
        (self._folder / "rabbit.conf").write_text("")
        assert _EPMD is not None
        names = [_EPMD, "-port", str(self._names), "-address", "127.0.0.1"]
        self._name_service = subprocess.Popen(names, cwd=self._folder, stdin=subprocess.DEVNULL)

    def _command(self) -> Sequence[str]:
        assert RABBITMQ is not None
        return [RABBITMQ]

    def _environment(self) -> Mapping[str, str]:
        folder = str(self._folder)
        return {
            "HOME": folder,  # of the cookie
            "RABBITMQ_NODENAME": f"test{self._port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(self._between),
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbit.conf",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1",
            "ERL_EPMD_PORT": str(self._names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def _greets(self, asked: socket.socket) -> bool:
        asked.sendall(b"AMQP\0\0\x09\x01")
        return len(asked.recv(16)) > 0  # the first frame, which says how to authenticate

    def kill(self) -> None:
        """Let it end at once, for good."""
        self._kill()
        self._name_service.kill()
        self._name_service.wait()


BROKERS: Mapping[str, type[Broker] | None] = {
    "redis": Redis if REDIS else None,
    "rabbitmq": RabbitMq if RABBITMQ else None,
}
