"""What counts as a link, said once for all extractors.

Links are a[href], area[href], iframe[src], frame[src], meta refresh, and link[href] where it leads to a document.
For the last, Heritrix takes every <link> for an embedded resource and fetches it, and wget expects HTML of all but
style sheets and icons; here the relation must be one that leads to a page, and the type, if given, must be HTML. So
feeds, styles, icons, preloads and manifests are left out without being fetched first.

Links inside <template> and <noscript> count: scripts show the ones, old browsers the others. A <base> inside a
<template> does not, as in browsers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import ada_url

HTML_SPACE = " \t\n\f\r"
LINKING_TAGS = frozenset(("a", "area", "base", "frame", "iframe", "link", "meta"))

_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
_DOCUMENT_RELATIONS = """alternate appendix author begin canonical chapter contents copyright end first glossary help
home index last license next prev previous related search section start subsection toc top up"""
_RELATIONS = frozenset(_DOCUMENT_RELATIONS.split())
# HTML Standard, 4.2.5.3, shared declarative refresh steps: seconds, a separator, an optional "url=", optional quotes.
_REFRESH = re.compile(
    r"""[ \t\n\f\r]*+(?=[0-9.])[0-9.]*+[ \t\n\f\r;,]
        [ \t\n\f\r]*+[;,]?+[ \t\n\f\r]*+
        (?:[uU][rR][lL][ \t\n\f\r]*=[ \t\n\f\r]*)?+
        (?:"(?P<double>[^"]*)|'(?P<single>[^']*)|(?P<bare>.*))""",
    re.VERBOSE | re.DOTALL,
)

Attributes = Mapping[str, str | None]


class LinkCollector:
    """Gathers the links of one page from its elements, handed over in document order."""

    __slots__ = ("_base_href", "_url", "hrefs")

    def __init__(self, url: str) -> None:
        self._url = url
        self._base_href: str | None = None
        self.hrefs: list[str] = []

    def element(self, tag: str, attributes: Attributes, in_template: bool = False) -> None:
        """Take an element: its lower-case local name, and its attributes (None: written without a value)."""
        if tag in ("a", "area"):
            if "href" in attributes:
                self.hrefs.append(_value(attributes, "href"))
        elif tag == "link":
            if _leads_to_document(attributes):
                self._append(_value(attributes, "href"))
        elif tag in ("iframe", "frame"):
            self._append(_value(attributes, "src"))
        elif tag == "meta":
            if _value(attributes, "http-equiv").lower() == "refresh":
                self._append(refresh_target(_value(attributes, "content")))
        elif tag == "base" and self._base_href is None and "href" in attributes and not in_template:
            self._base_href = _value(attributes, "href")

    @property
    def base(self) -> str:
        """The URL that hrefs are resolved against: the first <base href> if it gives an http(s) URL, else the page."""
        if not self._base_href:
            return self._url
        try:
            base = ada_url.join_url(self._url, self._base_href)
        except (ValueError, UnicodeEncodeError):
            return self._url
        return str(base) if base.startswith(("http://", "https://")) else self._url

    def _append(self, href: str) -> None:
        # An empty reference of these elements leads nowhere, while <a href=""> is a link to the page itself.
        if href:
            self.hrefs.append(href)


def refresh_target(content: str) -> str:
    """Return the URL in the content of a meta refresh; empty if there is none (HTML Standard, 4.2.5.3)."""
    match = _REFRESH.match(content)
    if match is None:
        return ""
    return (match["double"] or match["single"] or match["bare"] or "").strip(HTML_SPACE)


def _leads_to_document(attributes: Attributes) -> bool:
    relations = set(_value(attributes, "rel").lower().split())
    if not relations & _RELATIONS or "stylesheet" in relations:
        return False
    return _value(attributes, "type").partition(";")[0].rstrip().lower() in _HTML_TYPES


def _value(attributes: Attributes, name: str) -> str:
    return (attributes.get(name) or "").strip(HTML_SPACE)
