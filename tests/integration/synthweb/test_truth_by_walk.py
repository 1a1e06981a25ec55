"""The web's own truth against an independent walk of the live server, with the standard library's parts alone."""

from __future__ import annotations

import http.client
from collections import deque
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.truth import Party, party
from scrawler.features.synthweb.web import SyntheticWeb
from tests.limits import HANGS

LINKS = {"a": "href", "area": "href", "iframe": "src"}


class LinkParser(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.urls: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "base":
            self.base = urljoin(self.base, values["href"] or "")
        href = values.get(LINKS.get(tag, ""))
        if href is None:
            return
        url = urlsplit(urljoin(self.base, href.strip()))
        if url.scheme == "http":
            self.urls.add(urldefrag(url._replace(netloc=url.netloc.lower()).geturl()).url)


class Walker:
    """Asks every URL it is given once, over one connection a host."""

    def __init__(self, web: SyntheticWeb) -> None:
        self._addresses = web.addresses()
        self._connections: dict[str, http.client.HTTPConnection] = {}
        self._robots: dict[str, str] = {}

    def fetch(self, url: str) -> tuple[int, str, bytes]:
        parts = urlsplit(url)
        if parts.netloc not in self._connections:
            host = self._addresses.get(parts.hostname or "", parts.hostname)
            self._connections[parts.netloc] = http.client.HTTPConnection(str(host), parts.port, timeout=HANGS)
        connection = self._connections[parts.netloc]
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Host": parts.netloc})
        answer = connection.getresponse()
        return answer.status, urljoin(url, answer.getheader("Location") or ""), answer.read()

    def denied(self, url: str) -> bool:
        origin = urljoin(url, "/")
        if origin not in self._robots:
            self._robots[origin] = self.fetch(urljoin(url, "/robots.txt"))[2].decode()
        return "Disallow: /private/" in self._robots[origin] and urlsplit(url).path.startswith("/private/")

    def walk(self, seed: str) -> Party:
        home, found = seed, Party(seed)
        status, aim, _ = self.fetch(seed)
        while 300 <= status < 400 and urlsplit(aim).netloc != urlsplit(home).netloc:
            found.redirects.add(home)
            home = found.home = aim
            status, aim, _ = self.fetch(home)
        seen, waiting = {home}, deque([home])
        while waiting:
            for url in self._visit(waiting.popleft(), found) - seen:
                seen.add(url)
                if urlsplit(url).netloc == urlsplit(home).netloc:
                    waiting.append(url)
                else:
                    found.external.add(url)
        return found

    def _visit(self, url: str, found: Party) -> set[str]:
        if url.endswith((".pdf", ".png")):
            found.files.add(url)
            return set()
        if self.denied(url):
            found.denied.add(url)
            return set()
        status, aim, body = self.fetch(url)
        if 300 <= status < 400:
            found.redirects.add(url)
            return {aim}
        if status == 404:
            found.missing.add(url)
            return set()
        assert status == 200
        found.pages.add(url)
        parser = LinkParser(url)
        parser.feed(body.decode())
        return parser.urls


@pytest.mark.parametrize(
    "spec",
    [
        WebSpec(seed=1, sites=8, mean_pages=20, page_bytes=500),
        WebSpec(seed=2, sites=8, mean_pages=20, page_bytes=500, hosts=Hosts.NAMES),
        WebSpec(seed=3, sites=5, mean_pages=60, page_bytes=500, alias_every=2, hidden=0.4),
        WebSpec(seed=4, sites=1, mean_pages=200, page_bytes=0),
    ],
    ids=["addresses", "names", "aliases", "one-site"],
)
def test_truth_equals_independent_walk(spec: WebSpec) -> None:
    with SynthServer(spec) as server:
        walker = Walker(server.web)
        parties = {seed: (party(server.web, seed), walker.walk(seed)) for seed in server.web.seeds(per_site=2)}
    for seed, (expected, walked) in parties.items():
        assert walked == expected, seed
    groups = ("pages", "redirects", "missing", "files", "denied")
    assert all(any(getattr(expected, group) for expected, _ in parties.values()) for group in groups)
    # What was asked is in the log, and nothing answered otherwise than the layout says.
    asked = {url for url in server.requests() if not url.endswith("/robots.txt")}
    assert asked == set().union(*(expected.requested for expected, _ in parties.values()))
