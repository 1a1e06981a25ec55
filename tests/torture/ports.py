"""Strangers at the HTTP ports that a crawl opens: for figures, for what owners send, and of a served site."""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable
from tests.forks import SCRAWLER, Fork, forks, plain_environment
from tests.limits import HANGS
from tests.torture.crawl import wait_for
from tests.torture.sql import PlainSql

_CROWD = 100  # connections of an attack
_MOST_MEMORY = 400_000_000  # bytes of a process
_MOST_FILES = 1_000  # that a process has open
_HEAD = b"POST /ping HTTP/1.1\r\nHost: localhost\r\n"
_WAITS = (0.0, 0.3, 3.0)  # seconds for which a crowd stays
_HELLO = bytes.fromhex("16030100f8010000f40303") + bytes(200)  # as TLS begins


def silent(one: socket.socket) -> None:
    """Say nothing."""


def half(one: socket.socket) -> None:
    """Say half of a head."""
    one.sendall(_HEAD)


def endless_head(one: socket.socket) -> None:
    """Say more heads than anybody reads."""
    one.setblocking(False)
    one.send(_HEAD + b"X: y\r\n" * 100_000)


def long_line(one: socket.socket) -> None:
    """Ask for a URL without an end."""
    one.setblocking(False)
    one.send(b"GET /" + b"x" * 1_000_000)


def large(one: socket.socket) -> None:
    """Announce a body that nobody would hold."""
    one.sendall(_HEAD + b"Content-Length: 1000000000000\r\n\r\n" + b"x" * 10_000)


def chunked(one: socket.socket) -> None:
    """Send a body in chunks of one byte."""
    one.setblocking(False)
    one.send(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 50_000)


def odd(one: socket.socket) -> None:
    """Say what is no HTTP."""
    one.sendall(bytes(range(256)) * 40 + b"\r\n\r\n")


def tls(one: socket.socket) -> None:
    """Begin TLS."""
    one.sendall(_HELLO)


def unread(one: socket.socket) -> None:
    """Ask again and again, and read nothing."""
    one.setblocking(False)
    one.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5_000)


def reset(one: socket.socket) -> None:
    """Reset within a head."""
    one.sendall(_HEAD)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


ATTACKS: tuple[Callable[[socket.socket], None], ...] = (
    *(silent, half, endless_head, long_line, large, chunked, odd, tls, unread, reset),
)


class PortsOrdeal:
    """A crawl that tells figures, a listener, and a served site, among strangers; a number gives the same choices."""

    def __init__(self, number: int, attacks: int) -> None:
        self._chance = Random(number)
        self._number = attacks
        self._spec = WebSpec(seed=number, sites=6, mean_pages=12, page_bytes=300, links=6)
        self._pause = threading.Event()
        self._folder = Path()
        self._running: dict[str, Fork | subprocess.Popen[bytes]] = {}
        self.attacks: Counter[str] = Counter()

    def run(self, folder: Path) -> None:
        """Crawl to the end. Raises AssertionError where a port does not answer, or a process ends or grows."""
        self._folder = folder
        ports = dict(zip(("metrics", "listen", "site"), _free_ports(3), strict=True))
        good = {"metrics": "/metrics", "listen": "/health", "site": "/"}
        (folder / "site").mkdir()
        (folder / "site" / "index.html").write_text("home")
        with SynthServer(self._spec) as server, ExitStack() as stack:
            seeds = server.web.seeds()
            stack.callback(self._close)
            given = "".join(f"{url}\n" for url in seeds)
            done = forks().run([SCRAWLER, "import", "-"], folder, plain_environment(), given, HANGS)
            assert done.returncode == 0, done.stderr
            keep = (
                "--keep",
                "--revisit=fixed",
                "--allow-private",
                "--delay=0.3",
                "--no-export",
                f"--metrics={ports['metrics']}",
            )
            self._start(folder, "metrics", "run", *keep)
            self._start(folder, "listen", "listen", f"--port={ports['listen']}", "--allow-private")
            self._start(folder, "site", "serve-site", "site", f"--port={ports['site']}")
            for name, port in ports.items():
                self._wait_for_answer(name, port, good[name])
            for _ in range(self._number):
                name = self._chance.choice([*ports])
                self._attack(ports[name], name)
                self._wait_for_answer(name, ports[name], good[name])
            expected = reachable(server.web, seeds)
            sql = PlainSql(f"sqlite:///{folder / 'scrawler.db'}")
            query = "SELECT url FROM page WHERE result = 'fetched'"
            wait_for(
                lambda: {url for (url,) in sql.rows(query)} >= expected, HANGS, "all pages", lambda: sql.rows(query)
            )
            for name, process in self._running.items():
                process.send_signal(signal.SIGTERM)
                assert process.wait(HANGS) == 0, self._said(name)

    def _start(self, folder: Path, name: str, *words: str) -> None:
        null, same = subprocess.DEVNULL, subprocess.STDOUT
        with (folder / f"{name}.txt").open("wb") as output:
            command = [SCRAWLER, *words]
            self._running[name] = forks().start(command, folder, plain_environment(), null, output.fileno(), same)

    def _close(self) -> None:
        for process in self._running.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()

    def _said(self, name: str) -> str:
        return f"{name}: {(self._folder / f'{name}.txt').read_text()[-2_000:]}; {self.attacks}"

    def _attack(self, port: int, name: str) -> None:
        attack = self._chance.choice(ATTACKS)
        self.attacks[f"{attack.__name__} at {name}"] += 1
        with ExitStack() as stack:
            for _ in range(_CROWD):
                with suppress(OSError):  # who has enough of strangers may turn them away
                    attack(stack.enter_context(socket.create_connection(("127.0.0.1", port), 2.0)))
            self._pause.wait(self._chance.choice(_WAITS))
            self._look(name)

    def _look(self, name: str) -> None:
        """See that a process is there, and has not grown."""
        process = self._running[name]
        assert process.poll() is None, self._said(name)
        resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * resource.getpagesize()
        assert resident < _MOST_MEMORY, f"{name} has {resident:,} bytes; {self.attacks}"
        files = len(os.listdir(f"/proc/{process.pid}/fd"))
        assert files < _MOST_FILES, f"{name} has {files} files open; {self.attacks}"

    def _wait_for_answer(self, name: str, port: int, path: str) -> None:
        def answers() -> bool:
            self._look(name)
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as answer:
                return bool(answer.status == 200)
            return False

        wait_for(answers, HANGS, f"an answer of {name} after {self.attacks}")


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [int(one.getsockname()[1]) for one in taken]
