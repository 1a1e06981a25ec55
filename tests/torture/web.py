"""The web that is crawled under torture: its truth, what a crawl must have made of it, and what its server saw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scrawler.features.synthweb.process import LoggedRequest, ServerProcess, read_log
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import Party, party
from scrawler.features.synthweb.web import SyntheticWeb
from tests.torture.moody import Mood, MoodyServer, mood_of

MAX_DEPTH = 15  # the crawler's default; no site is as deep


class Requests:
    """The server's log, read on from where it was read last."""

    def __init__(self, file: Path) -> None:
        self._file, self._read_to = file, 0
        self.all: list[LoggedRequest] = []
        self.urls: set[str] = set()  # asked for so far, robots.txt not among them

    def look(self) -> None:
        """Read what has come since."""
        with self._file.open("rb") as log:
            log.seek(self._read_to)
            new, end, _ = log.read().rpartition(b"\n")
        self._read_to += len(new) + len(end)
        lines = read_log(new.decode())
        self.all += lines
        self.urls.update(line.url for line in lines if not is_robots(line.url))

    def pages(self) -> list[LoggedRequest]:
        """Return all requests but those for robots.txt."""
        return [line for line in self.all if not is_robots(line.url)]


@dataclass(frozen=True)
class TortureWeb:
    """A served web with its seeds; everything that a crawl of them has to find follows from the layout alone."""

    web: SyntheticWeb
    seeds: tuple[str, ...]
    requests: Requests
    moody: bool = False

    @cached_property
    def moods(self) -> dict[str, Mood]:
        """URL -> what the first request for it came to, where that was not as usual."""
        found = ((url, mood_of(url)) for url in self.asked_for) if self.moody else ()
        return {url: mood for url, mood in found if mood is not None}

    @cached_property
    def parties(self) -> dict[str, Party]:
        """Seed URL -> what is found from it."""
        return {url: party(self.web, url, max_depth=MAX_DEPTH) for url in self.seeds}

    @cached_property
    def wider(self) -> list[Party]:
        """What is found from seeds that have moved, with the hosts that were given: theirs are links to these as well.

        Of a site with several seeds it hangs on who comes to a page first whether such a link is followed from there.
        """
        moved = (url for url, one in self.parties.items() if host_of(url) != host_of(one.home))
        return [party(self.web, url, max_depth=MAX_DEPTH, given=True) for url in moved]

    @cached_property
    def may_be_asked_for(self) -> set[str]:
        """URLs that may have a row, beside those that must have one."""
        return set[str]().union(*(one.requested | one.files | one.denied for one in self.wider))

    @cached_property
    def results(self) -> dict[str, str]:
        """URL -> result of the one row that it must have."""
        results: dict[str, str] = {}
        for one in self.parties.values():
            results |= dict.fromkeys(one.pages, "fetched")
            results |= dict.fromkeys((url for url in one.files if url.endswith(".pdf")), "fetched")  # images are left
            results |= dict.fromkeys(one.redirects, "redirect")
            results |= dict.fromkeys(one.missing, "http-error")
            results |= dict.fromkeys(one.denied, "robots-denied")
        return results

    @cached_property
    def asked_for(self) -> set[str]:
        """All URLs that a crawler must ask for, and no others."""
        return {url for url, result in self.results.items() if result != "robots-denied"}

    @cached_property
    def redirected_to(self) -> set[str]:
        """Hosts to which another one redirects all: its robots.txt too, and that is followed whoever has the host."""
        return {host_of(one.home) for url, one in self.parties.items() if host_of(url) != host_of(one.home)}


@contextmanager
def served(spec: WebSpec, seeds_per_site: int, log: Path, moody: bool = False) -> Iterator[TortureWeb]:
    """Serve a web, with its log in a file; its seeds are home pages and, for some sites, further pages."""
    with MoodyServer(spec, log=log) if moody else ServerProcess(spec, log=log) as server:
        web = server.web
        # Every third site has several seeds: parties of one site share what they list.
        counts = (seeds_per_site if index % 3 == 0 else 1 for index in range(spec.sites))
        seeds = tuple(url for index, count in enumerate(counts) for url in web.seeds_of(index, count))
        yield TortureWeb(web, seeds, Requests(log), moody)


def is_robots(url: str) -> bool:
    """Whether a URL is that of a robots.txt."""
    return url.endswith("/robots.txt")


def host_of(url: str) -> str:
    """Return host and port of a URL."""
    return url.split("/", 3)[2]
