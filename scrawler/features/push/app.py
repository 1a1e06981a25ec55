"""The endpoints: each message is limited, read, handed to whoever judges it, and answered.

Nothing here remembers who somebody is from one request to the next: there are no cookies, and so nothing that a page of
somebody else could make a browser do in its owner's name. Whatever a token allows has to be sent with it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from scrawler.errors import StoreError
from scrawler.features.inbound.rate import RateLimit, client_key
from scrawler.features.push import pages
from scrawler.features.push.intake import Intake, Reply, new_key, urls_of
from scrawler.features.push.owners import OwnerDesk, home_of, is_token
from scrawler.features.push.troubles import Troubles
from scrawler.features.push.websub import Callbacks
from scrawler.urls.scope import origin

_BODY_TIME = 10.0  # seconds in which a body is to be there
_AT_WORK = 48  # messages that are read and judged at the same time; others are asked to come again
_AT_WORK_EACH = 12  # of them of one client: who sends slowly, or what takes long, leaves room for the others
_MOST_FIELDS = 10_100  # of a form
_NO_SITE = "No site is known for that token, or not any more."
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _Refused(Exception):
    """A message is not looked at any further."""

    def __init__(self, reply: Reply, retry_after: float = 0.0) -> None:
        super().__init__(reply.text)
        self.reply = reply
        self.retry_after = retry_after


class Endpoints:
    """What answers."""

    def __init__(
        self,
        intake: Intake,
        callbacks: Callbacks,
        desk: OwnerDesk,
        crawler: str,
        largest: int,
        by_address: RateLimit,
        troubles: Troubles,
    ) -> None:
        """A message may have `largest` bytes."""
        self._troubles = troubles
        self._intake = intake
        self._callbacks = callbacks
        self._desk = desk
        self._crawler = crawler
        self._largest = largest
        self._by_address = by_address
        self._at_work: Counter[str] = Counter()  # by client

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/indexnow", self._guarded(self.indexnow), methods=["GET", "POST"]),
            Route("/ping", self._guarded(self.ping), methods=["POST"]),
            Route("/websub/{token}", self._guarded(self.verify), methods=["GET"]),
            Route("/websub/{token}", self._guarded(self.deliver), methods=["POST"]),
            Route("/submit", self._guarded(self.start), methods=["GET"]),
            Route("/submit", self._guarded(self.submit), methods=["POST"]),
            Route("/submit/start", self._guarded(self.prove), methods=["POST"]),
            Route("/submit/state", self._guarded(self.state), methods=["POST"]),
            Route("/health", self.health, methods=["GET"]),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: _plain_error})

    def _guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                client = self._let_in(request)
                self._at_work[client] += 1
                try:
                    response = await answer(request)
                finally:
                    self._at_work[client] -= 1
                    if not self._at_work[client]:
                        del self._at_work[client]
            except _Refused as refused:
                response = _told(refused.reply)
                if refused.retry_after:
                    response.headers["Retry-After"] = str(int(refused.retry_after) + 1)
                if refused.reply.status in (400, 408, 413):
                    response.headers["Connection"] = "close"  # what is left of the body is no next request
            except StoreError as error:
                self._troubles.note(error)
                response = _told(Reply(503, "nothing can be kept just now: send it once more later"))
                response.headers["Retry-After"] = "10"
            response.headers.update(_HEADERS)
            return response

        return guarded

    def _let_in(self, request: Request) -> str:
        """Return by what the client is counted. Raises _Refused for what nobody should look at."""
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            raise _Refused(Reply(400, "its length is told in two ways"))
        for name in ("content-length", "host", "transfer-encoding"):
            if len(request.headers.getlist(name)) > 1:
                raise _Refused(Reply(400, f"{name} is told more than once"))
        address = request.client.host if request.client else ""
        wait = self._by_address.wait(address)
        if wait:
            raise _Refused(Reply(429, "too many messages from this address"), wait)
        client = client_key(address)
        if self._at_work.total() >= _AT_WORK or self._at_work[client] >= _AT_WORK_EACH:
            raise _Refused(Reply(503, "too many messages at a time"), 1.0)
        return client

    async def _body(self, request: Request) -> bytes:
        """Read a body. Raises _Refused."""
        announced = request.headers.get("content-length", "0")
        if announced.isdigit() and int(announced) > self._largest:
            raise _Refused(Reply(413, f"more than {self._largest:,} bytes"))
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise _Refused(Reply(415, "a body is to come as it is, not compressed"))
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_TIME):
                async for piece in request.stream():
                    body += piece
                    if len(body) > self._largest:
                        raise _Refused(Reply(413, f"more than {self._largest:,} bytes"))
        except TimeoutError as error:
            raise _Refused(Reply(408, f"a body is to be there within {_BODY_TIME:g} seconds")) from error
        except ClientDisconnect as error:
            raise _Refused(Reply(400, "the connection has ended")) from error
        return bytes(body)

    # -- servers -------------------------------------------------------------------------------------------

    async def indexnow(self, request: Request) -> Response:
        """Take a URL, or a list of them, by IndexNow."""
        if request.method == "GET":
            query = request.query_params
            values: Mapping[str, Any] = query
            urls: Any = [query["url"]] if "url" in query else None
        else:
            values = _json_object(await self._body(request))
            urls = values.get("urlList")
            if not isinstance(values.get("host"), str):
                raise _Refused(Reply(400, "host is wanted"))
        sender = client_key(request.client.host) if request.client else ""
        arguments = values.get("host"), values.get("key"), values.get("keyLocation"), urls, sender
        return _told(await run_in_threadpool(self._intake.indexnow, *arguments))

    async def ping(self, request: Request) -> Response:
        """Take URLs with a key: as JSON, as lines, or as fields of a form."""
        body = await self._body(request)
        key = _bearer(request.headers)
        try:
            if _is_form(request.headers) and not body.lstrip().startswith(b"{"):  # many senders call JSON a form
                fields = _fields(body)
                key = key or next((value for name, value in fields if name == "key"), "")
                urls = [value for name, value in fields if name == "url"]
            else:
                urls = urls_of(body)
        except (ValueError, RecursionError) as error:
            raise _Refused(Reply(400, "URLs are wanted: JSON, lines, or a form")) from error
        return _told(await run_in_threadpool(self._intake.ping, key, urls))

    async def verify(self, request: Request) -> Response:
        """Answer a hub that asks whether a subscription is wanted."""
        token = request.path_params["token"]
        reply = await run_in_threadpool(self._callbacks.verify, token, dict(request.query_params))
        return PlainTextResponse(reply.text, reply.status)

    async def deliver(self, request: Request) -> Response:
        """Take what a hub distributes."""
        body = await self._body(request)
        token, headers = request.path_params["token"], request.headers
        arguments = token, headers.get("x-hub-signature", ""), headers.get("content-type", ""), body
        return _told(await run_in_threadpool(self._callbacks.deliver, *arguments))

    # -- owners --------------------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """Show where an owner begins."""
        return HTMLResponse(pages.start_page(self._crawler))

    async def prove(self, request: Request) -> Response:
        """Make a token, and show how a site is shown to be its owner's."""
        fields = dict(await self._own_form(request))
        home = home_of(fields.get("site", ""))
        if not home:
            return HTMLResponse(pages.start_page(self._crawler, "Write the host of your site, or a URL of it."), 400)
        site = await run_in_threadpool(self._desk.site, home)
        if site is None:
            problem = "This crawler does not know that site, or the host is not all of it."
            return HTMLResponse(pages.start_page(self._crawler, problem), 422)
        return HTMLResponse(pages.prove_page(self._known_home(home, site.homes), new_key()))

    @staticmethod
    def _known_home(home: str, homes: tuple[str, ...]) -> str:
        """Return the home of a site with the scheme by which the crawl knows it."""
        host = home.partition("://")[2]
        return next((origin(one) + "/" for one in homes if origin(one).partition("://")[2] + "/" == host), home)

    async def submit(self, request: Request) -> Response:
        """Take URLs of an owner."""
        if not _is_form(request.headers):
            return await self._submit_json(request)
        fields = dict(await self._own_form(request))
        token, home = fields.get("token", ""), home_of(fields.get("site", ""))
        urls, window, method = fields.get("urls", ""), fields.get("window", ""), fields.get("proof", "")
        if not is_token(token) or not home:
            return HTMLResponse(pages.start_page(self._crawler, "Begin here: the token is none of ours."), 401)
        lines = urls.split()
        done = await run_in_threadpool(self._desk.submit, token, home, method, lines, window)
        if done.owner is None:
            page = pages.prove_page(home, token, done.reply.text, urls, window, method)
            return HTMLResponse(page, done.reply.status)
        report = await run_in_threadpool(self._desk.report, done.owner)
        return HTMLResponse(pages.state_page(done.owner, token, report, done.reply.text), done.reply.status)

    async def _submit_json(self, request: Request) -> Response:
        values = _json_object(await self._body(request))
        urls, window = values.get("urls", []), values.get("window")
        if not (isinstance(urls, list) and all(isinstance(url, str) for url in urls)):
            raise _Refused(Reply(400, "urls is to be a list of URLs"))
        if not (window is None or isinstance(window, str)):
            raise _Refused(Reply(400, "window is a time of the day, as 02:00-05:00"))
        token = _bearer(request.headers) or str(values.get("token", ""))
        home = home_of(str(values.get("site", "")))
        if not home:
            raise _Refused(Reply(400, "site is a host, or a URL"))
        arguments = token, home, str(values.get("proof", "")), urls, window
        done = await run_in_threadpool(self._desk.submit, *arguments)
        return _told(done.reply)

    async def state(self, request: Request) -> Response:
        """Show how the site of an owner stands."""
        token = dict(await self._own_form(request)).get("token", "")
        owner = await run_in_threadpool(self._desk.owner, token)
        if owner is None:
            return HTMLResponse(pages.start_page(self._crawler, _NO_SITE), 401)
        report = await run_in_threadpool(self._desk.report, owner)
        return HTMLResponse(pages.state_page(owner, token, report))

    async def _own_form(self, request: Request) -> list[tuple[str, str]]:
        """Read a form of one of our own pages. Raises _Refused."""
        site, sender = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        ours = sender is None or sender.partition("://")[2] == request.headers.get("host")
        if not ours or site not in (None, "same-origin", "none"):
            raise _Refused(Reply(403, "the form is of a page of somebody else"))
        try:
            return _fields(await self._body(request))
        except ValueError as error:
            raise _Refused(Reply(400, "that is no form")) from error

    async def health(self, request: Request) -> Response:
        """Tell that it is there."""
        return PlainTextResponse("alive\n")


def _told(reply: Reply) -> Response:
    return JSONResponse({"status": reply.status, "detail": reply.text, "accepted": reply.accepted}, reply.status)


async def _plain_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return PlainTextResponse(f"{status}\n", status, headers=_HEADERS)


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refused(Reply(400, "that is no JSON")) from error
    if not isinstance(value, dict):
        raise _Refused(Reply(400, "an object is wanted"))
    return value


def _is_form(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/x-www-form-urlencoded"


def _fields(body: bytes) -> list[tuple[str, str]]:
    text = body.decode("ascii")
    return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace")


def _bearer(headers: Headers) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""
