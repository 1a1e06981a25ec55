"""A small site of quotes, with authors and tags, on loopback: python site.py [PORT].

Ten quotes a page, from one page to the next; each tag has a page with its quotes as well, as on the site that tutorials
of crawlers use. What stands there is made up.
"""

from __future__ import annotations

import sys
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

PAGES, ON_A_PAGE = 50, 10
_WORDS = ("patience", "rain", "bread", "maps", "old letters", "a good chair", "winter", "the sea", "silence", "errors")
_SAYS = ("teaches more than", "is lighter than", "outlives", "begins with", "has little to do with")
_AUTHORS = ("A. Barley", "M. Ostrow", "Lí Đặng", 'J. "Quill" Penn', "R. & S. Holm")


class Quote(NamedTuple):
    """What a page shows of a quote."""

    text: str
    author: str
    tags: list[str]


def quote(number: int) -> Quote:
    """Make up a quote; two with different numbers differ."""
    first, second = _WORDS[number % 10], _WORDS[(number // 10 + number % 7 + 1) % 10]
    text = f"{first.capitalize()} {_SAYS[number % 5]} {second}, said number {number}."
    return Quote(text, _AUTHORS[number % len(_AUTHORS)], sorted({first.replace(" ", "-"), second.replace(" ", "-")}))


QUOTES = [quote(number) for number in range(PAGES * ON_A_PAGE)]


def _shown(one: Quote) -> str:
    tags = " ".join(f'<a class="tag" href="/tag/{tag}/">{tag}</a>' for tag in one.tags)
    return (
        f'<div class="quote"><span class="text">{escape(one.text)}</span>'
        f' by <small class="author">{escape(one.author)}</small><div class="tags">{tags}</div></div>'
    )


def page(path: str) -> str | None:
    """Return the page at a path; None where there is none."""
    parts = path.strip("/").split("/")
    if path == "/" or (parts[0] == "page" and len(parts) == 2 and parts[1].isdecimal()):
        number = 1 if path == "/" else int(parts[1])
        if not 1 <= number <= PAGES:
            return None
        shown = QUOTES[(number - 1) * ON_A_PAGE : number * ON_A_PAGE]
        more = f'<li class="next"><a href="/page/{number + 1}/">Next</a></li>' if number < PAGES else ""
    elif parts[0] == "tag" and len(parts) == 2:
        shown = [one for one in QUOTES if parts[1] in one.tags][:ON_A_PAGE]
        more = ""
    else:
        return None
    body = "\n".join(map(_shown, shown))
    return f"<!doctype html><meta charset=utf-8><title>Quotes</title>\n{body}\n<ul>{more}</ul>"


class Handler(BaseHTTPRequestHandler):
    """Serves the pages of the site."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer with a page, or 404."""
        text = page(self.path)
        body = (text or "<p>not found").encode()
        self.send_response(200 if text else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8700), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
