"""Debian's nginx with a configuration and folder of its own: one worker, plain files, an access log to count by."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.docsweb.sites import PORT, SITES, DocsWebError, Site, missing_packages
from tests.torture.crawl import StandsStillError, wait_for

NGINX = "/usr/sbin/nginx"
RUN_FOLDER = Path(__file__).parent / "run"
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0

_MAIN = """\
{user}pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes 1;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    log_format requests escape=none
        "$msec\\t$server_addr:$server_port\\t$request_method\\t$status\\t$sent_http_content_type\\t$body_bytes_sent\\t$request_uri\\t$http_user_agent";
    access_log {folder}/access.log requests;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 75s;
    keepalive_requests 100000000;
    gzip off;
    client_body_temp_path {folder}/temp-body;
    proxy_temp_path {folder}/temp-proxy;
    fastcgi_temp_path {folder}/temp-fastcgi;
    scgi_temp_path {folder}/temp-scgi;
    uwsgi_temp_path {folder}/temp-uwsgi;
{servers}}}
"""
_SERVER = "    server {{ listen {address}:{port}; root {root}; index index.html; }}\n"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One answered request."""

    at: float  # seconds since 1970, when it was answered
    url: str
    status: int
    content_type: str  # without parameters
    agent: str

    @property
    def is_robots(self) -> bool:
        """Whether robots.txt was asked for."""
        return self.url.endswith("/robots.txt") and self.url.count("/") == 3

    @property
    def is_page(self) -> bool:
        """Whether an HTML page was delivered."""
        return self.status == 200 and self.content_type == "text/html"


class AccessLog:
    """The server's access log, read from a mark on, so that several crawls can be told apart."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mark(self) -> int:
        """Return where the log ends now."""
        return self.path.stat().st_size if self.path.exists() else 0

    def entries(self, mark: int = 0) -> Iterator[LogEntry]:
        """Yield the requests logged after a mark."""
        with self.path.open("rb") as file:
            file.seek(mark)
            for line in file:
                at, server, _, status, kind, _, uri, agent = line.decode("latin-1").rstrip("\n").split("\t", 7)
                content_type = kind.partition(";")[0].strip().lower()
                yield LogEntry(float(at), f"http://{server}{uri}", int(status), content_type, agent)


class DocsServer:
    """nginx on one port of the sites' addresses."""

    def __init__(self, port: int = PORT, sites: Sequence[Site] = SITES) -> None:
        self.port = port
        self.sites = sites
        self.folder = RUN_FOLDER / f"nginx-{port}"
        self.log = AccessLog(self.folder / "access.log")

    def pids(self) -> list[int]:
        """Return the ids of nginx's master and worker, empty when it does not run."""
        try:
            master = int((self.folder / "nginx.pid").read_text())
            children = Path(f"/proc/{master}/task/{master}/children").read_text()
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return []
        return [master, *map(int, children.split())]

    def start(self) -> None:
        """Start nginx in the background with an empty log; its worker runs and its sockets listen when this returns."""
        if packages := missing_packages():
            raise DocsWebError(f"not installed: {', '.join(packages)} (python -m experiments.docsweb setup)")
        if self.pids():
            raise DocsWebError(f"port {self.port} is served already (python -m experiments.docsweb stop)")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        config = self.folder / "nginx.conf"
        config.write_text(self._config())
        command = [NGINX, "-p", str(self.folder), "-c", str(config), "-e", str(self.folder / "error.log")]
        started = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if started.returncode:
            raise DocsWebError(f"nginx does not start: {started.stderr.strip().splitlines()[-1]}")
        try:  # nginx returns before its master, now in the background, has started the worker
            wait_for(lambda: len(self.pids()) > 1, _START_SECONDS, "nginx starts its worker")
        except StandsStillError as error:
            self.stop()
            raise DocsWebError(f"nginx does not start: {error}") from error

    def stop(self) -> bool:
        """Stop nginx and wait until it is gone; False when it did not run."""
        pids = self.pids()
        if not pids:
            return False
        descriptor = os.pidfd_open(pids[0])
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            _wait_for_end(descriptor)
        finally:
            os.close(descriptor)
        return True

    def _config(self) -> str:
        servers = "".join(_SERVER.format(address=site.address, port=self.port, root=site.root) for site in self.sites)
        user = "user www-data;\n" if os.geteuid() == 0 else ""
        return _MAIN.format(user=user, folder=self.folder, servers=servers)


@contextmanager
def serving(port: int, sites: Sequence[Site] = SITES) -> Iterator[DocsServer]:
    """Serve the sites within a block."""
    server = DocsServer(port, sites)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _wait_for_end(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(_STOP_SECONDS * 1000):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        poll.poll(_STOP_SECONDS * 1000)
