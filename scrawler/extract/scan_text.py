"""The text of pages that no tree builder should meet, by their tags alone."""

from __future__ import annotations

from scrawler.extract.links import PageText
from scrawler.extract.text import TextCollector
from scrawler.extract.tokens import attributes_of, tokens


def scan_text(page: str) -> PageText:
    """Return what a page says."""
    collector = TextCollector()
    for kind, name, rest in tokens(page):
        if kind == "text":
            collector.text(rest)
        elif kind == "start":
            collector.start(name, attributes_of(rest))
        else:
            collector.end(name)
    return collector.result()
