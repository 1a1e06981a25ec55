"""Serves the figures of a crawl to Prometheus, in the form of OpenMetrics; they are read from the database.

So they are those of all machines of the crawl, on whatever host, and the same wherever they are asked for. Who asks
more often than they can be read gets those that were read last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from math import inf
from socket import AF_INET, AF_INET6, SHUT_RDWR, AddressFamily, socket
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrawler.api.log import LOG
from scrawler.app import patiently_opened
from scrawler.core.progress import Progress
from scrawler.errors import ScrawlerError, SettingsError, StoreError
from scrawler.features.metrics.figures import Figures, MachineFigures, read_figures
from scrawler.features.metrics.inside import copies_families, inside_families
from scrawler.model.machines import LEASE
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database
from scrawler.threads import start

_LOOPBACK = "127.0.0.1"
_LONGER = 20.0  # how much longer the time between two readings is than one
_PATIENCE = 5.0  # seconds that somebody may take to ask
_MOST_CONNECTIONS = 32  # each has a thread

# name, kind, what it says, and its value of a machine, or None before it is known
_OF_MACHINES: tuple[tuple[str, str, str, Callable[[MachineFigures], float | None]], ...] = (
    ("machine_up", "gauge", "1: the machine lives", lambda one: one.alive),
    ("pages", "counter", "Pages fetched and committed.", lambda one: one.pages),
    ("page_bytes", "counter", "Bytes of bodies over the wire, of committed pages.", lambda one: one.bytes),
    ("errors", "counter", "URLs that failed.", lambda one: one.errors),
    ("refused_pages", "counter", "Pages fetched again: sites were taken over.", lambda one: one.refused),
    ("uncommitted_records", "counter", "Records fetched again: never committed.", lambda one: one.uncommitted),
    ("checkpoints", "counter", "Checkpoints committed.", lambda one: one.checkpoints),
    ("places_held", "gauge", "Seeds held by collectors.", lambda one: one.held),
    ("places_free", "gauge", "Seeds that could be held beside them.", lambda one: max(0, one.capacity - one.held)),
    ("queue_seeds", "gauge", "Seeds in the queue of the machine.", lambda one: one.queued),
    ("memory_bytes", "gauge", "Resident memory at the last heartbeat.", lambda one: one.memory or None),
    ("lease_left_seconds", "gauge", "Until its lease ends.", lambda one: max(0, LEASE - one.silent_ms) / 1000),
)


class MetricsAddress(NamedTuple):
    """Where figures are served."""

    host: str
    port: int


def metrics_address(text: str) -> MetricsAddress:
    """Read `[HOST:]PORT`; without a host it is loopback. Raises SettingsError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else _LOOPBACK
    if not host or not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65_535:
        raise SettingsError(f"--metrics {text or '(nothing)'}: write [HOST:]PORT, as 9464 or 0.0.0.0:9464")
    return MetricsAddress(host, int(port))


@contextmanager
def metrics_served(
    settings: Settings,
    stop: threading.Event,
    address: MetricsAddress,
    inside: Callable[[], Progress | None] = lambda: None,
) -> Iterator[None]:
    """Serve figures at `/metrics`, and at `/health` whether machines live, during the block.

    `inside` returns the newest progress of the machines that work here: it tells what the database does not know.
    Raises SettingsError where nothing can be served there, or what it needs is not installed; StoreError.
    """
    exposition = _exposition()
    with patiently_opened(settings, stop, LOG.warning) as database, _server(address) as server:
        server.reading = _Reading(database, inside)
        server.exposition = exposition
        host = f"[{address.host}]" if ":" in address.host else address.host
        LOG.info("metrics are at http://%s:%d/metrics", host, server.server_address[1])
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.2), name="metrics")
        start(thread)
        try:
            yield
        finally:
            server.hang_up()
            server.shutdown()
            thread.join()
            server.join()


def _exposition() -> Any:
    try:
        return import_module("prometheus_client.exposition")
    except ImportError as error:
        raise SettingsError("--metrics needs prometheus_client: pip install 'seed-scrawler[metrics]'") from error


def _server(address: MetricsAddress) -> _Server:
    try:
        return _Server(address)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ScrawlerError(f"metrics cannot be served at {address.host}:{address.port}: {why}") from error


