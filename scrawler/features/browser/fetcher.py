"""Asks for what pages in a browser want: a downloader with a thread of its own, for those who wait in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from scrawler.errors import ScrawlerError, StartError
from scrawler.fetch.downloader import Downloader, Request, Response
from scrawler.threads import WorkerThread, start

_LONGEST_WAIT = 60.0  # seconds for which the thread sleeps, unless it is woken


class Fetcher:
    """Requests in, responses out, awaited in one event loop. It holds no more of them than are awaited."""

    def __init__(self, make_downloader: Callable[[], Downloader], loop: asyncio.AbstractEventLoop) -> None:
        """Make the downloader, and start the thread. Raises StartError."""
        self._downloader = make_downloader()
        self._loop = loop
        self._lock = threading.Lock()
        self._new: deque[Request] = deque()
        self._awaited: set[asyncio.Future[Response]] = set()
        self._error: ScrawlerError | None = None  # for which nothing can be asked for any more
        self._closing = False
        self._thread = WorkerThread(self, "browser-requests")
        try:
            start(self._thread)
        except BaseException:
            self._downloader.close()
            raise

    async def fetch(self, request: Request) -> Response:
        """Return what comes of a request, whose tag is lost. Raises ScrawlerError where the thread has met a fault."""
        self.check()
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._awaited.add(answer)
        try:
            with self._lock:
                self._new.append(request._replace(tag=answer))
            self._downloader.wake()
            return await answer
        finally:
            self._awaited.discard(answer)

    def check(self) -> None:
        """Raise ScrawlerError where the thread has met a fault, and nothing can be asked for any more."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the thread; who waits is told nothing any more."""
        self._closing = True
        self._downloader.wake()
        self._thread.join()
        self._downloader.close()

    def run(self) -> None:
        """Ask, until the end."""
        try:
            while not self._closing:
                self._downloader.wait(_LONGEST_WAIT)
                for response in self._downloader.completed():
                    self._tell(response)
                with self._lock:
                    new, self._new = self._new, deque()
                for request in new:
                    self._downloader.start(request)
        except Exception as error:
            fault = _as_scrawler_error(error)
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._fail, fault)

    def _fail(self, error: ScrawlerError) -> None:
        """Tell all that wait, and those that come, that nothing can be asked for any more."""
        self._error = error
        for answer in self._awaited:
            if not answer.done():
                answer.set_exception(error)

    def _tell(self, response: Response) -> None:
        answer: asyncio.Future[Response] = response.request.tag
        response = response._replace(request=response.request._replace(tag=None))
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(_set, answer, response)


def _set(answer: asyncio.Future[Response], response: Response) -> None:
    if not answer.done():
        answer.set_result(response)


def _as_scrawler_error(error: Exception) -> ScrawlerError:
    if isinstance(error, ScrawlerError):
        return error
    return StartError(f"the browser's requests: {type(error).__name__}: {error}")
