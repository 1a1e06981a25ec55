"""What counts as a link, said once for all extractors.

Links are a[href], area[href], iframe[src], frame[src], meta refresh, and link[href] where it leads to a document.
For the last, Heritrix takes every <link> for an embedded resource and fetches it, and wget expects HTML of all but
style sheets and icons; here the relation must be one that leads to a page, and the type, if given, must be HTML. So
feeds, styles, icons, preloads and manifests are left out without being fetched first.

Links inside <template> and <noscript> count: scripts show the ones, old browsers the others. A <base> inside a
<template> does not, as in browsers, nor does a robots meta element; elsewhere that one counts in the body too.
A canonical link counts only in the head, as for search engines: what stands in the body may be a guest's.

In SVG and MathML an a[xlink:href] is a link where it has no href, as the HTML Standard tells the two apart; elements of
MathML that are no <a> are none, for MathML Core gives them no href, nor does xml:base move a base, as in browsers.
What is there named as in HTML, as <base>, <iframe> or <link>, is no element of HTML and says nothing.

Assets, where they are wanted, are img[src], img[srcset] and source[srcset] (all their candidates), the src of video,
audio, source, track and embed, input[type=image], video[poster], script[src], image[href] and use[href] of SVG (also
with xlink:href), and link[href] for styles, icons and preloaded styles, scripts and images, with imagesrcset. What
scripts load when it comes into view stands in data-src and the like. Of styles in the page, in style elements and
attributes, it is what `styles` finds. What style sheets and scripts ask for themselves is not among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import ada_url

from scrawler.extract.links import LinkPolicy, LinkSources, PageLinks
from scrawler.extract.styles import style_urls
from scrawler.urls.query import encode_query

HTML_SPACE: Final = " \t\n\f\r"
_LONGEST_BASE = 16_384  # characters; in a longer one, which no settings allow, queries are read as UTF-8
_LINKING_TAGS: Final = frozenset(("a", "area", "base", "frame", "iframe", "link", "meta"))
FOREIGN_TAGS = frozenset(("a", "image", "use"))  # these say something in SVG and MathML
_FILMS = ("audio", "embed", "track", "video")
_ASSET_TAGS: Final = frozenset((*_FILMS, "image", "img", "input", "script", "source", "use"))
# Attributes of images and films that name a URL, and those that name several; scripts read those of data.
_URL_ATTRIBUTES = ("src", "data-src", "data-lazy", "data-lazy-src", "data-original")
_SET_ATTRIBUTES = ("srcset", "data-srcset", "data-lazy-srcset", "data-original-set")
_POSTERS = ("poster", "data-poster")
ASSET_ATTRIBUTES = (*_URL_ATTRIBUTES, *_SET_ATTRIBUTES, *_POSTERS)
_ATTRIBUTES_OF = {
    "img": _URL_ATTRIBUTES, "source": _URL_ATTRIBUTES, "video": (*_POSTERS, *_URL_ATTRIBUTES),
    "audio": _URL_ATTRIBUTES, "embed": _URL_ATTRIBUTES, "track": _URL_ATTRIBUTES, "script": ("src",), "input": ("src",),
    "image": ("href",), "use": ("href",),
}  # fmt: skip
_NO_URL = ("{", "[")  # begins of data that scripts read otherwise

_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
_DOCUMENT_RELATIONS = """alternate appendix author begin canonical chapter contents copyright end first glossary help
home index last license next prev previous related search section start subsection toc top up"""
_RELATIONS = frozenset(_DOCUMENT_RELATIONS.split())
_ASSET_RELATIONS = frozenset(("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"))
_NO_RELATIONS: frozenset[str] = frozenset()
_LONGEST_KNOWN: Final = 100  # a longer rel is not remembered
_PRELOADED_ASSETS = frozenset(("style", "script", "image"))
# What a <link> may be, by its rel.
_DOCUMENT: Final = 1
_CANONICAL: Final = 2
_ASSET: Final = 4
_PRELOADED: Final = 8
# HTML Standard, 4.2.5.3, shared declarative refresh steps: seconds, a separator, an optional "url=", optional quotes.
_REFRESH = re.compile(
    r"""[ \t\n\f\r]*(?=[0-9.])[0-9.]*(?=[ \t\n\f\r;,])
        [ \t\n\f\r]*[;,]?[ \t\n\f\r]*
        (?:[uU][rR][lL][ \t\n\f\r]*=[ \t\n\f\r]*)?
        (?:"(?P<double>[^"]*)|'(?P<single>[^']*)|(?P<bare>.*))""",
    re.VERBOSE | re.DOTALL,
)
_AT_ONCE = re.compile(r"0*(?![0-9])")  # parts of a second do not count

# HTML Standard, 4.8.4.3.10: URLs with descriptors behind, between commas; a comma in parentheses separates nothing.
_CANDIDATE = re.compile(r"[ \t\n\f\r,]*([^ \t\n\f\r,][^ \t\n\f\r]*)")
_DESCRIPTORS = re.compile(r"[^,(]*(?:\([^)]*\)?[^,(]*){0,100}")  # bounded: each repetition takes memory

Attributes = Mapping[str, str | None]

DEFAULT_POLICY = LinkPolicy()

# Where a link stands, as Heritrix says it in its metadata records: L leads on, E is embedded, R replaces the page.
ANCHOR: Final = "L a/@href"
_AREA: Final = "L area/@href"
_LINK: Final = "L link/@href"
_REFRESHED = "R meta"
_LINKED_ASSET = "E link/@href"
_PRELOADED_SET = "E link/@imagesrcset"
_STYLED = "E =EMBED_MISC"
_FRAMES: Final = {"iframe": "E iframe/@src", "frame": "E frame/@src"}


class LinkCollector:
    """Gathers the links of one page from its elements, handed over in document order."""

    __slots__ = (
        "_assets",
        "_base_href",
        "_canonicals",
        "_policy",
        "_refresh",
        "_robots",
        "_sees_assets",
        "_sources",
        "_unfollowed",
        "_url",
        "hrefs",
        "tags",
    )

    def __init__(self, url: str, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        self._url = url
        self._policy = policy
        self._base_href: str | None = None
        self.hrefs: list[str] = []
        self._robots: list[str] = []
        self._canonicals: list[str] = []
        self._refresh: str | None = None
        self._unfollowed: list[str] = []
        self._assets: list[str] = []
        self._sources = LinkSources([], []) if policy.outlinks else None  # anchors at the end of `hrefs` come later
        self._sees_assets = policy.sees_assets
        self.tags = _LINKING_TAGS | _ASSET_TAGS if self._sees_assets else _LINKING_TAGS  # elements to be handed over

    def element(self, tag: str, attributes: Attributes, in_template: bool = False) -> None:
        """Take an element: its lower-case local name, and its attributes (None: written without a value)."""
        if tag in ("a", "area"):
            if "href" in attributes:
                self._add(_value(attributes, "href"), self._place_for(attributes), ANCHOR if tag == "a" else _AREA)
        elif tag == "link":
            self.link(attributes, in_head=False)
        elif tag in ("iframe", "frame"):
            self._append(_value(attributes, "src"), _FRAMES[tag])
        elif tag == "meta":
            self._meta(attributes, in_template)
        elif tag == "base":
            if self._base_href is None and "href" in attributes and not in_template:
                self._base_href = _value(attributes, "href")
        elif self._sees_assets and tag in _ASSET_TAGS:
            self._asset(tag, attributes)

    def link(self, attributes: Attributes, in_head: bool) -> None:
        """Take the attributes of a <link>; what it calls canonical counts only in the head."""
        kind = link_kind(attributes.get("rel"))
        if in_head and kind & _CANONICAL:
            self.canonical(attributes)
        if not (kind & _DOCUMENT or self._sees_assets):  # most of them are style sheets
            return
        href = (attributes.get("href") or "").strip(HTML_SPACE)
        if not href and not (kind & _PRELOADED and self._sees_assets):
            return
        if kind & _DOCUMENT and _may_be_document(attributes):
            self._add(href, self._place_for(attributes) if self._policy.nofollow else self.hrefs, _LINK)
        elif self._sees_assets and (kind & _ASSET or (kind & _PRELOADED and _is_preloaded_asset(attributes))):
            if href:
                self._add(href, self._assets, _LINKED_ASSET)
            for url in srcset_urls(_value(attributes, "imagesrcset")) if kind & _PRELOADED else ():
                self._add(url, self._assets, _PRELOADED_SET)

    def canonical(self, attributes: Attributes) -> None:
        """Take the attributes of a <link> in the head for which `is_canonical` holds."""
        if "href" in attributes:
            self._canonicals.append(_value(attributes, "href"))

    def result(self, charset: str, page: bytes = b"", note: str = "") -> PageLinks:
        """Return all that was gathered from a page, which is given in UTF-8."""
        if self._sees_assets:
            for url in style_urls(page):
                self._add(url, self._assets, _STYLED)
        assets = list(dict.fromkeys(self._assets)) if self._policy.assets else []
        if self._sources is not None:
            self._tell_anchors(self._sources)
        return PageLinks(
            self.base(charset), self.hrefs, charset, note, self._robots, self._canonicals, self._unfollowed, assets,
            page=page, sources=self._sources, refresh=self._refresh or "",
        )  # fmt: skip

    def base(self, charset: str) -> str:
        """Return the URL that hrefs are resolved against: the first <base href> if it is http(s), else the page's."""
        if not self._base_href:
            return self._url
        try:
            base = ada_url.join_url(self._url, encode_query(self._base_href, charset, _LONGEST_BASE))
        except (ValueError, UnicodeEncodeError):
            return self._url
        return str(base) if base.startswith(("http://", "https://")) else self._url

    def _place_for(self, attributes: Attributes) -> list[str]:
        """Return the list of links in which one with these attributes belongs."""
        nofollow = self._policy.nofollow
        if nofollow and not nofollow.isdisjoint(relations(attributes.get("rel"))):
            return self._unfollowed
        return self.hrefs

    def _append(self, href: str, source: str) -> None:
        # An empty reference of these elements leads nowhere, while <a href=""> is a link to the page itself.
        if href:
            self._add(href, self.hrefs, source)

    def _add(self, href: str, place: list[str], source: str) -> None:
        """Add a URL to one of the lists, and where it stands if that is wanted."""
        sources = self._sources
        if sources is not None:
            if place is self.hrefs:
                self._tell_anchors(sources)
                sources.of_hrefs.append(source)
            else:
                sources.others.append((href, source))
        place.append(href)

    def _tell_anchors(self, sources: LinkSources) -> None:
        """Note that the last hrefs, of which nothing was told, are those of <a>: nearly all are."""
        sources.of_hrefs.extend([ANCHOR] * (len(self.hrefs) - len(sources.of_hrefs)))

    def _meta(self, attributes: Attributes, in_template: bool) -> None:
        if "http-equiv" in attributes and _value(attributes, "http-equiv").lower() == "refresh":
            content = _value(attributes, "content")
            target = refresh_target(content)
            self._append(target, _REFRESHED)
            if self._refresh is None and target and not in_template:  # the first one holds
                self._refresh = target if refreshes_at_once(content) else ""
        if "name" in attributes and not in_template and _value(attributes, "name").lower() in self._policy.robots:
            self._robots.append(_value(attributes, "content"))

    def _asset(self, tag: str, attributes: Attributes) -> None:
        if tag == "input" and _value(attributes, "type").lower() != "image":
            return
        for name in _ATTRIBUTES_OF[tag]:
            url = _value(attributes, name)
            if tag in FOREIGN_TAGS:
                url = url.partition("#")[0]  # most <use> name something in the page itself
            if url and not url.startswith(_NO_URL):
                self._add(url, self._assets, f"E {tag}/@{name}")
        if tag not in ("img", "source"):
            return
        for name in _SET_ATTRIBUTES:
            for url in srcset_urls(_value(attributes, name)) if name in attributes else ():
                self._add(url, self._assets, f"E {tag}/@{name}")


