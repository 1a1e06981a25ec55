"""The webs that crawlers are sent to, each with its server's log and, where it is known, the truth."""

from __future__ import annotations

import shutil
import socket
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import nan
from typing import NamedTuple, Protocol

from experiments.broadweb import server as broadweb
from experiments.broadweb.log import Request
from experiments.broadweb.pages import Pages, path_of
from experiments.docsweb.server import DocsServer, serving
from experiments.docsweb.sites import SITES, Site, home_urls, missing_packages
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.features.synthweb.web import Kind
from tests.torture.crawl import wait_for

_ROBOTS = "/robots.txt"
_MARKING_HOST = "mark0.example"  # is none of the sites
_LOG_SECONDS = 60.0


class Answer(NamedTuple):
    """One answered request, robots.txt apart."""

    at: float  # seconds since 1970
    url: str
    is_page: bool  # an HTML page was delivered
    came: float = nan  # when it was asked for, in seconds since 1970; nan where the log does not say


class Web(Protocol):
    """A served web; `truth` holds the pages that a crawl must find, None where only the crawlers can tell."""

    name: str
    gentle: bool
    delay: float
    truth: frozenset[str] | None
    seeds: list[str]

    def pids(self) -> list[int]:
        """Return the server's processes."""

    def mark(self) -> int:
        """Return where the log ends now."""

    def answers(self, mark: int) -> list[Answer]:
        """Return what was answered after a mark."""


class SynthWeb:
    """A synthetic web; its truth is known."""

    delay = 0.0

    def __init__(self, name: str, server: SynthServer, gentle: bool) -> None:
        self.name = name
        self.gentle = gentle
        self._server = server
        self.seeds = server.web.seeds()
        self.truth: frozenset[str] | None = frozenset().union(*(party(server.web, url).pages for url in self.seeds))

    def pids(self) -> list[int]:
        """Return the server's process."""
        return [self._server.pid]

    def mark(self) -> int:
        """Return the number of lines."""
        return len(self._server.log())

    def answers(self, mark: int) -> list[Answer]:
        """Return what was answered after a mark."""
        lines = (line for line in self._server.log()[mark:] if not line.url.endswith(_ROBOTS))
        return [Answer(line.at, line.url, line.status == 200 and self._is_page(line.url), line.came) for line in lines]

    def _is_page(self, url: str) -> bool:
        return self._server.web.target(url).kind is Kind.PAGE


class DocsWeb:
    """The documentation sites, served by nginx; what is there, only a crawl can tell."""

    name = "docsweb"
    gentle = False
    delay = 0.0
    truth: frozenset[str] | None = None

    def __init__(self, server: DocsServer) -> None:
        self._server = server
        self.seeds = home_urls(server.port, server.sites)

    def pids(self) -> list[int]:
        """Return nginx's processes."""
        return self._server.pids()

    def mark(self) -> int:
        """Return the log's size."""
        return self._server.log.mark()

    def answers(self, mark: int) -> list[Answer]:
        """Return what was answered after a mark."""
        entries = (entry for entry in self._server.log.entries(mark) if not entry.is_robots)
        return [Answer(entry.at, entry.url, entry.is_page) for entry in entries]


class BroadWeb:
    """Many small sites on one nginx, each named by its address, as not every crawler can be told where names are."""

    name = "broad"
    gentle = True

    def __init__(self, server: broadweb.BroadServer, sites: int, delay: float) -> None:
        self.delay = delay
        self._server = server
        self._log = server.log()
        self._read: list[Request] = []
        self._marks = 0
        origins = [server.origin(broadweb.address_of(site)) for site in range(sites)]
        self.seeds = [f"{origin}/" for origin in origins]
        paths = [_logged(path_of(server.pages, page)) for page in range(server.pages.count)]
        self.truth: frozenset[str] | None = frozenset(origin + path for origin in origins for path in paths)

    def pids(self) -> list[int]:
        """Return nginx's processes."""
        return self._server.pids()

    def mark(self) -> int:
        """Return the number of requests."""
        self._read_all()
        return len(self._read)

    def answers(self, mark: int) -> list[Answer]:
        """Return what was answered after a mark."""
        self._read_all()
        return [
            Answer(one.at, self._server.origin(one.host) + one.path, one.is_page)
            for one in self._read[mark:]
            if one.path != _ROBOTS and one.host != _MARKING_HOST
        ]

    def _read_all(self) -> None:
        """Read the log up to a request of our own: nginx, which writes it late, has one worker, and so one order."""
        self._marks += 1
        path = f"/mark-{self._marks}"
        url = self._server.origin(broadweb.address_of(0)) + path
        with suppress(urllib.error.HTTPError):  # there is no such page
            urllib.request.urlopen(urllib.request.Request(url, headers={"Host": _MARKING_HOST})).close()
        wait_for(lambda: self._saw(path), _LOG_SECONDS, "nginx writes its log")

    def _saw(self, path: str) -> bool:
        self._read += self._log.new()
        return any(one.path == path and one.host == _MARKING_HOST for one in reversed(self._read))


def _logged(path: str) -> str:
    """Return a path as nginx logs it: the home page by the name of its file."""
    return "/index.html" if path == "/" else path


@contextmanager
def broad(sites: int, pages: Pages, delay: float) -> Iterator[Web]:
    """Serve the broad web within a block."""
    with broadweb.library() as books, broadweb.serving(books, pages) as server:
        yield BroadWeb(server, sites, delay)


@contextmanager
def synthetic(name: str, spec: WebSpec, gentle: bool = False) -> Iterator[Web]:
    """Serve a synthetic web within a block."""
    with SynthServer(spec) as server:
        yield SynthWeb(name, server, gentle)


@contextmanager
def docsweb(sites: Sequence[Site] = SITES) -> Iterator[Web]:
    """Serve the documentation sites within a block, at a port that nobody has."""
    with socket.socket() as probe:
        probe.bind((sites[0].address, 0))
        port = int(probe.getsockname()[1])
    folder = DocsServer(port, sites).folder  # is named by the port, which is another one next time
    try:
        with serving(port, sites) as server:
            yield DocsWeb(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # is not there if the packages are missing


def docsweb_why_not() -> str | None:
    """Tell why the documentation sites can't be served; None: they can."""
    packages = missing_packages()
    return f"{', '.join(packages)} missing (python -m experiments.docsweb setup)" if packages else None


def pages_of(answers: Iterable[Answer]) -> set[str]:
    """Return the pages among some answers."""
    return {answer.url for answer in answers if answer.is_page}
