"""A synthetic web whose server is moody: some URLs are pushed back, slow or broken when they are first asked for.

What it makes of a URL follows from the URL alone. Who asks again has the usual answer, so the truth is the same.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import ClassVar
from zlib import crc32

from scrawler.features.synthweb import server
from scrawler.features.synthweb.command import synthweb
from scrawler.features.synthweb.http import HttpRequest
from scrawler.features.synthweb.pages import Answer
from scrawler.features.synthweb.process import ServerProcess

PATIENCE = 1.0  # seconds that a crawler shall wait for a page at first
SLOW = 2.5  # seconds that a slow one takes
_ASK_AGAIN = "text/plain\r\nRetry-After: 1"  # as if it were a header of its own


class Mood(StrEnum):
    """What the first request for a URL comes to."""

    PUSHED_BACK = "429"
    BUSY = "503"
    BROKEN = "500"
    SLOW = "slow"


def mood_of(url: str) -> Mood | None:
    """Return the mood of a URL; None: it is as usual."""
    number = crc32(url.encode()) % 48
    if url.endswith("/robots.txt"):
        return Mood.BROKEN if number < 6 else None
    return [*Mood][number] if number < len(Mood) else None


class MoodyServer(ServerProcess):
    """A server process of such a web."""

    _program = "tests.torture.moody"


class _Moody(server._Server):  # its one other user is a test
    """The answers of a process that remembers what was asked for."""

    _met: ClassVar[set[str]] = set()  # there is one server in the process

    def delay(self, request: HttpRequest, local: str) -> float:
        """Let the first answer for a slow URL take its time."""
        slow = self._mood(request, local) is Mood.SLOW
        return SLOW if slow else super().delay(request, local)

    def answer(self, request: HttpRequest, local: str, came: float) -> Answer:
        """Answer by mood when a URL is first asked for, else as usual."""
        mood = self._mood(request, local)
        answer = super().answer(request, local, came)
        self._met.add(self._url(request, local))
        if mood in (None, Mood.SLOW):
            return answer
        return Answer(int(mood), _ASK_AGAIN if mood is Mood.PUSHED_BACK else "text/plain", b"")

    def _mood(self, request: HttpRequest, local: str) -> Mood | None:
        url = self._url(request, local)
        return None if url in self._met else mood_of(url)

    def _url(self, request: HttpRequest, local: str) -> str:
        site = self._site(request.authority, local)
        return "" if site is None else f"http://{self._web.site(site).authority}{request.path}"


if __name__ == "__main__":
    server._Server = _Moody  # type: ignore[misc]
    synthweb(sys.argv[1:])
