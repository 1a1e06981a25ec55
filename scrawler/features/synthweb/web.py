"""The layout of the synthetic web: which URLs exist, what each answers, which links each page has."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv4Address
from typing import NamedTuple

from scrawler.errors import SettingsError
from scrawler.features.synthweb.changes import Changes, PageChanges
from scrawler.features.synthweb.site import (
    FANOUT,
    Site,
    SiteSizes,
    is_dead,
    latency_s,
    mix,
    section_starts,
    slow_s,
    slow_share,
)
from scrawler.features.synthweb.spec import Hosts, WebSpec

TOPICS = 7  # folders of a site: a page's number modulo this is its topic
FIRST_ADDRESS = int(IPv4Address("127.10.0.1"))
_REDIRECT_STATUS = (301, 302, 303, 307, 308)
_NAME = re.compile(r"site(\d{1,8})\.synth\.test")
_PATH = re.compile(
    r"/(?:t\d+/(?:s\d+/)?p(?P<page>\d{1,9})(?:\.html|/)|t\d+/view\?id=(?P<view>\d{1,9})&lang=en"
    r"|private/p(?P<private>\d{1,9})\.html|(?P<kind>old|moved|out|files)/(?P<number>\d{1,9})(?:\.pdf|\.png)?)"
)


class Kind(IntEnum):
    """What stands behind a URL."""

    PAGE = 0  # is an HTML page
    OLD = 1  # redirects to the page of the same number, every 8th by way of MOVED
    MOVED = 2  # redirects to the page of the same number
    OUT = 3  # redirects to another site
    MISSING = 4  # is answered with 404
    FILE = 5  # is a PDF for even numbers, a PNG for odd ones


_BY_FOLDER = {"old": Kind.OLD, "moved": Kind.MOVED, "out": Kind.OUT, "files": Kind.FILE}


class Target(NamedTuple):
    """A URL of the web, in numbers."""

    site: int
    kind: Kind
    number: int


class Link(NamedTuple):
    """A link of a page; `style` (16 bits) chooses the way it is written and the element it stands in."""

    target: Target
    style: int


class SyntheticWeb:
    """All sites of a spec, served at one port (or, with `Hosts.PORTS`, at one port each from `port` upwards)."""

    def __init__(self, spec: WebSpec, port: int = 80) -> None:
        if spec.hosts is Hosts.PORTS and not 0 < port <= 65536 - spec.sites:
            raise SettingsError(f"synthetic web: {spec.sites} ports from {port} upwards do not exist")
        self.spec = spec
        self.port = port
        self._sizes = SiteSizes(spec)
        self.site = lru_cache(maxsize=16_384)(self._site)
        self._changes = Changes(spec)

    # --- sites

    def _site(self, index: int) -> Site:
        alias_of = self._alias_of(index)
        pages = self._sizes.pages(index if alias_of is None else alias_of)
        return Site(
            index=index,
            authority=self._authority(index),
            pages=pages,
            starts=section_starts(self.spec, pages),
            alias_of=alias_of,
            latency_s=latency_s(self.spec, index),
            slow_share=0.0 if alias_of is not None else slow_share(self.spec, index),
            disallows_private=alias_of is None and index % 3 == 0,
            has_robots=alias_of is None and index % 3 != 1,
            dead=is_dead(self.spec, index),
        )

    def _alias_of(self, index: int) -> int | None:
        every = self.spec.alias_every
        return index - 1 if every and not self.spec.equal and index % every == every - 1 else None

    def _authority(self, index: int) -> str:
        if self.spec.hosts is Hosts.PORTS:
            return f"127.0.0.1:{self.port + index}"
        host = site_name(index) if self.spec.hosts is Hosts.NAMES else site_address(index)
        return host if self.port == 80 else f"{host}:{self.port}"

    def site_at(self, authority: str) -> int | None:
        """Find the site that a Host header names, by name or by address, whatever the port; None: none of this web."""
        host, _, port = authority.partition(":")
        if self.spec.hosts is Hosts.PORTS:
            index = int(port or 80) - self.port if port.isascii() and port.isdigit() else -1
        elif name := _NAME.fullmatch(host.lower()):
            index = int(name[1])
        else:
            try:
                index = int(IPv4Address(host)) - FIRST_ADDRESS
            except ValueError:
                return None
        return index if 0 <= index < self.spec.sites else None

    def addresses(self) -> dict[str, str]:
        """Return the static resolver table for `Hosts.NAMES`: name -> loopback address."""
        return {site_name(index): site_address(index) for index in range(self.spec.sites)}

    # --- URLs

    def url(self, target: Target) -> str:
        """Return the target's normalised URL."""
        return f"http://{self.site(target.site).authority}{self.path(target)}"

    def path(self, target: Target) -> str:
        """Return the target's path and query."""
        kind, number = target.kind, target.number
        if kind is Kind.PAGE:
            return page_path(number, self.site(target.site).private(number))
        if kind is Kind.FILE:
            return f"/files/{number}.png" if number & 1 else f"/files/{number}.pdf"
        if kind is Kind.MISSING:
            return f"/gone/{number}.html"
        return f"/{kind.name.lower()}/{number}"

    def locate(self, site: int, path: str) -> Target | None:
        """Find what stands at a path of a site; None: nothing does."""
        if path == "/":
            return Target(site, Kind.PAGE, 0)
        match = _PATH.fullmatch(path)
        if match is None:
            return None
        if page := match["page"] or match["view"] or match["private"]:
            target = Target(site, Kind.PAGE, int(page))
        else:
            target = Target(site, _BY_FOLDER[match["kind"]], int(match["number"]))
        exists = target.number < self.site(site).pages and (target.kind is not Kind.OUT or self.spec.sites > 1)
        return target if exists and self.path(target) == path else None  # a page has one path, and no other

    def target(self, url: str) -> Target:
        """Find what stands at a URL of this web; KeyError where nothing does."""
        authority, slash, path = url.removeprefix("http://").partition("/")
        site = self.site_at(authority)
        target = None if site is None else self.locate(site, slash + path)
        if target is None:
            raise KeyError(url)
        return target

    def seeds(self, per_site: int = 1) -> list[str]:
        """Return up to `per_site` seeds of every site."""
        return [url for index in range(self.spec.sites) for url in self.seeds_of(index, per_site)]

    def seeds_of(self, index: int, count: int = 1) -> list[str]:
        """Return up to `count` page URLs of a site: its home page, the doors of its hidden sections, then others."""
        site = self.site(index)
        pages = dict.fromkeys(site.starts[:count])
        for attempt in range(4 * count):  # a small or private page can be drawn again
            if len(pages) >= min(count, site.pages):
                break
            page = mix(self.spec.seed, index, attempt, 3) % site.pages
            if not site.private(page):
                pages[page] = None
        return [self.url(Target(index, Kind.PAGE, page)) for page in pages]

    # --- changes

    def changes_of(self, site: int, page: int) -> PageChanges:
        """Return when a page changes, comes and goes; all that is true of it, in virtual time."""
        layout = self.site(site)
        is_leaf = page not in layout.starts and next(layout.children(page), None) is None
        return self._changes.of(site, page, is_leaf)

    # --- answers and links

    def wait_s(self, target: Target) -> float:
        """Return the seconds after which a target is answered; infinity: never."""
        site = self.site(target.site)
        if site.dead:
            return math.inf
        slow = target.kind is Kind.PAGE and site.slow_share > 0
        return max(site.latency_s, slow_s(self.spec, target.site, target.number, site.slow_share) if slow else 0.0)

    def redirect(self, target: Target) -> tuple[int, Target] | None:
        """Return status and aim of a redirect; None: the target is none."""
        site = self.site(target.site)
        if site.dead:
            return None
        if site.alias_of is not None:
            return 301, target._replace(site=site.alias_of)
        kind, number = target.kind, target.number
        status = _REDIRECT_STATUS[number % 5]
        if kind is Kind.OLD and number % 8 == 0:
            return status, target._replace(kind=Kind.MOVED)
        if kind in (Kind.OLD, Kind.MOVED):
            return status, target._replace(kind=Kind.PAGE)
        if kind is Kind.OUT:
            return status, self._elsewhere(target.site, mix(self.spec.seed, target.site, number, 4))
        return None

    def links(self, site: Site, page: int) -> list[Link]:
        """Return the links of a page, in document order: home and parent, children, then drawn ones."""
        number, start, size = site.section(page)
        index, local = site.index, page - start
        draws = self._draws(index, page)
        top = start if number == 2 else 0
        links = [Link(Target(index, Kind.PAGE, top), draws[0] & 0xFFF)]
        if local:
            links.append(Link(Target(index, Kind.PAGE, start + (local - 1) // FANOUT), draws[0] >> 12 & 0xFFF))
        for place, child in enumerate(site.children(page)):
            links.append(Link(Target(index, Kind.PAGE, child), draws[1] >> (place * 12 % 48) & 0xFFF))
        down = min(size, FANOUT * local + FANOUT + 1)
        for draw in draws[2:]:
            if number == 1 and draw & 0x30000 == 0:  # this section is hidden, and leads out
                links.append(self._drawn(site, page, 0, site.starts[1], draw, links[-1].target))
            else:
                # No link leads further down than the tree does, so that depths stay what the tree makes them.
                links.append(self._drawn(site, page, start, down, draw, links[-1].target))
        return links

    def _draws(self, site: int, page: int) -> tuple[int, ...]:
        """Return two words and one more for every drawn link; their number is exponentially distributed."""
        mean = self.spec.links - 3  # links to home, parent and, on the average, one child are there anyway
        share = ((mix(self.spec.seed, site, page) >> 32) + 0.5) / (1 << 32)
        count = 2 + round(-mean * math.log(share))
        key = b"%d/%d/%d" % (self.spec.seed, site, page)
        return struct.unpack(f"<{count}Q", hashlib.shake_128(key).digest(8 * count))

    def _drawn(self, site: Site, page: int, start: int, size: int, draw: int, previous: Target) -> Link:
        """Turn 64 drawn bits into a link to one of `size` pages from `start` on, or to what stands beside them.

        16 bits are for its style, 8 for what it leads to, 40 for which one.
        """
        choice, aim = draw >> 16 & 255, draw >> 24
        if choice >= 32:
            # Half of the links favour popular pages: a product of two draws is most often low.
            place = size * (aim & 0xFFFFF) * (aim >> 20) >> 40 if choice & 4 else size * aim >> 40
            aimed = start + place
            near = aimed - (aimed - page) % TOPICS  # the next lower page on the same topic
            target = Target(site.index, Kind.PAGE, near if choice & 8 and near >= start else aimed)
        elif choice >= 12:
            target = self._elsewhere(site.index, aim) if self.spec.sites > 1 else previous
        elif choice == 11 and self.spec.sites > 1:
            target = Target(site.index, Kind.OUT, aim % site.pages)
        elif choice >= 9:
            target = Target(site.index, Kind.OLD, start + (size * aim >> 40))
        elif choice >= 7:
            target = Target(site.index, Kind.FILE, aim % site.pages)
        elif choice == 6:
            target = Target(site.index, Kind.MISSING, aim % site.pages)
        else:
            target = previous  # the link stands twice on the page, perhaps written differently
        return Link(target, draw & 0xFFFF)

    def _elsewhere(self, site: int, draw: int) -> Target:
        """Draw a page of another site: most often a home page; sites with low numbers are the popular ones."""
        index = (self.spec.sites - 1) * (draw & 0xFFFFF) * (draw >> 20 & 0xFFFFF) >> 40
        index += index >= site
        again = mix(draw)
        page = 0 if again & 3 else (again >> 8) % self.site(index).pages
        return Target(index, Kind.PAGE, page)


def site_address(index: int) -> str:
    """Return the loopback address of a site."""
    return str(IPv4Address(FIRST_ADDRESS + index))


def site_name(index: int) -> str:
    """Return the host name of a site."""
    return f"site{index}.synth.test"


def page_path(page: int, private: bool) -> str:
    """Return the path of a page: four shapes in a few folders; the same on every site, as /about.html is."""
    if page == 0:
        return "/"
    if private:
        return f"/private/p{page}.html"
    shape = page % 4
    if shape == 0:
        return f"/t{page % TOPICS}/p{page}.html"
    if shape == 1:
        return f"/t{page % TOPICS}/s{page % 5}/p{page}.html"
    if shape == 2:
        return f"/t{page % TOPICS}/p{page}/"
    return f"/t{page % TOPICS}/view?id={page}&lang=en"
