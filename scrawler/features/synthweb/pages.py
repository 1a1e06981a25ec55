"""The bytes behind a URL of the synthetic web: HTML pages, files, robots.txt, redirects, 404s."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist

from scrawler.features.synthweb.changes import Clock
from scrawler.features.synthweb.hrefs import LinkWriter
from scrawler.features.synthweb.site import Site, mix
from scrawler.features.synthweb.spec import Validators
from scrawler.features.synthweb.text import TextBlock
from scrawler.features.synthweb.validators import lie_of, validator_of, version
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target

ROBOTS = b"User-agent: *\nDisallow: /private/\n"
ROBOTS_OPEN = b"User-agent: *\nDisallow:\n"
_PNG = ("image/png", b"\x89PNG\r\n\x1a\n")
_PDF = ("application/pdf", b"%PDF-1.4\n")
_HTML = "text/html; charset=utf-8"
_NOT_FOUND = b"<!DOCTYPE html><title>404 Not Found</title><h1>Not Found</h1>\n"
_ALL_BITS = (1 << 64) - 1
_GROUP = 6  # links in one list
_SIZE_SPREAD = 0.6  # sigma of the lognormal page sizes
# Page size as a share of the mean, by quantile.
_SIZES = tuple(
    math.exp(NormalDist(0, _SIZE_SPREAD).inv_cdf((step + 0.5) / 64) - _SIZE_SPREAD**2 / 2) for step in range(64)
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer without its framing."""

    status: int
    content_type: str
    body: bytes
    location: str = ""
    fields: str = ""  # further header fields, each ended by CRLF


class PageWriter:
    """Writes what a web's layout prescribes; holds one text block and nothing for each page."""

    def __init__(self, web: SyntheticWeb, clock: Clock | None = None) -> None:
        self._web = web
        self._clock = clock or Clock(web.spec.epoch, web.spec.time_scale)
        self._answers = 0  # pages so far
        spec = web.spec
        self._has_time = bool(spec.changes or spec.coming or spec.noisy) or spec.validators is not Validators.NONE
        self._text = TextBlock(web.spec.seed, 4 * web.spec.page_bytes)
        self._noise = random.Random(web.spec.seed).randbytes(64 * 1024)  # what files are made of: it does not compress

    def answer(self, site: int, path: str, if_none_match: str = "", if_modified_since: str = "") -> Answer:
        """Answer a request for a path (with query) of a site, from who may know a version of it already."""
        web = self._web
        layout = web.site(site)
        if layout.alias_of is not None:
            return _redirect(301, f"http://{web.site(layout.alias_of).authority}{path}")
        if path == "/robots.txt" and layout.has_robots:
            return Answer(200, "text/plain", ROBOTS if layout.disallows_private else ROBOTS_OPEN)
        target = web.locate(site, path)
        if target is None:
            return Answer(404, _HTML, _NOT_FOUND)
        step = web.redirect(target)
        if step is not None:
            relative = step[1].site == site and target.number % 2 == 1
            return _redirect(step[0], web.path(step[1]) if relative else web.url(step[1]))
        if target.kind is Kind.FILE:
            return self._file(target.number)
        if not self._has_time:
            return Answer(200, _HTML, self.page(layout, target.number))
        return self._of_now(layout, target.number, if_none_match, if_modified_since)

    def _of_now(self, site: Site, page: int, if_none_match: str, if_modified_since: str) -> Answer:
        """Answer with what a page is now, if it is there and has not been fetched so."""
        spec, now = self._web.spec, self._clock.now()
        changes = self._web.changes_of(site.index, page)
        if now < changes.life.born:
            return Answer(404, _HTML, _NOT_FOUND)
        if now >= changes.life.gone:
            return Answer(410, _HTML, _NOT_FOUND)
        self._answers += 1
        lie = lie_of(spec.seed, site.index)
        validator = validator_of(spec.validators, lie, changes, now, self._clock, self._answers)
        if validator.is_known(if_none_match, if_modified_since):
            return Answer(304, _HTML, b"", fields=validator.fields)
        body = self.page(site, page, version(changes, now))
        if spec.noisy:
            body = body.replace(b"</body>", self._noise_of(now) + b"</body>")
        return Answer(200, _HTML, body, fields=validator.fields)

    def _noise_of(self, now: float) -> bytes:
        token = f"{mix(self._answers, round(now * 1000)):016x}{mix(self._answers):016x}"
        return f"<p>Served {self._clock.date(now).isoformat()}, {self._answers} visitors, {token}</p>\n".encode()

    def page(self, site: Site, page: int, version: str = "v") -> bytes:
        """Write an HTML page: a head, then lists of links between slices of text, which are others in each version."""
        web = self._web
        draw = mix(web.spec.seed, site.index, page, 5)
        place = draw >> 10 if version == "v" else mix(draw, int(version[1:], 16) & _ALL_BITS)
        path = web.path(Target(site.index, Kind.PAGE, page))
        has_base = draw & 15 == 7
        writer = LinkWriter(web, site, "/" if has_base else path)
        links = [writer.element(link) for link in web.links(site, page)]
        groups = ["\n".join(links[first : first + _GROUP]).encode() for first in range(0, len(links), _GROUP)]
        head = _head(site, page, has_base)
        wanted = web.spec.page_bytes * _SIZES[draw >> 4 & 63] - sum(map(len, groups)) - len(head)
        parts = [head]
        for group, text in zip(groups, self._text.cuts(place, max(0, int(wanted)), len(groups)), strict=True):
            parts += b'<ul class="links">\n', group, b"\n</ul>\n", text
        parts.append(b"</body></html>\n")
        return b"".join(parts)

    def _file(self, number: int) -> Answer:
        kind, magic = _PNG if number & 1 else _PDF
        start = mix(number) % 32_768
        return Answer(200, kind, magic + self._noise[start : start + 16_384])


def _head(site: Site, page: int, has_base: bool) -> bytes:
    """Write what comes before the links, with a few things that look like links to pages and are none."""
    base = '<base href="/">' if has_base else '<link rel="stylesheet" href="/style.css">'
    top = "" if has_base else '<a href="#top">Top</a> <a href="">Here</a>'
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{base}
<title>Page {page} of site {site.index}</title>
<meta name="description" content="Page {page} of {site.pages} at {site.authority}">
<script src="/app.js">var link = '<a href="/nowhere.html">';</script></head>
<body id="top"><!-- <a href="/commented-out.html">no link</a> --><h1>Page {page} of site {site.index}</h1>
<p>{top} <a href="mailto:page{page}@site{site.index}.test">Mail</a> <a href="javascript:void(0)">Print</a>
<img src="/files/1.png" alt=""></p>
<form action="/search"><input name="q"></form>
""".encode()


def _redirect(status: int, location: str) -> Answer:
    return Answer(status, "text/html", b"<!DOCTYPE html><title>Moved</title>\n", location)
