"""Real proxies on loopback: Debian's tinyproxy (HTTP) and microsocks (SOCKS 5), each with a user and a password."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from scrawler.model.proxy import Proxy
from tests.limits import HANGS

USER, PASSWORD = "crawler", "pr0xy-s3cret"


@dataclass(frozen=True)
class RealProxy:
    """A proxy that runs, and the file of what it tells."""

    proxy: Proxy
    log: Path

    @property
    def url(self) -> str:
        return self.proxy.place.replace("://", f"://{USER}:{PASSWORD}@")

    def told(self) -> str:
        return self.log.read_text()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _program(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: {package})")
    return found


@contextmanager
def _running(command: list[str], scheme: str, port: int, log: Path) -> Iterator[RealProxy]:
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + HANGS
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < deadline
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.02)
        assert process.poll() is None, log.read_text()
        yield RealProxy(Proxy(scheme, "127.0.0.1", port, USER, PASSWORD), log)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def tinyproxy(folder: Path) -> Iterator[RealProxy]:
    """Run an HTTP proxy in a folder of its own."""
    program, port = _program("tinyproxy", "tinyproxy-bin"), _free_port()
    settings = folder / "tinyproxy.conf"
    log = folder / "tinyproxy.log"
    settings.write_text(
        f'Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogFile "{log}"\nLogLevel Connect\n'
        f"BasicAuth {USER} {PASSWORD}\n"
    )
    with _running([program, "-d", "-c", str(settings)], "http", port, log) as running:
        yield running


@contextmanager
def microsocks(folder: Path) -> Iterator[RealProxy]:
    """Run a SOCKS proxy."""
    program, port = _program("microsocks", "microsocks"), _free_port()
    # It takes the first address of a name; from an IPv4 address, the first IPv4 one. That of localhost may be ::1.
    command = [program, "-i", "127.0.0.1", "-b", "127.0.0.1", "-p", str(port), "-u", USER, "-P", PASSWORD]
    with _running(command, "socks5h", port, folder / "microsocks.log") as running:
        yield running
