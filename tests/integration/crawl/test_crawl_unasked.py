"""Answers that nobody asked for: each page has what its own URL says, with and without pauses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.integration.crawl.hostile import NOT_FOUND, asked, page, run_whole
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS
from tests.plugged import importable, install

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
LINKS = tuple(f"/p{number}" for number in range(4))
_CODE = """
from scrawler.fetch.curl import CurlDownloader

class Late(CurlDownloader):
    def start(self, request):
        before_start(request.url)
        super().start(request)

def before_start(url):
    pass
"""


@pytest.fixture
def package(tmp_path: Path) -> Iterator[ModuleType]:
    """A package whose downloader waits before it starts a request for as long as a test wants."""
    install(tmp_path, "late-downloader", _CODE, {"scrawler.downloaders:late": "Late"})
    with importable(tmp_path):
        import late_downloader

        yield late_downloader


def test_an_answer_is_disbelieved_as_the_next_request_finds_its_own(
    crawl: Crawl, serve: Serve, package: ModuleType
) -> None:
    """The answer of /p1 comes after another one was taken for it, and before it was read."""
    let_go, is_there = threading.Event(), threading.Event()

    def script(visit: Visit) -> None:
        visit.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while head := visit.request():
            path = path_of(head)
            if path == "/p1" and not let_go.is_set():
                visit.send(page("nobody asked"))
                let_go.wait(HANGS)
            visit.send(page("/", links=LINKS) if path == "/" else NOT_FOUND if path not in LINKS else page(path))
            if let_go.is_set():
                is_there.set()

    def before_start(url: str) -> None:
        if url.endswith("/p2"):
            let_go.set()
            assert is_there.wait(HANGS)

    package.before_start = before_start
    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, threads=1, delay=0.0, retries=0, downloader="late")
    with crawl.opened() as opened:
        bodies = {one.url: one.body.decode() for one in opened.pages()}
    assert {path: bodies[server.url(path)] for path in LINKS} == {path: path for path in LINKS}
    assert asked(server) == {"/robots.txt": 1, "/": 1, "/p0": 1, "/p1": 2, "/p2": 1, "/p3": 1}
