from __future__ import annotations

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.e2e.conftest import TIMEOUT


class GatedSite:
    """A site of linked pages that answers so many requests, and the others only once it is opened."""

    def __init__(self, pages: int, answered_at_once: int) -> None:
        self.asked: list[str] = []
        self.held = threading.Event()  # the first request that has to wait is there
        self.opened = threading.Event()
        site, links = self, "".join(f'<a href="/{number}">{number}</a>' for number in range(pages))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path != "/robots.txt":
                    site.asked.append(self.path)
                    if len(site.asked) > answered_at_once:
                        site.held.set()
                        site.opened.wait(TIMEOUT)
                found = self.path != "/robots.txt"
                body = links.encode() if found else b""
                with suppress(ConnectionError):
                    self.send_response(200 if found else 404)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.seed = f"http://127.0.0.1:{self._server.server_port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