def relations(rel: str | None) -> frozenset[str]:
    """Return the relations that a rel names, in lower case."""
    if not rel:
        return _NO_RELATIONS
    return _relations(rel) if len(rel) <= _LONGEST_KNOWN else frozenset(rel.lower().split())


@lru_cache(maxsize=1_024)  # sites write the same few rels on every page
def _relations(rel: str) -> frozenset[str]:
    return frozenset(rel.lower().split())


def link_kind(rel: str | None) -> int:
    """Return what a <link> with this rel may be: bits for a document, a canonical URL, an asset, a preloaded one."""
    if not rel:
        return 0
    return _known_kind(rel) if len(rel) <= _LONGEST_KNOWN else _kind_of(relations(rel))


@lru_cache(maxsize=1_024)
def _known_kind(rel: str) -> int:
    return _kind_of(relations(rel))


def _kind_of(said: frozenset[str]) -> int:
    kind = _DOCUMENT if not said.isdisjoint(_RELATIONS) and "stylesheet" not in said else 0
    kind |= _CANONICAL if "canonical" in said else 0
    kind |= _ASSET if not said.isdisjoint(_ASSET_RELATIONS) else 0
    return kind | _PRELOADED if "preload" in said else kind


def may_matter(rel: str | None, with_assets: bool) -> bool:
    """Tell by its rel whether a <link> may be a link, a canonical URL or an asset: most are style sheets."""
    return bool(link_kind(rel) & (_DOCUMENT | _CANONICAL | (_ASSET | _PRELOADED if with_assets else 0)))


