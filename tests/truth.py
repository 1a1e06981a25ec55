"""How much of a synthetic web is there, by formula."""

from __future__ import annotations

from scrawler.features.synthweb.web import SyntheticWeb


def home_pages(web: SyntheticWeb, site: int, robots: bool = True) -> int:
    """Count by formula the HTML pages that a site's home page leads to: those of section 0, less denied ones.

    For sites too large to walk; equal to `len(party(...).pages)`.
    """
    layout = web.site(site)
    size = layout.section(0)[2]
    if not (robots and layout.disallows_private):
        return size
    return size - sum(map(layout.private, range(size)))
