"""A page in the browser: its scripts run in a hurry, what they ask for is answered, and what they made is read.

The page's clock is virtual (DevTools protocol, Emulation.setVirtualTimePolicy): it stands still while something that
was asked for is on its way, and else leaps to the next timer, so that `_CLOCK` seconds pass in no time. Documents are
not left: where scripts want to lead is noted, and refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error

from scrawler.features.browser.parts import Given, Parts, Wanted, given
from scrawler.fetch.downloader import Document, Response
from scrawler.model.results import Result
from scrawler.units import counted, format_seconds
from scrawler.urls.scope import origin

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Route
    from playwright.async_api import Request as Asked

_CLOCK = 5_000  # milliseconds of the page's own clock
_FIRST = 30.0  # seconds for Chromium to begin with a page, whatever its time
_STOP, _TO_READ, _TO_CLOSE = 5.0, 20.0, 10.0  # seconds for the last steps with a page, whatever its time
_PARTS = frozenset({"script", "stylesheet", "xhr", "fetch"})  # what makes links; no images, fonts, frames, pings
_MOST_LINKS = 100  # that scripts wanted to follow
_LONGEST_LINK = 16_000  # characters
_MOST_CHARACTERS = 8 << 20  # of the document that was made
_ALLOW_ORIGIN = "access-control-allow-origin"
_NOBODY = "https://nobody.invalid"  # no origin of a page; "null" would be that of a sandboxed frame
# Scripts of the page cannot change what this calls, for it runs in a world of its own. Of open shadow roots, which are
# no part of the serialised document, the content follows.
_READ = """(() => {
  const most = %d, parts = [];
  let size = 0;
  const add = text => { const part = text.slice(0, most - size); size += part.length; parts.push(part); };
  const open = root => {
    for (const one of root.querySelectorAll("*"))
      if (one.shadowRoot && size < most) { add(one.shadowRoot.innerHTML); open(one.shadowRoot); }
  };
  if (document.doctype) add("<!DOCTYPE html>");
  if (document.documentElement) add(document.documentElement.outerHTML);
  open(document);
  return { html: parts.join("\\n"), url: document.URL, cut: size >= most };
})()"""


class BrowserGoneError(Exception):
    """Chromium has ended, or does not answer any more: the page is not to blame alone."""


class PageCrashedError(Exception):
    """The process in which Chromium showed the page has crashed."""


class PageVisit:
    """One page, in a context of its own: nothing is kept of an earlier one, but the cookies of its request."""

    def __init__(self, response: Response, body: bytes, parts: Parts) -> None:
        self._response = response
        self._body = body
        self._limits = parts.limits
        self._parts = parts
        self._user_agent = parts.user_agent
        self._shown = False
        self._links: dict[str, None] = {}
        self._rested = asyncio.Event()
        self._crashed = asyncio.Event()
        self._gone = asyncio.Event()
        self._page: Page | None = None
        self.is_stuck = False  # whether Chromium could not close the page: then it is of no use any more

    async def show(self, browser: Browser) -> Response:
        """Return the answer with what the browser made of it.

        Raises BrowserGoneError, PageCrashedError. What else a page can do is told in the answer's detail.
        """
        context: BrowserContext | None = None
        browser.on("disconnected", self._note_gone)
        try:
            async with asyncio.timeout(_FIRST + 2 * self._limits.time + _STOP + _TO_READ):
                context = await self._context(browser)
                return await self._show_in(context)
        except TimeoutError as error:
            raise BrowserGoneError("it does not answer any more") from error
        except Error as error:
            self._check()
            if not browser.is_connected():
                raise BrowserGoneError("it has ended") from error
            return self._unshown(f"the browser did not show it: {_first_line(error)}")
        finally:
            browser.remove_listener("disconnected", self._note_gone)
            if context is not None and browser.is_connected():
                self.is_stuck = not await _closed(context)

    def _note_gone(self, *_: object) -> None:
        self._gone.set()

    def _check(self) -> None:
        if self._crashed.is_set():
            raise PageCrashedError
        if self._gone.is_set():
            raise BrowserGoneError("it has ended")

    async def _context(self, browser: Browser) -> BrowserContext:
        context = await browser.new_context(
            service_workers="block", accept_downloads=False, user_agent=self._user_agent
        )
        try:
            url = self._response.request.url
            pairs = (one.strip().partition("=") for one in self._response.request.cookie.split(";"))
            cookies: list[Any] = [{"name": name, "value": value, "url": url} for name, _, value in pairs if name]
            if cookies:
                with suppress(Error):  # some values are none for Chromium
                    await context.add_cookies(cookies)
            await context.route("**/*", self._route)
            context.on("page", self._popped_up)
        except BaseException:
            await _closed(context)
            raise
        return context

    async def _show_in(self, context: BrowserContext) -> Response:
        page = self._page = await context.new_page()
        page.on("crash", lambda _: self._crashed.set())
        devtools = await context.new_cdp_session(page)
        devtools.on("Emulation.virtualTimeBudgetExpired", lambda _: self._rested.set())
        await page.goto(self._response.request.url, wait_until="commit", timeout=_FIRST * 1000)
        self._parts.begin()
        notes = []
        if not await self._rest(devtools):
            if self._parts.exhausted.is_set():
                notes.append("its scripts were stopped, for they asked on and on")
            else:
                notes.append(f"its scripts were stopped after {format_seconds(self._limits.time)}")
            await _stop_scripts(devtools)
        await self._parts.finish()
        made = await self._read(devtools)
        if made is None:
            return self._unread()
        if made["cut"]:
            notes.append(f"only {counted(_MOST_CHARACTERS, 'character')} of it were read")
        return self._with(made, [*notes, *self._parts.notes()])

    async def _rest(self, devtools: CDPSession) -> bool:
        """Let the page's clock run; return whether its time came to an end before ours."""
        budget = {"policy": "pauseIfNetworkFetchesPending", "budget": _CLOCK}
        events = self._rested, self._crashed, self._gone, self._parts.exhausted
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        started = asyncio.ensure_future(devtools.send("Emulation.setVirtualTimePolicy", budget))
        try:
            await asyncio.wait(waits, timeout=self._limits.time, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (*waits, started):
                one.cancel()
            await asyncio.gather(*waits, started, return_exceptions=True)
        self._check()
        return self._rested.is_set()

    async def _read(self, devtools: CDPSession) -> dict[str, Any] | None:
        """Return the document, and what it says of itself; None where that cannot be had."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_TO_READ):
                tree = await devtools.send("Page.getFrameTree")
                frame = {"frameId": tree["frameTree"]["frame"]["id"]}
                world = (await devtools.send("Page.createIsolatedWorld", frame))["executionContextId"]
                asked = {"expression": _READ % _MOST_CHARACTERS, "contextId": world, "returnByValue": True}
                made = (await devtools.send("Runtime.evaluate", asked))["result"].get("value")
                return made if isinstance(made, dict) else None
        self._check()
        return None

    def _with(self, made: Mapping[str, Any], notes: list[str]) -> Response:
        own, url = self._response.request.url, str(made["url"]).partition("#")[0]
        if not url.startswith("http") or origin(url) != origin(own):
            url = own
        html = str(made["html"]).encode("utf-8", "replace")
        return self._made(Document(html, url, tuple(self._links)), "; ".join(notes))

    def _unshown(self, problem: str) -> Response:
        return self._made(Document(b"", self._response.request.url, tuple(self._links)), problem)

    def _made(self, document: Document, detail: str) -> Response:
        return self._response._replace(document=document, further=tuple(self._parts.answers), detail=detail)

    def _unread(self) -> Response:
        """Return the answer of a page that took too long, even when its scripts were stopped."""
        return self._unshown(f"the browser could not read it within {format_seconds(self._limits.time)}")._replace(
            result=Result.TIMEOUT
        )

    def too_large(self, problem: str) -> Response:
        """Return the answer of a page that takes more than the browser may."""
        return self._unshown(problem)._replace(result=Result.TOO_LARGE)

    # -- what the browser asks for -----------------------------------------------------------------------------

    async def _popped_up(self, page: Page) -> None:
        if self._page is not None and page is not self._page:
            with suppress(Error):
                await page.close()

    async def _route(self, route: Route, asked: Asked) -> None:
        try:
            answer = await self._answer(asked)
            if answer is None:
                # Of a navigation that was blocked Chromium would show a page of its own; one that is aborted is none.
                await route.abort("aborted" if asked.is_navigation_request() else "blockedbyclient")
            else:
                await route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.body)
        except Exception:  # the page may be gone meanwhile; if it is not, it must not wait for this for ever
            with suppress(Exception):
                await route.abort("failed")

    async def _answer(self, asked: Asked) -> Given | None:
        if asked.is_navigation_request():
            return self._navigated(asked)
        if asked.method != "GET" or asked.resource_type not in _PARTS:
            return None
        answer = await self._parts.ask(Wanted(asked.url, asked.resource_type, asked.headers, self._cookies))
        if answer is None:
            return None
        # Where it stands in an answer to none, Playwright writes that each origin may read it, credentials included.
        return answer._replace(headers={_ALLOW_ORIGIN: _NOBODY, **answer.headers})

    def _navigated(self, asked: Asked) -> Given | None:
        """Give the browser the page itself, once; note where else its scripts want to lead it."""
        is_frame = False
        with suppress(Error):  # the frame of a window that opens is not there yet
            is_frame = asked.frame.parent_frame is not None
        if is_frame:
            return None
        if not self._shown:
            self._shown = True
            return given(self._response, self._body)
        url = asked.url.partition("#")[0]
        if asked.method == "GET" and len(self._links) < _MOST_LINKS and len(url) <= _LONGEST_LINK:
            self._links[url] = None
        return None

    async def _cookies(self, url: str) -> str:
        if self._page is None:
            return ""
        cookies = await self._page.context.cookies(url)
        return "; ".join(f"{one.get('name', '')}={one.get('value', '')}" for one in cookies)


async def _stop_scripts(devtools: CDPSession) -> None:
    """End the script that runs, and let no other one begin."""
    with suppress(TimeoutError, Error):
        async with asyncio.timeout(_STOP):
            await devtools.send("Runtime.terminateExecution")
            await devtools.send("Emulation.setScriptExecutionDisabled", {"value": True})


async def _closed(context: BrowserContext) -> bool:
    """Close a context; return whether it is closed, for that may take too long."""
    try:
        async with asyncio.timeout(_TO_CLOSE):
            await context.close()
    except TimeoutError:
        return False
    except Error:
        pass  # it is gone already
    return True


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
