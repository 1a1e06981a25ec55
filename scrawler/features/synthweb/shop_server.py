"""Serves a shop on a loopback address, 127.31.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from scrawler.features.synthweb.http import HttpRequest
from scrawler.features.synthweb.pages import Answer
from scrawler.features.synthweb.serving import EVERY_ADDRESS, listen, serve_pages
from scrawler.features.synthweb.shop import Shop

_ADDRESS = "127.31.0.1"


def shop_home(port: int) -> str:
    """Return the home page of the shop that is served at a port."""
    return f"http://{_ADDRESS}:{port}/"


def serve_shop(
    shop: Shop, port: int, *, stop_with_stdin: bool = False, ready: Callable[[int], None] = lambda port: None
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` gets the port as soon as the shop can be asked.

    Raises:
        SettingsError: the port cannot be used.
    """

    def answer(request: HttpRequest, address: str, came: float) -> Answer:
        return shop.answer(request.path)

    (listening,) = listen([(EVERY_ADDRESS, port)], "shop")
    with listening:
        ready_at = partial(ready, listening.getsockname()[1])
        asyncio.run(serve_pages([listening], answer, lambda request, address: 0.0, stop_with_stdin, ready_at))
