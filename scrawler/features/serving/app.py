"""The site behind HTTP: who may ask, how often, and how what it answers is sent."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from scrawler.features.inbound.rate import RateLimit
from scrawler.features.serving.catalogue import CatalogueError
from scrawler.features.serving.signing import FieldLines, Refused, SignedMessage, Verifier
from scrawler.features.serving.site import Answer, Site

_LONGEST_TARGET = 8_192
log = logging.getLogger(__name__)


class SiteApp:
    """The application: one route, whose answers come from the site."""

    def __init__(self, site: Site, verifier: Verifier | None, rate: RateLimit | None) -> None:
        self._site = site
        self._verifier = verifier
        self._rate = rate
        parts = urlsplit(site.base)
        self._origin = f"{parts.scheme}://{parts.netloc}"

    def starlette(self) -> Starlette:
        """Make the application."""
        return Starlette(routes=[_AnyPath("/", self.handle, methods=["GET", "HEAD"])])

    async def handle(self, request: Request) -> Response:
        """Answer a request."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        target, query = _target(request.scope)
        term = _term(query)
        try:
            answer = await run_in_threadpool(self._site.answer, target, query, request.headers, term)
        except CatalogueError as error:
            log.error("GET %s: %s", target[:200], error)
            return PlainTextResponse("the state of the site cannot be read\n", 503, {"Retry-After": "30"})
        except Exception as error:
            log.error("GET %s: %s: %s", target[:200], type(error).__name__, error)
            return PlainTextResponse("500\n", 500)
        return _Streamed(answer, with_body=request.method == "GET")

    def _refusal(self, request: Request) -> Response | None:
        client = request.client.host if request.client else ""
        wait = self._rate.wait(client) if self._rate is not None else 0.0
        if wait:
            return PlainTextResponse("too many requests\n", 429, {"Retry-After": str(int(wait) + 1)})
        target, query = _target(request.scope)
        if len(target) + len(query) > _LONGEST_TARGET:
            return PlainTextResponse("414\n", 414)
        if self._verifier is None:
            return None
        url = self._origin + target + (f"?{query}" if query else "")
        lines = FieldLines((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
        try:
            self._verifier.judge(SignedMessage(request.method, url, lines))
        except Refused as refused:
            return PlainTextResponse(f"{refused}\n", 401, {"WWW-Authenticate": "Signature"})
        return None


class _AnyPath(Route):
    """The route of all paths. Starlette's patterns take no line end, which a file may have in its name."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        is_allowed = self.methods is None or scope["method"] in self.methods
        return Match.FULL if is_allowed else Match.PARTIAL, {"endpoint": self.endpoint, "path_params": {}}


class _Streamed(Response):
    """An answer of which a piece at a time is in memory."""

    def __init__(self, answer: Answer, with_body: bool) -> None:
        headers = dict(answer.headers)
        if answer.status != 304 and answer.length is not None:
            headers["Content-Length"] = str(answer.length)
        self._answer = answer
        self._with_body = with_body and answer.status != 304
        self.status_code = answer.status
        self.background = None
        self.body = b""
        self.init_headers_of(headers)

    def init_headers_of(self, headers: Mapping[str, str]) -> None:
        """Set the headers as they are: none is added."""
        self.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces = iter(self._answer.pieces)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while self._with_body and (piece := await run_in_threadpool(_next, pieces)) is not None:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Exception as error:  # the connection ends in the middle: whoever asked knows that it is not all
            log.error("an answer cannot be sent to its end: %s: %s", type(error).__name__, error)
        finally:
            for made in (pieces, self._answer.pieces):
                close: Any = getattr(made, "close", None)
                if close is not None:
                    await run_in_threadpool(close)


def _next(pieces: Iterator[bytes]) -> bytes | None:
    for piece in pieces:
        if piece:
            return piece
    return None


def _target(scope: Scope) -> tuple[str, str]:
    """Return path and query as they stand in the request."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1"), scope.get("query_string", b"").decode("latin-1")


def _term(query: str) -> str:
    """Return what is searched for; a query that is too long, or has too many fields, asks for nothing."""
    if len(query) >= 2_000:
        return ""
    try:
        return parse_qs(query, max_num_fields=20).get("q", [""])[0]
    except ValueError:
        return ""
