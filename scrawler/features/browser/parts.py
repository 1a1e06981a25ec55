"""What a page in the browser asks for, and what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

from scrawler.features.browser.limits import BrowserLimits
from scrawler.fetch.downloader import Response
from scrawler.fetch.wire import header_values

_FIELDS_LEFT_OUT = frozenset(  # they speak of the transfer, or would have the browser ask by itself
    {"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "alt-svc", "nel"}
    | {"report-to", "reporting-endpoints", "content-disposition", "set-cookie"}
)


class Wanted(NamedTuple):
    """What a page asks for."""

    url: str
    kind: str  # "script", "stylesheet", "xhr" or "fetch"
    headers: Mapping[str, str]  # names in lower case
    cookies: Callable[[str], Awaitable[str]]  # of a URL, as the value of a header


class Given(NamedTuple):
    """What the browser is given for that; `headers` as `given` makes them."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Parts(Protocol):
    """Answers what one page asks for."""

    limits: BrowserLimits  # of the page's host
    user_agent: str
    answers: list[Response]  # those of servers so far
    exhausted: asyncio.Event  # is set when the page asks again and again for more than it may have

    async def ask(self, wanted: Wanted) -> Given | None:
        """Return what a page is given; None: nothing, as it was refused or did not come."""

    def begin(self) -> None:
        """Let the time of the page begin."""

    async def finish(self) -> None:
        """Ask for nothing more, and return once all that was asked for is there."""

    def notes(self) -> list[str]:
        """Say what was refused."""


def given(response: Response, body: bytes) -> Given:
    """Return an answer as the browser is given it, with its decoded body."""
    headers = {name: value for name, value in response.headers.items() if name not in _FIELDS_LEFT_OUT}
    if cookies := header_values(response.head, "set-cookie"):
        headers["set-cookie"] = "\n".join(cookies)
    return Given(response.status, headers, body)