class _Reading:
    """The figures as they were last read; it is a collector of prometheus_client."""

    def __init__(self, database: Database, inside: Callable[[], Progress | None]) -> None:
        self._database = database
        self._inside = inside
        self._due = -inf
        self._figures: Figures | None = None
        self._took = 0.0
        self._turn = threading.Lock()  # who asks meanwhile waits, and gets what was read
        self._checkpoints: dict[str, tuple[int, float]] = {}  # machine -> how many, and when that was first seen

    def figures(self) -> Figures:
        """Return them. Raises StoreError."""
        with self._turn:
            return self._read()

    def _read(self) -> Figures:
        begun = time.monotonic()
        if self._figures is None or begun >= self._due:
            self._figures = read_figures(self._database)
            now = time.monotonic()
            self._took = now - begun
            self._due = now + _LONGER * self._took
            seen = self._checkpoints
            self._checkpoints = {
                one.name: seen[one.name]
                if seen.get(one.name, (-1, 0.0))[0] == one.checkpoints
                else (one.checkpoints, now)
                for one in self._figures.machines
            }
        return self._figures

    def collect(self) -> Iterator[Any]:
        """Yield the families of metrics. Raises StoreError."""
        figures = self.figures()
        core = import_module("prometheus_client.core")
        kinds = {"counter": core.CounterMetricFamily, "gauge": core.GaugeMetricFamily}
        for name, kind, text, value in _OF_MACHINES:
            family = kinds[kind](f"scrawler_{name}", text, labels=("machine", "host"))
            for one in figures.machines:
                if (figure := value(one)) is not None:
                    family.add_metric((one.name, one.host), figure)
            yield family
        age = core.GaugeMetricFamily(
            "scrawler_checkpoint_age_seconds", "Since a checkpoint was seen.", labels=("machine",)
        )
        for name, (_, at) in self._checkpoints.items():
            age.add_metric((name,), time.monotonic() - at)
        yield age
        inside = self._inside()
        yield from inside_families(inside, {str(one.id): one.name for one in figures.machines})
        yield from copies_families(inside)
        counts = dict(figures.counts)
        waited = counts.pop("wait_ms") / 1000
        for name, label, text, values in (
            ("machines", "state", "Machines of the crawl, all that ever were.", figures.states),
            ("seeds", "state", "Seeds by end reason, by state where they have none.", figures.seeds),
            ("results", "count", "Sums of what came of all seeds, as `scrawler report` has them.", counts),
        ):
            family = core.GaugeMetricFamily(f"scrawler_{name}", text, labels=(label,))
            for word, number in values.items():
                family.add_metric((word,), number)
            yield family
        yield core.GaugeMetricFamily("scrawler_sites_resting", "Sites left alone for a while.", figures.resting.sites)
        yield core.GaugeMetricFamily("scrawler_polite_wait_seconds", "Seeds waited so long out of politeness.", waited)
        left = figures.resting.next_ms / 1000
        yield core.GaugeMetricFamily("scrawler_rest_left_seconds", "Until the first of them is asked again.", left)
        yield core.GaugeMetricFamily("scrawler_read_seconds", "What it took to read these figures.", self._took)


class _Server(HTTPServer):
    """Answers each request in a thread of its own, so that who is silent keeps nobody else waiting.

    Of too many connections the oldest that has not asked yet is cut off.
    """

    reading: _Reading
    exposition: Any
    address_family: AddressFamily
    request_queue_size = 2 * _MOST_CONNECTIONS  # who finds no room there asks again after a second, three, and seven

    def __init__(self, address: MetricsAddress) -> None:
        self.address_family = AF_INET6 if ":" in address.host else AF_INET
        self._open = True
        self._lock = threading.Lock()  # guards what follows
        self._silent: dict[socket, float] = {}  # connections that have not asked, and when that is too late
        self._answering: dict[socket, threading.Thread] = {}  # all connections
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Have a request answered, unless the server is about to close, or has no room."""
        thread = threading.Thread(target=self._answer, args=(request, client_address), name="metrics-answer")
        with self._lock:
            has_room = len(self._answering) < _MOST_CONNECTIONS
            if not has_room and self._silent:
                _cut(next(iter(self._silent)))
                del self._silent[next(iter(self._silent))]
                has_room = len(self._answering) < 2 * _MOST_CONNECTIONS
            if self._open and has_room:
                self._silent[request] = time.monotonic() + _PATIENCE
                self._answering[request] = thread
        try:
            if request not in self._answering:
                return self.shutdown_request(request)
            start(thread)
        except BaseException:
            self._forget(request)
            raise
        return None

    def _forget(self, request: Any) -> None:
        with self._lock:
            self._silent.pop(request, None)
            self._answering.pop(request, None)

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except Exception:
            self.handle_error(request, client_address)
        finally:
            self._forget(request)
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Cut those off who do not get round to ask: each byte of a request may come in time, and its end never."""
        now = time.monotonic()
        with self._lock:
            for request in [one for one, until in self._silent.items() if until < now]:
                del self._silent[request]
                _cut(request)

    def heard(self, request: Any) -> None:
        """Note that a request has come as a whole: how long the answer takes is not for the asker to say."""
        with self._lock:
            self._silent.pop(request, None)

    def hang_up(self) -> None:
        """Answer nobody any more: who is slow to ask, or to listen, keeps no crawl open."""
        with self._lock:
            self._open = False
            for request in self._answering:
                _cut(request)

    def join(self) -> None:
        """Wait for those that answer, once the server takes nobody any more."""
        with self._lock:
            threads = list(self._answering.values())
        for thread in threads:
            thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who went away, or said what is no request."""


def _cut(connection: socket) -> None:
    with suppress(OSError):  # it may be closed by now
        connection.shutdown(SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE
    server: _Server

    def do_GET(self) -> None:
        self.server.heard(self.connection)
        paths = {"/metrics": self._metrics, "/health": self._health}
        answer = paths.get(urlsplit(self.path).path)
        if answer is None:
            self._say(404, "text/plain; charset=utf-8", b"here are /metrics and /health\n")
            return
        try:
            answer()
        except StoreError as error:
            self._say(503, "text/plain; charset=utf-8", f"the database cannot be read: {error}\n".encode())

    do_HEAD = do_GET  # noqa: N815, as http.server wants it

    def _metrics(self) -> None:
        encode, kind = self.server.exposition.choose_encoder(self.headers.get("Accept", ""))
        self._say(200, kind, encode(self.server.reading))

    def _health(self) -> None:
        living = sum(one.alive for one in self.server.reading.figures().machines)
        words = f"{living} {'machine lives' if living == 1 else 'machines live'}\n"
        self._say(200 if living else 503, "text/plain; charset=utf-8", words.encode())

    def _say(self, status: int, kind: str, body: bytes) -> None:
        with suppress(OSError):  # who asked may have gone away
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests."""
