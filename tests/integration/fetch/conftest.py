"""Fixtures: servers that are stopped, downloaders that are closed."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrawler.features.classic.blocking import RequestsDownloader
from scrawler.fetch.curl import CurlDownloader
from scrawler.fetch.downloader import Downloader, FetchLimits, Request, Response
from tests.integration.fetch.servers import Certificates, RawServer, Script
from tests.limits import HANGS

LIMITS = FetchLimits("scrawler-test (+mailto:test@example.test)", HANGS / 2, HANGS / 2, 1_000_000, 50)

Fetch = Callable[..., Response]
Make = Callable[..., Downloader]


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    servers: list[RawServer] = []

    def start(script: Script, **options: Any) -> RawServer:
        servers.append(RawServer(script, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(params=[CurlDownloader, RequestsDownloader], ids=["curl", "requests"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Build a downloader of either kind, with other limits where given."""
    yield from _maker(request.param)


@pytest.fixture
def make_curl() -> Iterator[Make]:
    yield from _maker(CurlDownloader)


def _maker(kind: Any) -> Iterator[Make]:
    made: list[Downloader] = []

    def build(ca_file: str | None = None, **changes: Any) -> Downloader:
        made.append(kind(dataclasses.replace(LIMITS, **changes), ca_file=ca_file))
        return made[-1]

    yield build
    for downloader in made:
        downloader.close()


@pytest.fixture
def fetch(make: Make) -> Fetch:
    """Fetch one URL with a downloader of either kind."""

    def run(url: str, address: str = "127.0.0.1", max_body: int = 0, **changes: Any) -> Response:
        return drive(make(**changes), Request(url, address, max_body=max_body))[0]

    return run


def drive(downloader: Downloader, *requests: Request, seconds: float = HANGS) -> list[Response]:
    """Run the collector's loop until all requests have ended."""
    for request in requests:
        downloader.start(request)
    done: list[Response] = []
    end = time.monotonic() + seconds
    while len(done) < len(requests):
        left = end - time.monotonic()
        assert left > 0, f"{len(done)} of {len(requests)} after {seconds} s"
        downloader.wait(left)
        done += downloader.completed()
    return done


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def http2_port(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of an nginx that speaks HTTP/2 over TLS and serves /page (32 KB) and /moved."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx not installed (Debian: nginx-light)")
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "page").write_bytes(bytes(range(256)) * 128)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"{'user root; ' if os.geteuid() == 0 else ''}daemon off;"
        f"pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;"
        f"events {{}} http {{ access_log off; {paths} server {{"
        f"listen 127.0.0.1:{port} ssl http2; root {folder};"
        f"ssl_certificate {certificates.certificate}; ssl_certificate_key {certificates.key};"
        "location /moved { return 301 /page; } } }"
    )
    server = subprocess.Popen([nginx, "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL)
    _await_port(port, server, folder)
    yield port
    server.terminate()
    server.wait()


def _await_port(port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + HANGS
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    pytest.fail(f"nginx did not start: {(folder / 'error.log').read_text()}")
