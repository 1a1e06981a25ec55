"""Faults of whole sites, each on an address of its own; `/` is the seed, and leads to /1, /2, /3."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate
from time import time

from scrawler.features.synthweb.faults.answers import bomb
from scrawler.features.synthweb.faults.visit import Fault, Script, Visit, page, reply

Robots = Callable[[Visit], bytes]
_PAGES = ("/1", "/2", "/3")
_ROBOTS = "/robots.txt"
_TEXT = "Content-Type: text/plain"
_XML = "Content-Type: application/xml"
_GZIP = "Content-Encoding: gzip"
_RULE = "User-agent: *\nDisallow: /2\n"


def _text(body: str | bytes, status: str = "200 OK", *headers: str) -> bytes:
    return reply(body, status, _TEXT, *headers)


def _good(name: str, path: str) -> bytes:
    """Return the answer of a site that is otherwise in order."""
    return reply(page(f"{name} {path}", *_PAGES)) if path in ("/", *_PAGES) else _text("no", "404 Not Found")


def _with_robots(name: str, does: str, robots: bytes) -> Fault:
    """Return a site of good pages behind a robots.txt."""

    async def answer(visit: Visit) -> None:
        await visit.send(robots if visit.path == _ROBOTS else _good(name, visit.path))

    return Fault(name, does, answer, keeps=True)


def _without_robots(name: str, does: str, script: Script) -> Fault:
    """Return a site that forbids nothing, and answers as `script` does."""

    async def answer(visit: Visit) -> None:
        if visit.path == _ROBOTS:
            await visit.send(_text("", "404 Not Found"))
        else:
            await script(visit)

    return Fault(name, does, answer, keeps=True)


def _with_sitemap(name: str, does: str, sitemap: bytes) -> Fault:
    """Return a site whose robots.txt names a sitemap."""

    async def answer(visit: Visit) -> None:
        if visit.path == _ROBOTS:
            await visit.send(_text(f"Sitemap: {visit.site}/sitemap.xml\n"))
        else:
            await visit.send(sitemap if visit.path == "/sitemap.xml" else _good(name, visit.path))

    return Fault(name, does, answer, keeps=True)


def _xml(body: str) -> bytes:
    return reply(body, "200 OK", _XML)


def _laughs() -> str:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(9))
    return f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>/&e8;</loc></url></urlset>"


async def _busy(visit: Visit) -> None:
    await visit.send(_text("later", "429 Too Many Requests"))


async def _busy_once(visit: Visit) -> None:
    """429 to the first request of each page but the first, with the seconds to wait."""
    if visit.path in _PAGES and visit.number == 1:
        await visit.send(_text("later", "429 Too Many Requests", "Retry-After: 1"))
    else:
        await visit.send(_good("busy-once", visit.path))


async def _away_once(visit: Visit) -> None:
    """503 to the first request, with the date from which on it is back."""
    if visit.path == "/" and visit.number == 1:
        back = formatdate(time() + 2, usegmt=True)
        await visit.send(_text("later", "503 Service Unavailable", f"Retry-After: {back}"))
    else:
        await visit.send(_good("away-once", visit.path))


async def _away_for_years(visit: Visit) -> None:
    await visit.send(_text("later", "503 Service Unavailable", "Retry-After: 99999999999999999999"))


async def _dies(visit: Visit) -> None:
    """Good at first; then every connection is reset."""
    if visit.path == "/" and visit.number == 1:
        await visit.send(reply(page("dies", *(f"/{number}" for number in range(1, 60)))))
    else:
        visit.writer.transport.abort()


async def _resets(visit: Visit) -> None:
    visit.writer.transport.abort()


async def _to_others(visit: Visit) -> None:
    await visit.send(reply("", "301 Moved Permanently", f"Location: {visit.home}/not-found"))


async def _never_robots(visit: Visit) -> None:
    if visit.path == _ROBOTS:
        await visit.hang()
    await visit.send(_good("robots-never", visit.path))


SITE_FAULTS: tuple[Fault, ...] = (
    _with_robots("robots-closed", "forbids all", _text("User-agent: *\nDisallow: /\n")),
    _with_robots("robots-partly", "forbids /2", _text("User-agent: *\r\rDisallow: /2\r")),
    _with_robots("robots-broken", "500 for robots.txt", _text("oops", "500 Internal Server Error")),
    _with_robots("robots-forbidden", "403 for robots.txt", _text("no", "403 Forbidden")),
    _with_robots("robots-html", "HTML for robots.txt", reply(page("no robots.txt here"))),
    _with_robots("robots-utf16", "robots.txt in UTF-16", _text(_RULE.encode("utf-16"))),
    _with_robots("robots-huge", "2 MB of robots.txt, a rule at the start", _text(_RULE + "#x\n" * 700_000)),
    _with_robots("robots-loop", "robots.txt that leads to itself", _text("", "302 Found", f"Location: {_ROBOTS}")),
    _with_robots("crawl-delay", "a Crawl-delay of an hour", _text("User-agent: *\nCrawl-delay: 3600\n")),
    _with_sitemap("sitemap-laughs", "a sitemap of entities in entities", _xml(_laughs())),
    _with_sitemap(
        "sitemap-loop",
        "a sitemap index that lists itself",
        _xml("<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>"),
    ),
    _with_sitemap("sitemap-bomb", "64 MiB of sitemap in 64 KiB", reply(bomb(64), "200 OK", _XML, _GZIP)),
    Fault("robots-never", "robots.txt without an answer", _never_robots),
    _without_robots("busy", "429 each time", _busy),
    _without_robots("busy-once", "429 once a page, Retry-After in seconds", _busy_once),
    _without_robots("away-once", "503 once, Retry-After as a date", _away_once),
    _without_robots("away-for-years", "503, Retry-After without end", _away_for_years),
    _without_robots("dies", "one page, then resets", _dies),
    _without_robots("resets", "resets each time", _resets),
    _without_robots("to-others", "redirects to another site", _to_others),
)
