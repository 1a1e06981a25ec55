"""A site that is served as its owner would, whose scans a test decides."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from scrawler.features.inbound.rate import RateLimit
from scrawler.features.inbound.sockets import serve
from scrawler.features.serving.app import SiteApp
from scrawler.features.serving.catalogue import Catalogue
from scrawler.features.serving.folder import Folder
from scrawler.features.serving.rows import Rows
from scrawler.features.serving.scanner import Scanner
from scrawler.features.serving.server import Limits, Tls, bound_at, make_server
from scrawler.features.serving.signing import Verifier
from scrawler.features.serving.site import Site
from scrawler.features.serving.templates import Templates
from tests.limits import HANGS

LONG_AGO = 1_700_000_000.0


class Published:
    """A folder, and its server."""

    def __init__(
        self, folder: Path, state: Path, base: str, rows: Rows | None, keep: int, list_page: int | None
    ) -> None:
        self.folder = folder
        self.base = base
        self.files = Folder(folder)
        self.catalogue = Catalogue(state)
        self.scanner = Scanner(self.catalogue, self.files, rows, keep=keep)
        self.site = Site(base, self.catalogue, self.files, rows, Templates(None), 1 << 20, list_page)

    def write(self, path: str, text: str, at: float = LONG_AGO) -> None:
        """Write a file, with that date."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (at, at))

    def scan(self) -> int:
        """Scan once; return how much is new or has changed."""
        changed = self.scanner.scan(threading.Event())
        assert changed is not None
        return changed

    def get(self, path: str, **headers: str) -> bytes:
        """Ask for a path; return the body of an answer with 2xx."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with urlopen(Request(self.base + path, headers=named), timeout=HANGS) as answer:
            return bytes(answer.read())


@contextmanager
def publishing(
    folder: Path,
    state: Path,
    *,
    rows: Rows | None = None,
    verifier: Verifier | None = None,
    rate: RateLimit | None = None,
    limits: Limits | None = None,
    tls: Tls | None = None,
    keep: int = 1_000_000,
    list_page: int | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Published]:
    """Serve a folder at a free port."""
    folder.mkdir(exist_ok=True)
    limits = limits or Limits()
    listener = bound_at(host, 0, limits)[0]
    scheme = "https" if tls else "http"
    base = f"{scheme}://{host}:{listener.getsockname()[1]}/"
    made = Published(folder, state, base, rows, keep, list_page)
    ready = threading.Event()
    app: Any = SiteApp(made.site, verifier, rate).starlette()
    server = make_server(app, tls=tls, limits=limits, ready=lambda _port: ready.set())
    thread = threading.Thread(target=serve, args=(server, [listener]), name="serve-site")
    thread.start()
    try:
        assert ready.wait(HANGS)
        yield made
    finally:
        server.should_exit = True
        thread.join()
        made.files.close()
