"""Which URL stands for a page: what it calls canonical, and where a redirect leads."""

from __future__ import annotations

from scrawler.core.party.decisions import header_text
from scrawler.extract.link_header import canonical_targets
from scrawler.extract.links import PageLinks
from scrawler.fetch.downloader import Response
from scrawler.urls.analyzer import Analysis, UrlAnalyzer
from scrawler.urls.verdict import Verdict

_MOST_NAMED = 16  # so many canonical URLs of a page are looked at: a page that names more misuses the word


def canonical_url(analyzer: UrlAnalyzer, response: Response, links: PageLinks | None) -> str:
    """Return the URL that a page calls canonical; empty if it is the page's own, as usual, or none that can be.

    A page says it by <link> in its head or, also where it is no HTML, by a Link header (RFC 6596). Where it names
    several that are different, none counts: search engines do so, for one of them is a mistake.
    """
    url = response.request.url
    in_head = [href for href in links.canonicals if href != url] if links else []
    header = header_text(response, "link") if "link" in response.headers else ""
    if not (in_head or header):
        return ""
    in_header = canonical_targets(header)
    if len(in_head) + len(in_header) > _MOST_NAMED:
        return ""
    base, charset = (links.base, links.charset) if links else ("", "")
    named = {
        _only(analyzer.analyze(url, [href], base, charset), url) for href in in_head
    }  # links of the page too: known
    named |= {_only(analyzer.analyze(url, [target]), url) for target in in_header}
    if links and len(in_head) < len(links.canonicals):
        named.add(url)
    named.discard("")
    target = named.pop() if len(named) == 1 else url
    return "" if target == url else target


def redirect_target(analyzer: UrlAnalyzer, url: str, location: str) -> str:
    """Return where a URL redirects to; empty if to itself, or to what no crawler can ask for."""
    target = _only(analyzer.analyze_any_type(url, [location]), url)
    return "" if target == url else target


def _only(analysis: Analysis, page: str) -> str:
    """Return what the one href of an analysis came to, empty if it was refused."""
    if Verdict.SAME_PAGE in analysis.counts:
        return page
    return next(iter(analysis.internal + analysis.external), "")
