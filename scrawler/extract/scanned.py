"""The links of pages that no tree builder should meet, by their tags alone.

All that a tree would hold is found. More than that may be: nothing is dropped for standing where no such element may,
no open <a> is copied, and SVG is no more than markup, so that an xlink:href says nothing. Which <link> is in the head
is told by the tags before it.
"""

from __future__ import annotations

from scrawler.extract.links import LinkPolicy, PageLinks
from scrawler.extract.rules import HTML_SPACE, LinkCollector
from scrawler.extract.tokens import attributes_of, tokens

_TEXTS_OF_HEADS = frozenset(("noframes", "script", "style", "title"))
_TAGS_OF_HEADS = "base basefont bgsound head html link meta noframes noscript script style template title"
_OF_HEADS = frozenset(_TAGS_OF_HEADS.split())


def scanned(page: bytes, url: str, policy: LinkPolicy, charset: str, note: str) -> PageLinks:
    """Return what an extractor finds on a page that it does not parse, and says why in `note`."""
    collector = LinkCollector(url, policy)
    _collect_links(page.decode("utf-8", "replace"), collector)
    return collector.result(charset, page, note)


def _collect_links(page: str, collector: LinkCollector) -> None:
    templates, in_head, opened = 0, True, ""
    for kind, name, rest in tokens(page):
        if kind == "text":
            in_head = in_head and (templates > 0 or opened in _TEXTS_OF_HEADS or not rest.strip(HTML_SPACE))
            continue
        opened = name if kind == "start" else ""
        if kind == "end":
            templates -= templates > 0 and name == "template"
            continue
        in_head = in_head and (templates > 0 or name in _OF_HEADS)
        if name == "template":
            templates += 1
        elif name == "link":
            collector.link(attributes_of(rest), in_head and not templates)
        elif name == "image":  # HTML takes <image> for <img>
            collector.element("img", attributes_of(rest), templates > 0)
        elif name in collector.tags:
            collector.element(name, attributes_of(rest), templates > 0)
