"""Faults of single documents, in HTML; what can be read at /<name> leads to /reached/<name>."""

from __future__ import annotations

from scrawler.features.synthweb.faults.visit import Fault, page, says, whole

_NOSNIFF = "X-Content-Type-Options: nosniff"
_PLAIN = "Content-Type: text/html"  # it names no charset
_MIB = 1 << 20


def _html(name: str, does: str, head: str, *headers: str) -> Fault:
    """Return a page with something in its head, or beside it."""
    return whole(name, does, page(name, f"/reached/{name}", head=head), "200 OK", *headers)


def _links(name: str, does: str, *links: str) -> Fault:
    """Return a page that has nothing but links."""
    return whole(name, does, page(name, *links))


def _reaching(name: str) -> str:
    return page(name, f"/reached/{name}")


def _xhtml(name: str) -> str:
    return f"<html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><a href='/reached/{name}'>x</a></html>"


_XHTML = "application/xhtml+xml"
_LAZY = (
    '<p data-href="/reached/lazy-links"><img srcset="/reached/lazy-links 2x" data-src="/reached/lazy-links">'
    "<script>location = '/reached/lazy-links'</script>"
)
_NO_TYPE = _reaching("no-type").encode()
_REFRESH = "Refresh: 5;URL=/reached/refresh-text"
_BASED = '<base href="/elsewhere/"><p>'
_QUERY = "&amp;".join(f"p{number}=1" for number in range(50))

DOCUMENT_FAULTS: tuple[Fault, ...] = (
    says(
        "no-type",
        "HTML without a Content-Type",
        b"HTTP/1.1 200 OK\r\n\r\n" + _NO_TYPE,
    ),
    _html("type-twice", "two Content-Types", "", "Content-Type: text/html", "Content-Type: text/html; charset=utf-8"),
    _html("type-last", "says text, then HTML", "", "Content-Type: text/plain", "Content-Type: text/html"),
    _html("type-word", "a Content-Type that is none", "", "Content-Type: html"),
    _html("type-blank", "a charset without a semicolon", "", "Content-Type: text/html charset=utf-8"),
    _html("type-nosniff", "a Content-Type that is none, for sure", "", "Content-Type: html", _NOSNIFF),
    whole("type-lies", "a PNG that says it is HTML", b"\x89PNG\r\n\x1a\n" + bytes(500)),
    whole("utf16-silent", "UTF-16 that does not say so", _reaching("utf16-silent").encode("utf-16"), "200 OK", _PLAIN),
    whole(
        "charset-unknown",
        "a charset nobody knows",
        _reaching("charset-unknown"),
        "200 OK",
        f"{_PLAIN}; charset=klingon",
    ),
    whole("xhtml", "XHTML with a title that ends itself", _xhtml("xhtml"), "200 OK", f"Content-Type: {_XHTML}"),
    whole("xhtml-as-xml", "XHTML that is called XML", _xhtml("xhtml-as-xml"), "200 OK", "Content-Type: text/xml"),
    whole("xhtml-broken", "XHTML that is none", _reaching("xhtml-broken"), "200 OK", f"Content-Type: {_XHTML}"),
    whole("xml", "XML that is no page", "<x><a href='/reached/xml'>x</a></x>", "200 OK", "Content-Type: text/xml"),
    _html("meta-noindex", "forbids to index", '<meta name="robots" content="noindex">'),
    _html("meta-nofollow", "forbids to follow", '<meta name="robots" content="nofollow">'),
    _html("meta-of-others", "forbids others to follow", '<meta name="otherbot" content="none">'),
    _html("unavailable-since", "is out of date", '<meta name="robots" content="unavailable_after: 2001-01-01">'),
    _html("header-none", "forbids both by its header", "", "X-Robots-Tag: none"),
    _html("canonical-elsewhere", "names another URL as its own", '<link rel="canonical" href="/canonical">'),
    _html("refresh-loop", "meta refresh to itself", '<meta http-equiv="refresh" content="0;url=/refresh-loop">'),
    whole("refresh-header", "refreshed by its header alone", "", "200 OK", "Refresh: 0; url=reached/refresh-header"),
    whole("refresh-text", "text that a header refreshes", "x", "200 OK", "Content-Type: text/plain", _REFRESH),
    whole(
        "refresh-based",
        "a header, and a base that is not for it",
        _BASED,
        "200 OK",
        "Refresh: 1,'reached/refresh-based'",
    ),
    _html("base-script", "a base that is no http", '<base href="javascript:x">'),
    _links(
        "links-odd", "loopback in all notations", "http://2130706433:2/", "http://[::ffff:7f00:1]:2/", "http://127.1:2/"
    ),
    _links("path-repeats", "a path that repeats itself", "/" + "a/b/" * 8),
    _links("path-long", "a path of a hundred segments", "/" + "/".join(f"s{number}" for number in range(100))),
    _links("query-long", "a query of fifty parameters", f"/q?{_QUERY}"),
    _links("link-endless", "a link of a megabyte", "/" + "x" * _MIB, "/reached/link-endless"),
    _links("many-links", "20,000 links on a page", *(f"/reached/many-links#{number}" for number in range(20_000))),
    whole("lazy-links", "links that only scripts would see", _LAZY),
    whole("deep-markup", "200,000 open elements", "<div>" * 200_000 + _reaching("deep-markup")),
)
