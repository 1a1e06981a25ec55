"""The browser of a machine: one Chromium, started when the first page comes, in a thread with an event loop.

So many pages as are allowed are shown at a time; others wait, no more of them than requests are in flight. A Chromium
that has ended, or does not answer any more, is started again, and each page that it had is shown once more: it may be
to blame, or another one. It is shown alone then, so that it is to blame if Chromium ends again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from scrawler.errors import ScrawlerError, StartError
from scrawler.faults import Fault, fault_of
from scrawler.features.browser.chromium import start_chromium
from scrawler.features.browser.memory import MemoryWatch
from scrawler.fetch.downloader import Response
from scrawler.threads import WorkerThread, start
from scrawler.units import human_bytes

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import Playwright

    from scrawler.features.browser.downloader import Job
    from scrawler.features.browser.page import PageVisit
    from scrawler.features.browser.parts import Parts

_PAUSES = (0.0, 1.0)  # seconds before each try to start Chromium
_TRIES = 2  # times that a page is shown: among others, and alone
_CLOSE = 10.0  # seconds for Chromium to end in order


class Answerer(Protocol):
    """Answers what pages ask for; it is used in the event loop alone."""

    def parts(self, response: Response) -> Parts:
        """Return what answers the requests of a page."""

    def decoded(self, response: Response) -> bytes:
        """Return a body without its content coding."""

    def close(self) -> None:
        """Let go of everything."""


class Browser:
    """Shows pages for all downloaders of a machine; see `Shows`.

    `make_answerer(loop)` is called in the thread, before the first page. `file` is the Chromium to start, None for
    Playwright's own.
    """

    def __init__(
        self, file: str | None, pages: int, make_answerer: Callable[[asyncio.AbstractEventLoop], Answerer]
    ) -> None:
        self._file = file
        self._pages = pages
        self._make_answerer = make_answerer
        self._lock = threading.Lock()
        self._downloaders = 0
        self._waiting: deque[Job] = deque()
        self._session: _Session | None = None

    def join(self) -> None:
        """Note that one more downloader may bring pages."""
        with self._lock:
            self._downloaders += 1

    def show(self, job: Job) -> None:
        """Take a page. Raises StartError where there is no room for the thread."""
        with self._lock:
            if self._session is None:
                session = _Session(self._file, self._pages, self._make_answerer)
                session.begin()
                self._session = session
            self._session.show(job)

    def leave(self) -> None:
        """Close Chromium with the last downloader; return when it has ended."""
        with self._lock:
            self._downloaders -= 1
            if self._downloaders:
                return
            session, self._session = self._session, None
        if session is not None:
            session.end()


class _Session:
    """What the thread does from the first page to the end."""

    def __init__(
        self, file: str | None, pages: int, make_answerer: Callable[[asyncio.AbstractEventLoop], Answerer]
    ) -> None:
        self._file = file
        self._pages = pages
        self._make_answerer = make_answerer
        self._loop = _Loop()
        self._memory = MemoryWatch(lambda: self._loop.begun)
        self._jobs: asyncio.Queue[Job] = asyncio.Queue()
        self._ending = asyncio.Event()
        self._starting = asyncio.Lock()
        self._room = asyncio.Semaphore(pages)
        self._again = asyncio.Lock()  # of the page that is shown alone
        self._playwright: Playwright | None = None
        self._chromium: Chromium | None = None
        self._error: ScrawlerError | None = None  # for which no page can be shown any more
        self._thread = WorkerThread(self, "browser")

    # -- called by others ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the thread. Raises StartError."""
        try:
            start(self._thread)
        except BaseException:
            self._loop.close()
            raise

    def show(self, job: Job) -> None:
        """Take a page."""
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, job)

    def end(self) -> None:
        """Close everything, and wait for that."""
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    # -- in the thread ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Show pages until the end."""
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            with suppress(Exception):
                self._loop.run_until_complete(_end_tasks())
            self._loop.close()

    async def _serve(self) -> None:
        answerer: Answerer | None = None
        try:
            answerer = self._make_answerer(self._loop)
            workers = [asyncio.ensure_future(self._work(answerer)) for _ in range(self._pages)]
            await self._ending.wait()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        except Exception as error:
            self._error = _as_start_error(error)
            while not self._ending.is_set():
                await self._refuse()
        finally:
            await self._close()
            if answerer is not None:
                answerer.close()

    async def _refuse(self) -> None:
        """Answer a page with the error for which there is no browser, unless all ends before one comes."""
        job, ending = asyncio.ensure_future(self._jobs.get()), asyncio.ensure_future(self._ending.wait())
        await asyncio.wait((job, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if job.done() and self._error is not None:
            job.result().deliver(self._error)
        job.cancel()

    async def _work(self, answerer: Answerer) -> None:
        while True:
            job = await self._jobs.get()
            if job.is_given_up:
                continue
            if self._error is None:
                try:
                    job.deliver(await self._shown(job.response, answerer))
                    continue
                except Exception as error:
                    self._error = _as_start_error(error)
            job.deliver(self._error)

    async def _shown(self, response: Response, answerer: Answerer) -> Response:
        """Return a page as the browser shows it. Raises StartError where there is no Chromium any more."""
        from scrawler.features.browser.page import BrowserGoneError, PageCrashedError, PageVisit  # Playwright is large

        problem = ""
        for number in range(_TRIES):
            async with self._alone() if number else self._room:
                chromium = await self._running()
                try:
                    parts = answerer.parts(response)
                    visit = PageVisit(response, answerer.decoded(response), parts)
                    made = await self._watched(visit, chromium)
                    if visit.is_stuck:
                        await self._end_chromium(chromium)
                    return made
                except PageCrashedError:
                    return response.met(_fault("the browser's process crashed while it showed the page"))
                except BrowserGoneError as error:
                    problem = f"the browser ended twice while it showed the page: {error}"
                    await self._end_chromium(chromium)
                except ScrawlerError:
                    raise
                except Exception as error:
                    return response.met(fault_of(error))
        return response.met(_fault(problem))

    async def _watched(self, visit: PageVisit, chromium: Chromium) -> Response:
        """Return a page as the browser shows it, unless that takes too much memory. Raises as `PageVisit.show`."""
        from scrawler.features.browser.page import PageCrashedError

        began = self._memory.begin()
        try:
            return await visit.show(chromium)
        except PageCrashedError:
            if self._memory.has_ended_since(began):
                return visit.too_large(f"the browser took more than {human_bytes(self._memory.most)} of memory for it")
            raise
        finally:
            self._memory.end()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Wait until no page is shown, and let none be shown meanwhile."""
        taken = 0
        async with self._again:
            try:
                while taken < self._pages:
                    await self._room.acquire()
                    taken += 1
                yield
            finally:
                for _ in range(taken):
                    self._room.release()

    async def _running(self) -> Chromium:
        """Return Chromium, which is started if it does not run. Raises StartError."""
        async with self._starting:
            if self._chromium is not None and self._chromium.is_connected():
                return self._chromium
            problem = ""
            for pause in _PAUSES:
                await asyncio.sleep(pause)
                try:
                    self._chromium = await self._started()
                    return self._chromium
                except Exception as error:
                    problem = " ".join(str(error).split())[:500]
                    await self._close()
            raise StartError(f"Chromium ({self._file or 'that of Playwright'}) does not start: {problem}")

    async def _started(self) -> Chromium:
        from playwright.async_api import async_playwright

        if self._playwright is None:
            self._playwright = await async_playwright().start()
        return await start_chromium(self._playwright, self._file)

    async def _end_chromium(self, chromium: Chromium) -> None:
        """End a Chromium that is of no use any more, unless another page has done so."""
        async with self._starting:
            if self._chromium is chromium:
                await self._close()

    async def _close(self) -> None:
        """End Chromium and Playwright's process; with that, at the latest, Chromium's pipe is closed."""
        chromium, self._chromium = self._chromium, None
        playwright, self._playwright = self._playwright, None
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE):
                if chromium is not None:
                    await chromium.close()
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE):
                if playwright is not None:
                    await playwright.stop()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose processes a Ctrl-C on the terminal does not reach: pages come to an end before they end."""

    begun: int | None = None  # the process that was started last

    async def subprocess_exec(self, *arguments: Any, **named: Any) -> Any:
        """Start a process in a session of its own."""
        made = await super().subprocess_exec(*arguments, start_new_session=True, **named)
        self.begun = made[0].get_pid()
        return made


async def _end_tasks() -> None:
    """End all that still goes on in the loop, as requests of pages that are gone."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    async with asyncio.timeout(_CLOSE):
        await asyncio.gather(*tasks, return_exceptions=True)


def _as_start_error(error: Exception) -> ScrawlerError:
    """Return the error that ends the run; faults of this program are none of a page's."""
    return error if isinstance(error, ScrawlerError) else StartError(f"the browser: {type(error).__name__}: {error}")


def _fault(text: str) -> Fault:
    return Fault(text, f"{text}\n")
