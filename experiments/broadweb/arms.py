"""What is compared on the broad web: an arm is a web, and a crawl of it, written as `places=2000 urls=words`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from experiments.broadweb.pages import Pages, Urls

KEYS = (
    "places (2000), page-kb (30), links (60), site-pages (200), urls (numbered, words), scheme (http, https), "
    "threads (4), delay (1); any other key is an option of `scrawler run`, such as near-duplicates=off or fsync=yes"
)
_KEY = re.compile(r"[a-z][a-z-]*")
_SPARE = 0.5  # sites for each place beyond those that are needed, so that the queue does not run dry
_FEWEST_SPARE = 20
_SWITCHES = {"yes": True, "no": False}


class ArmError(ValueError):
    """An arm that is not written as it should be."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One web, one crawl; `delay` in seconds, `options` further options of `scrawler run` by name."""

    places: int = 2_000
    page_kb: int = 30
    links: int = 60
    site_pages: int = 200
    urls: Urls = Urls.NUMBERED
    scheme: str = "http"
    threads: int = 4
    delay: float = 1.0
    options: tuple[tuple[str, str], ...] = ()

    @property
    def pages(self) -> Pages:
        """What each of its sites holds."""
        return Pages(self.site_pages, self.page_kb * 1_000, self.links, self.urls)

    @property
    def https(self) -> bool:
        """Whether its sites are served by https."""
        return self.scheme == "https"

    @property
    def name(self) -> str:
        """Say what it is: always places, size and URLs, the rest where it is not as USUAL."""
        parts = [f"{self.places:,} places", f"{self.page_kb} KB", str(self.urls)]
        if self.links != USUAL.links:
            parts.append(f"{self.links} links")
        if self.site_pages != USUAL.site_pages:
            parts.append(f"{self.site_pages} pages a site")
        if self.https:
            parts.append("https")
        if self.threads != USUAL.threads:
            parts.append(f"{self.threads} thread{'s' * (self.threads > 1)}")
        if self.delay != USUAL.delay:
            parts.append(f"delay {self.delay:g} s")
        return ", ".join([*parts, *(f"{key}={value}" for key, value in self.options)])

    @property
    def allowed(self) -> float:
        """Pages a second that politeness allows; the server answers at once, so that its latency does not count."""
        return self.places / self.delay

    def sites(self, seconds: float) -> int:
        """Return how many sites there must be for so many seconds, so that none is wanting where one has ended."""
        ended = int(seconds / (self.site_pages * self.delay))  # of one place; no site can end sooner
        return self.places * (1 + ended) + max(ceil(self.places * _SPARE), _FEWEST_SPARE)

    def settings(self) -> Mapping[str, object]:
        """Return the options of `scrawler run`."""
        shared = {
            "threads": self.threads,
            "seeds-per-thread": self.places // self.threads,
            "delay": self.delay,
            "export": False,
        }
        insecure = {"insecure": True} if self.https else {}
        return shared | insecure | {key: _SWITCHES.get(value, value) for key, value in self.options}

    def without(self, key: str) -> Arm:
        """Return the arm without one of its further options."""
        return replace(self, options=tuple(option for option in self.options if option[0] != key))

    def with_places(self, places: int) -> Arm:
        """Return the arm with another number of places."""
        return replace(self, places=places)

    def with_threads(self, threads: int) -> Arm:
        """Return the arm with another number of threads."""
        return replace(self, threads=threads)


USUAL = Arm()


def parse_arm(text: str) -> Arm:
    """Read an arm; what it does not say is as USUAL. Raises ArmError."""
    given = dict(_pair(part) for part in text.split())
    try:
        arm = Arm(
            places=int(given.pop("places", USUAL.places)),
            page_kb=int(given.pop("page-kb", USUAL.page_kb)),
            links=int(given.pop("links", USUAL.links)),
            site_pages=int(given.pop("site-pages", USUAL.site_pages)),
            urls=Urls(given.pop("urls", USUAL.urls)),
            scheme=given.pop("scheme", USUAL.scheme),
            threads=int(given.pop("threads", USUAL.threads)),
            delay=float(given.pop("delay", USUAL.delay)),
            options=tuple(given.items()),
        )
    except ValueError as error:
        raise ArmError(f"{text!r}: {error}") from error
    if reason := _wrong(arm):
        raise ArmError(f"{text!r}: {reason}")
    return arm


def _pair(part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not (_KEY.fullmatch(key) and equals and value):
        raise ArmError(f"{part!r} is not written as key=value")
    return key, value


def _wrong(arm: Arm) -> str:
    """Say what cannot be measured; empty: nothing is wrong."""
    counts = {"places": arm.places, "page-kb": arm.page_kb, "links": arm.links, "site-pages": arm.site_pages}
    too_small = [key for key, value in {**counts, "threads": arm.threads}.items() if value < 1]
    if too_small:
        return f"{too_small[0]} must be at least 1"
    if arm.scheme not in ("http", "https"):
        return "scheme must be http or https"
    if not arm.delay > 0:
        return "delay must be above 0: a broad crawl is polite"
    return f"places must be a multiple of {arm.threads} threads" if arm.places % arm.threads else ""
