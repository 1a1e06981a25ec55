"""The web that the pages of the documentation speak of: every host of it, behind a proxy on loopback."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.integration.fetch.servers import Certificates

_PATHS = ("/page", "/some/page", "/prices", "/archive/", "/gone")
_SCRIPTED = b'<title>app</title><div id="root"></div>' + b"<script>start()</script>" * 3


class DocsWeb:
    """Serves the same few pages for every host, https as well; `/prices` says something else each time."""

    def __init__(self, folder: Path) -> None:
        self.asked: Counter[str] = Counter()
        context = Certificates(folder).server_context()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            host = ""

            def do_CONNECT(self) -> None:
                self.host = f"https://{self.path.removesuffix(':443')}"
                self.send_response(200)
                self.end_headers()
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                self.close_connection = False

            def do_GET(self) -> None:
                status, body = web._answer(f"{self.host}{self.path}")
                self.send_response(status)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle(self) -> None:
                with suppress(OSError):  # the crawler has ended
                    super().handle()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.proxy = f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, url: str) -> tuple[int, bytes]:
        self.asked[url] += 1
        parts = urlsplit(url)
        if parts.path in ("/robots.txt", "/gone"):
            return 404, b"there is no such page"
        if parts.hostname == "app.example":
            return 200, _SCRIPTED
        links = "".join(f'<a href="{path}">to {path}</a> ' for path in _PATHS if parts.path == "/")
        if parts.hostname == "example.org":
            links += '<a href="https://found.example/">another site</a>'
        count = self.asked[url] if parts.path == "/prices" else 0
        text = f"<title>{parts.path}</title><p>This is {parts.path} of {parts.hostname}. It costs {count}.</p>"
        return 200, f"<!doctype html>{text}<p>{links}</p>".encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
