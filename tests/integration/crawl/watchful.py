"""A web server in a process of its own that notes when each request came and when its answer went out.

All names lead to it, at every address on which it listens. Each host has a few pages, which link to each other. It
notes a request before it answers, and an answer before it is sent: what a client does after an answer has a later
time here, however busy the computer is.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

from tests import spans

CLOCK = 0.003  # seconds: granularity of clocks


class Seen(NamedTuple):
    """One request; times in seconds of `time.monotonic()`."""

    at: float
    done: float
    address: str  # on which it came
    host: str
    path: str


class WatchfulServer:
    """Starts the server; `robots` is the text of all robots.txt, `robots_at` a URL to which they redirect instead.

    In that, {host} stands for the host that is asked.
    """

    def __init__(
        self,
        folder: Path,
        addresses: Iterable[str] = ("127.0.0.1",),
        pages: int = 3,
        latency: float = 0.0,
        robots: str = "",
        robots_at: str = "",
    ) -> None:
        self._log = folder / "seen.jsonl"
        given = {
            "log": str(self._log), "addresses": list(addresses), "pages": pages, "latency": latency,
            "robots": robots, "robots_at": robots_at,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps(given)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def urls(self, hosts: Iterable[str]) -> list[str]:
        """The home pages of hosts."""
        return [f"http://{host}:{self.port}/" for host in hosts]

    def seen(self) -> list[Seen]:
        """All requests so far that are answered, or whose client went away, in order of time."""
        lines = self._log.read_text().split("\n")[:-1]
        return sorted(Seen(*json.loads(line)) for line in lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()


def by(key: Callable[[Seen], str], seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Group requests by address or host."""
    groups: dict[str, list[Seen]] = {}
    for one in seen:
        groups.setdefault(key(one), []).append(one)
    return groups


def smallest_gap(seen: Iterable[Seen]) -> float:
    """Return the seconds between the two requests that came nearest to each other."""
    return min(after.at - before.at for before, after in pairwise(sorted(seen)))


def most_at_once(seen: Iterable[Seen]) -> int:
    """Return how many requests were in flight at most."""
    return spans.most_at_once((one.at, one.done) for one in seen)


async def _serve(given: dict[str, object]) -> None:
    latency, pages = float(str(given["latency"])), int(str(given["pages"]))
    links = "".join(f'<a href="/{number}">x</a>' for number in range(1, pages))
    log = Path(str(given["log"])).open("w", buffering=1)  # noqa: SIM115  open as long as the process is there

    def reply(host: str, path: str) -> bytes:
        if path == "/robots.txt" and given["robots_at"]:
            location = str(given["robots_at"]).replace("{host}", host.partition(":")[0]).encode()
            return b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n" % location
        kind, body = (
            ("text/plain", str(given["robots"])) if path.endswith(".txt") else ("text/html", host + path + links)
        )
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body.encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        following = asyncio.create_task(reader.readuntil(b"\r\n\r\n"))
        while True:
            try:
                head = (await following).decode()
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            at = time.monotonic()
            path = head.split(" ", 2)[1]
            host = head.lower().partition("\nhost: ")[2].partition("\r")[0].partition(":")[0]
            following = asyncio.create_task(reader.readuntil(b"\r\n\r\n"))
            await asyncio.wait([following], timeout=latency)  # over at once when the client goes away
            address = writer.get_extra_info("sockname")[0]
            log.write(json.dumps([at, time.monotonic(), address, host, path]) + "\n")
            writer.write(reply(host, path))

    port = 0
    servers = []
    for address in given["addresses"]:  # type: ignore[attr-defined]
        servers.append(await asyncio.start_server(serve, address, port, backlog=512))
        port = servers[0].sockets[0].getsockname()[1]
    print(port, flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(_serve(json.loads(sys.argv[1])))
