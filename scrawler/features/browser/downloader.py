"""A downloader whose HTML comes back with what a browser made of it; all else passes by as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from scrawler.errors import ScrawlerError
from scrawler.fetch.downloader import Downloader, Request, Response
from scrawler.model.results import Result

_LARGEST = 2 << 20  # bytes of a page that is shown: so much waits in memory for each request that is in flight


class Job:
    """A page on its way through the browser; `deliver` is called once, by the browser's thread, unless it is given up.

    It brings the answer, or the error for which no page can be shown any more.
    """

    def __init__(self, response: Response, owner: BrowserDownloader) -> None:
        self.response = response
        self.is_given_up = False
        self._owner = owner

    def deliver(self, made: Response | ScrawlerError) -> None:
        """Give the page back to whoever handed it over."""
        self._owner.take_back(self, made)


class Shows(Protocol):
    """A browser, shared by all downloaders of a machine; any thread may call it."""

    def join(self) -> None:
        """Note that one more downloader may bring pages."""

    def show(self, job: Job) -> None:
        """Take a page; never blocks."""

    def leave(self) -> None:
        """Note that a downloader brings no more; with the last one the browser is closed."""


class BrowserDownloader:
    """A Downloader around another one. A page that is in the browser counts as in flight.

    `is_shown` tells of a request whether what comes, if it is HTML, is shown.
    """

    def __init__(self, inner: Downloader, browser: Shows, is_shown: Callable[[Request], bool]) -> None:
        self.at_once = inner.at_once
        self.doubted: list[Request] = getattr(inner, "doubted", [])
        self._inner = inner
        self._browser = browser
        self._is_shown = is_shown
        self._lock = threading.Lock()
        self._shown: dict[Job, None] = {}
        self._done: list[Response] = []
        self._error: ScrawlerError | None = None
        browser.join()

    def start(self, request: Request) -> None:
        """Take a request: what is shown is asked for as a whole, whatever is known of it."""
        if request.headers and self._is_shown(request):
            request = request._replace(headers=())
        self._inner.start(request)

    @property
    def in_flight(self) -> int:
        """Requests that are not over, and pages in the browser."""
        with self._lock:
            return self._inner.in_flight + len(self._shown) + len(self._done)

    def wait(self, seconds: float, begin: bool = True) -> None:
        """Wait for the inner downloader; whoever brings a page back wakes it."""
        if not self._has_done():
            self._inner.wait(seconds, begin)

    def ready(self) -> bool:
        """Look, without waiting, for what has completed."""
        return self._inner.ready() or self._has_done()

    def _has_done(self) -> bool:
        with self._lock:
            return bool(self._done) or self._error is not None

    def completed(self) -> list[Response]:
        """Hand pages to the browser, and return all else, and what that has brought back.

        Raises ScrawlerError where there can be no browser any more.
        """
        landed = []
        for response in self._inner.completed():
            if _can_be_shown(response) and self._is_shown(response.request):
                self._hand_over(response)
            else:
                landed.append(response)
        with self._lock:
            if self._error is not None:
                raise self._error
            done, self._done = self._done, []
        return landed + done

    def _hand_over(self, response: Response) -> None:
        job = Job(response, self)
        with self._lock:
            self._shown[job] = None
        self._browser.show(job)

    def take_back(self, job: Job, made: Response | ScrawlerError) -> None:
        """Take what came of a page; called by the browser's thread."""
        with self._lock:
            if self._shown.pop(job, job) is not None:
                return  # it was given up
            if isinstance(made, ScrawlerError):
                self._error = made
            else:
                self._done.append(made)
        self._inner.wake()

    def cancel(self) -> list[Request]:
        """Give up all requests in flight, and all pages in the browser, and return their requests."""
        with self._lock:
            given_up = [response.request for response in self._done]
            for job in self._shown:
                job.is_given_up = True
                given_up.append(job.response.request)
            self._shown.clear()
            self._done.clear()
        return given_up + self._inner.cancel()

    def wake(self) -> None:
        """Make a `wait` return at once, now or next time."""
        self._inner.wake()

    def close(self) -> None:
        """Close all connections, and let go of the browser."""
        self.cancel()
        self._inner.close()
        self._browser.leave()


def _can_be_shown(response: Response) -> bool:
    if response.result is not Result.FETCHED:
        return False
    return response.content_type == "text/html" and 0 < len(response.body) <= _LARGEST