def is_canonical(attributes: Attributes) -> bool:
    """Tell whether a <link> calls its target canonical, if it stands in the head."""
    return bool(link_kind(attributes.get("rel")) & _CANONICAL)


def srcset_urls(srcset: str) -> list[str]:
    """Return the URLs of a list of image candidates (HTML Standard, 4.8.4.3.10)."""
    urls, position = [], 0
    while match := _CANDIDATE.match(srcset, position):
        position = match.end()
        if not match[1].endswith(","):  # without the comma descriptors follow
            position = _after_descriptors(srcset, position)
        urls.append(match[1].rstrip(","))
    return urls


def _after_descriptors(srcset: str, position: int) -> int:
    while descriptors := _DESCRIPTORS.match(srcset, position):
        position = descriptors.end()
        if srcset[position : position + 1] != "(":  # with it there are more descriptors than one match takes
            break
    return position


def refresh_target(content: str) -> str:
    """Return the URL in the content of a meta refresh; empty if there is none (HTML Standard, 4.2.5.3)."""
    match = _REFRESH.match(content)
    if match is None:
        return ""
    return (match["double"] or match["single"] or match["bare"] or "").strip(HTML_SPACE)


def refreshes_at_once(content: str) -> bool:
    """Tell whether the content of a refresh asks for no pause, so that nobody reads the page that says it."""
    return _AT_ONCE.match(content.lstrip(HTML_SPACE)) is not None


def _may_be_document(attributes: Attributes) -> bool:
    return "type" not in attributes or _value(attributes, "type").partition(";")[0].rstrip().lower() in _HTML_TYPES


def _is_preloaded_asset(attributes: Attributes) -> bool:
    return _value(attributes, "as").lower() in _PRELOADED_ASSETS


def _value(attributes: Attributes, name: str) -> str:
    return (attributes.get(name) or "").strip(HTML_SPACE)
