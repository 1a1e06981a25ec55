"""Links by the link scanner, in the form that is there: compiled (`linkscan_c`), or in Python (`linkscan`)."""

from __future__ import annotations

from html.entities import html5
from importlib import import_module

from scrawler.extract import linkscan
from scrawler.extract.links import DEEP_HTML, LinkPolicy, PageLinks
from scrawler.extract.rules import LinkCollector


def _compiled() -> linkscan.Scan | None:
    try:
        scan: linkscan.Scan = import_module("scrawler.extract._linkscan").scan
    except ImportError:  # it is built where there is a compiler
        return None
    return scan


COMPILED = _compiled()
_SCAN = COMPILED or linkscan.scan


def scan_links(page: bytes, url: str, policy: LinkPolicy, scan: linkscan.Scan = _SCAN) -> tuple[LinkCollector, str]:
    """Return the collector of a page's links, the page given in UTF-8, and "deep-html" if it nests too deeply."""
    collector = LinkCollector(url, policy)
    flags = (linkscan.WITH_ASSETS if policy.assets else 0) | (linkscan.WITH_REL if policy.nofollow else 0)
    hrefs, others, deep = scan(page, flags, html5)
    taken, robots = 0, policy.robots
    for before, tag, attributes, in_template, in_head in others:
        if tag == "meta" and "http-equiv" not in attributes and attributes["name"].lower() not in robots:
            continue  # most describe the page to others
        if before > taken:
            collector.hrefs += hrefs[taken:before]
            taken = before
        if tag == "link":
            collector.link(attributes, in_head)
        else:
            collector.element(tag, attributes, in_template)
    collector.hrefs += hrefs[taken:]
    return collector, DEEP_HTML if deep else ""


def scanned(page: bytes, url: str, policy: LinkPolicy, charset: str, note: str) -> PageLinks:
    """Return what an extractor finds on a page that it does not parse, and says why in `note`."""
    collector, _ = scan_links(page, url, policy)
    return collector.result(charset, page, note)
