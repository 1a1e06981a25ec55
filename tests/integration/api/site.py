"""A small site on loopback, some of whose answers wait until a test lets them go."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

from tests.limits import HANGS

HTML = {"Content-Type": "text/html; charset=utf-8"}


class Answer(NamedTuple):
    body: bytes
    headers: Mapping[str, str] = HTML
    status: int = 200


def linking(title: str, *paths: str) -> Answer:
    links = "".join(f'<li><a href="{path}">to {path}</a>' for path in paths)
    return Answer(f"<!doctype html><title>{title}</title><p>This is {title}.</p><ul>{links}</ul>".encode())


def chain(pages: int) -> dict[str, Answer]:
    """Pages that lead from one to the next."""
    return {f"/{number}": linking(f"page {number}", f"/{number + 1}") for number in range(pages - 1)} | {
        f"/{pages - 1}": linking(f"page {pages - 1}")
    }


class Site:
    """Serves `answers`; those of `gated` paths wait until `opened` is set, and `held` says that one does."""

    def __init__(self, answers: Mapping[str, Answer], gated: frozenset[str] = frozenset()) -> None:
        self.asked: Counter[str] = Counter()
        self.held, self.opened = threading.Event(), threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

            def do_GET(self) -> None:
                site.asked[self.path] += 1
                if self.path in gated:
                    site.held.set()
                    site.opened.wait(HANGS)
                answer = answers.get(self.path, Answer(b"", HTML, 404))
                with suppress(ConnectionError):
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.root = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
