"""How a store of copies is asked by HTTP: at addresses that may be asked alone, and without its redirects.

The name is looked up for each connection, so what was looked at before may be another address by then.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any


def http_options(may_ask: Callable[[str], bool]) -> dict[str, Any]:
    """Return the options of fsspec's file system; those of aiohttp are made where its loop runs."""

    async def client(loop: Any = None, **options: Any) -> Any:
        aiohttp = import_module("aiohttp")  # fsspec needs it for HTTP
        resolver: Any = import_module("aiohttp.resolver").ThreadedResolver

        class Guarded(resolver):  # type: ignore[misc]
            """Leaves out the addresses that may not be asked."""

            async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> Any:
                found = await super().resolve(host, port, family)
                allowed = [one for one in found if may_ask(str(one["host"]))]
                if not allowed:
                    raise OSError(f"{host} is at a private address")
                return allowed

        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Guarded()), **options)

    return {"get_client": client, "allow_redirects": False, "skip_instance_cache": True}
