"""nginx for a broad web: one worker, one set of files for all sites, a log of what was asked."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from experiments.broadweb.log import LogFile
from experiments.broadweb.pages import DESIGNS, HOST_MARK, Pages, page_text, path_of
from experiments.docsweb.server import NGINX
from experiments.lab.process import uninterrupted
from tests.torture.crawl import StandsStillError, wait_for

LOG_DELAY = 0.5  # seconds after which nginx has written what it logged
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_MEMORY = Path("/dev/shm")
_PAGES_LEFT = 0.2  # of the room in memory, which pages leave to others
_DESCRIPTORS = 65_536
_IN_NETWORK = 250  # addresses of 127.x.y.*, and networks of 127.x.*.*, that are used

_CONFIG = """\
{user}pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
daemon off;
worker_processes 1;
worker_rlimit_nofile {descriptors};
events {{ worker_connections {connections}; }}
http {{
    types {{ text/html html; text/plain txt; }}
    log_format requests escape=none "$msec\\t$status\\t$host\\t$uri";
    access_log {folder}/access.log requests buffer=64k flush={flush}ms;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100000 inactive=1h;
    open_file_cache_valid 1h;
    keepalive_timeout 1h;
    keepalive_requests 100000000;
    gzip off;
    server_names_hash_max_size 1024;
    client_body_temp_path {folder}/temp-body;
    proxy_temp_path {folder}/temp-proxy;
    fastcgi_temp_path {folder}/temp-fastcgi;
    scgi_temp_path {folder}/temp-scgi;
    uwsgi_temp_path {folder}/temp-uwsgi;
    server {{
        listen {port}{tls} backlog=8192;
        server_name ~(?<design>[0-9])(\\.example)?$;
        root {folder}/$design;
        index index.html;
        sub_filter "{mark}" $host;
        sub_filter_once on;
        {certificate}
    }}
}}
"""


class BroadServer:
    """A running server of the broad web; its sites are numbered from 0, and there are as many as one likes."""

    def __init__(self, folder: Path, pages: Pages, https: bool, port: int, process: subprocess.Popen[bytes]) -> None:
        self.pages = pages
        self._folder = folder
        self._https = https
        self._port = port
        self._process = process

    def seed(self, site: int) -> str:
        """Return the URL of a site's home page."""
        return f"{self.origin(host_of(site))}/"

    def origin(self, host: str) -> str:
        """Return how the URLs of a host begin: that of a site, or its address, at which it answers as well."""
        scheme, usual = ("https", 443) if self._https else ("http", 80)
        return f"{scheme}://{host}{'' if self._port == usual else f':{self._port}'}"

    @property
    def is_usual_port(self) -> bool:
        """Whether URLs have no port; they have one where the usual one cannot be had."""
        return self._port in (80, 443)

    def pids(self) -> list[int]:
        """Return the ids of nginx's master and worker."""
        master = self._process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text()
        return [master, *map(int, children.split())]

    def check(self) -> None:
        """Raise ClickException when nginx has ended."""
        if self._process.poll() is not None:
            raise click.ClickException(f"nginx has ended with {self._process.returncode}")

    def log(self) -> LogFile:
        """Return the log, to be read from its beginning."""
        return LogFile(self._folder / "access.log")


def host_of(site: int) -> str:
    """Return the name of a site."""
    return f"www.site{site}.example"


def address_of(site: int) -> str:
    """Return the address of a site, which no other site has."""
    network, last = divmod(site, _IN_NETWORK)
    second, third = divmod(network, _IN_NETWORK)
    return f"127.{20 + second}.{third}.{last + 1}"


