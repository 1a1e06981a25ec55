"""Feeds: which URLs one names, and which hub and topic a feed or a page names (W3C WebSub, section 4).

XML is read by expat, element by element. A document type is refused, so no entity is ever declared, much less expanded;
depth, size and number of entries are limited. What is no feed names nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from xml.parsers import expat

from scrawler.urls.normalise import normalise

MOST_ENTRIES = 1_000
_DEEPEST = 64
_ATOM = "http://www.w3.org/2005/Atom"
_ENTRIES = ("entry", "item")
_TAG = re.compile(rb"<link\b[^>]{0,2000}>", re.IGNORECASE)
_VALUE = rb"""(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s>"']{1,2000}))"""
_ATTRIBUTE = re.compile(rb"([a-z-]{1,20})\s{0,9}=\s{0,9}" + _VALUE, re.IGNORECASE)
_LINK = re.compile(r"<([^<>]{1,2000})>([^<>]{0,500})")
_REL = re.compile(r'rel\s{0,9}=\s{0,9}"?([A-Za-z +.:/-]{1,200})"?')


class Feed(NamedTuple):
    """What a feed names: URLs of its entries, of its hubs, and of itself, none of them resolved."""

    entries: tuple[str, ...]
    hubs: tuple[str, ...]
    topic: str


class NoFeedError(Exception):
    """It is no feed, or one that nobody should read."""


class _Reader:
    """Takes the events of expat."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.hubs: list[str] = []
        self.topic = ""
        self._stack: list[str] = []
        self._text: list[str] | None = None
        self._length = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if not self._stack and local not in ("feed", "rss", "RDF"):
            raise NoFeedError("no feed")
        if len(self._stack) >= _DEEPEST:
            raise NoFeedError("too deep")
        inside = any(one in _ENTRIES for one in self._stack)
        self._stack.append(local)
        if local == "link" and "href" in attributes:
            self._link(attributes.get("rel", "alternate"), attributes["href"], inside)
        elif inside and space != _ATOM and (local == "link" or _is_link(local, attributes)):
            self._text, self._length = [], 0

    def _link(self, rel: str, href: str, inside: bool) -> None:
        rels = rel.split()
        if inside:
            if "alternate" in rels:
                self._add(href)
        elif "hub" in rels and len(self.hubs) < 10:
            self.hubs.append(href)
        elif "self" in rels:
            self.topic = self.topic or href

    def text(self, text: str) -> None:
        if self._text is not None and self._length < 4_096:
            self._text.append(text)
            self._length += len(text)

    def end(self, _name: str) -> None:
        if self._text is not None:
            self._add("".join(self._text).strip())
            self._text = None
        self._stack.pop()

    def _add(self, url: str) -> None:
        if url and len(self.entries) < MOST_ENTRIES and url not in self.entries[-4:]:
            self.entries.append(url)


def _is_link(local: str, attributes: Mapping[str, str]) -> bool:
    return local == "guid" and attributes.get("isPermaLink", "true") == "true"


def _refused(*_arguments: Any) -> int:
    raise NoFeedError("it declares a document type, and perhaps entities")


def read_feed(body: bytes) -> Feed:
    """Read Atom, RSS or JSON Feed. Raises NoFeedError."""
    if body.lstrip()[:1] == b"{":
        return _json_feed(body)
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refused
    parser.EntityDeclHandler = _refused
    parser.ExternalEntityRefHandler = _refused
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.buffer_text = True
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise NoFeedError(str(error)) from error
    return Feed(tuple(reader.entries), tuple(reader.hubs), reader.topic)


def _json_feed(body: bytes) -> Feed:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NoFeedError("no JSON") from error
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise NoFeedError("no JSON feed")
    urls = [item.get("url") for item in items[:MOST_ENTRIES] if isinstance(item, dict)]
    named = value.get("hubs")
    hubs = [hub.get("url") for hub in named if isinstance(hub, dict)] if isinstance(named, list) else []
    topic = value.get("feed_url")
    return Feed(
        tuple(url for url in urls if isinstance(url, str)),
        tuple(url for url in hubs[:10] if isinstance(url, str)),
        topic if isinstance(topic, str) else "",
    )


def resolved(url: str, base: str) -> str:
    """Return a URL of a feed, normalised, an empty text where it is none."""
    return normalise(url.strip(), base).url


class Discovered(NamedTuple):
    """Where a topic can be subscribed to; both are empty where nobody says."""

    hub: str
    topic: str


def discovered(url: str, headers: Mapping[str, str], body: bytes) -> Discovered:
    """Return hub and topic that an answer names: in Link headers, or else in a feed, or in a page."""
    found = _of_headers(headers.get("link", "")[:20_000])
    if "hub" not in found:
        try:
            feed = read_feed(body)
            found = {"self": feed.topic} | ({"hub": feed.hubs[0]} if feed.hubs else {})
        except NoFeedError:
            found = _of_page(body)
    hub = resolved(found["hub"], url) if found.get("hub") else ""
    topic = resolved(found["self"], url) if found.get("self") else url
    return Discovered(hub, topic if hub else "")


def _of_headers(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for target, parameters in _LINK.findall(text):
        rel = _REL.search(parameters)
        for name in rel[1].split() if rel else ():
            if name in ("hub", "self"):
                found.setdefault(name, target)
    return found


def _of_page(body: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for tag in _TAG.findall(body[: 256 * 1024]):
        values = {name.lower(): (one or two or three) for name, one, two, three in _ATTRIBUTE.findall(tag)}
        for name in values.get(b"rel", b"").lower().split():
            if name in (b"hub", b"self") and b"href" in values:
                found.setdefault(name.decode(), values[b"href"].decode("utf-8", "replace"))
    return found