class Library:
    """Folders with the page files, made when they are first asked for; all are removed at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Pages, Path] = {}

    def designs(self, pages: Pages) -> Path:
        """Return a folder with a folder for each design. Raises ClickException: there is no room."""
        if pages not in self._made:
            needed = DESIGNS * pages.count * pages.bytes
            room = shutil.disk_usage(self._folder).free * (1 - _PAGES_LEFT)
            if needed > room:
                raise click.ClickException(f"{self._folder} has no room for {needed / 1e6:.0f} MB of pages")
            folder = self._folder / f"pages-{len(self._made)}"
            _write_pages(folder, pages)
            self._made[pages] = folder
        return self._made[pages]


@contextmanager
def library() -> Iterator[Library]:
    """Keep page files in memory for a block (in a temporary folder where there is no /dev/shm)."""
    folder = Path(tempfile.mkdtemp(prefix="broadweb-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        folder.chmod(0o755)  # nginx's worker is another user
        yield Library(folder)
    finally:
        shutil.rmtree(folder)


def _write_pages(folder: Path, pages: Pages) -> None:
    for design in range(DESIGNS):
        root = folder / str(design)
        root.mkdir(parents=True)
        (root / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
        for page in range(pages.count):
            name = path_of(pages, page).removeprefix("/") or "index.html"
            (root / name).write_text(page_text(pages, page, design))


def why_not() -> str | None:
    """Tell why the broad web can't be served; None: it can."""
    return None if Path(NGINX).exists() else f"{NGINX} is missing (Debian: apt-get install nginx-light)"


@contextmanager
def serving(books: Library, pages: Pages, https: bool = False) -> Iterator[BroadServer]:
    """Serve a broad web within a block, with an empty log.

    nginx ends with the block, and by the kernel's hand when this program is killed. The usual port is taken where it is
    free and allowed, else another one.

    Raises:
        ClickException: nginx is missing or does not start.
    """
    if reason := why_not():
        raise click.ClickException(reason)
    designs = books.designs(pages)
    folder = Path(tempfile.mkdtemp(prefix="nginx-", dir=designs.parent))
    folder.chmod(0o755)
    for design in range(DESIGNS):
        (folder / str(design)).symlink_to(designs / str(design))
    port = _port(443 if https else 80)
    (folder / "nginx.conf").write_text(_config(folder, port, https))
    with _running(folder) as process:
        _await_listening(process, port, folder)
        yield BroadServer(folder, pages, https, port, process)


@contextmanager
def _running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    if shutil.which("setpriv"):  # else nginx outlives this program if that is killed
        command = ["setpriv", "--pdeathsig", "TERM", *command]
    process = None
    try:
        with uninterrupted(), (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        yield process
    finally:
        if process is not None:
            _end(process)
        shutil.rmtree(folder)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _config(folder: Path, port: int, https: bool) -> str:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    descriptors = _DESCRIPTORS if os.geteuid() == 0 or hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    return _CONFIG.format(
        user="user www-data;\n" if os.geteuid() == 0 else "",
        folder=folder,
        descriptors=descriptors,
        connections=descriptors - 100,
        flush=round(LOG_DELAY * 1000),
        port=port,
        tls=" ssl" if https else "",
        mark=HOST_MARK,
        certificate=_certificate(folder) if https else "",
    )


def _certificate(folder: Path) -> str:
    """Make a certificate that is signed by itself and return what says so in the configuration."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=broad.example", "-keyout", str(key), "-out", str(certificate)]
    if shutil.which("openssl") is None:
        raise click.ClickException("openssl is missing, which makes the certificate (Debian: apt-get install openssl)")
    made = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if made.returncode:
        raise click.ClickException(f"openssl makes no certificate: {made.stderr.strip()[-300:]}")
    return f"ssl_certificate {certificate}; ssl_certificate_key {key};"


def _port(usual: int) -> int:
    """Return the usual port if nobody has it and this user may, else one that is free."""
    for port in (usual, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended do not count
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise click.ClickException("no port is free")


def _await_listening(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    """Return when nginx takes connections. Raises ClickException: it has ended, or never does."""
    with suppress(StandsStillError):
        wait_for(lambda: process.poll() is not None or _listens(port), _START_SECONDS, "nginx listens")
    if process.poll() is None and _listens(port):
        return
    said = "".join(file.read_text() for file in (folder / "output.txt", folder / "error.log") if file.exists())
    raise click.ClickException(f"nginx does not start: {said.strip()[-500:] or 'it does not listen'}")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address_of(0), port)) == 0
