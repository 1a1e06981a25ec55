"""What documents list: sitemaps, and what a feature reads beside, which takes the place of this."""

from __future__ import annotations

from collections.abc import Sequence

from scrawler.compiled import mypyc_attr
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import SiteContext
from scrawler.extract.sitemaps import Listed, Sitemap
from scrawler.fetch.downloader import Response
from scrawler.model.rows import SitemapRow
from scrawler.model.terms import url_hash

MAX_LEVEL = 3  # indexes one in another


@mypyc_attr(allow_interpreted_subclasses=True)  # features build on it
class SitemapLists:
    """Sitemaps alone. Whoever reads other lists as well derives from it."""

    def are_read(self, site: SiteContext) -> bool:
        """Tell whether other lists than sitemaps are read at a site."""
        return False

    def named_on(self, site: SiteContext, response: Response) -> list[str]:
        """Return the lists, but for sitemaps, to be asked for beside a seed's page, whose answer this is."""
        return []

    def is_read(self, site: SiteContext, sitemap: Sitemap) -> bool:
        """Tell whether what a document lists is to be listed."""
        return True

    def names_lists(self, sitemap: Sitemap) -> bool:
        """Tell whether what a document lists are lists, not pages."""
        return sitemap.is_index

    def named_in(self, flight: PageFlight, sitemap: Sitemap, some: Sequence[Listed]) -> list[str]:
        """Return those of the lists that a document names which are to be asked for."""
        return [one.url for one in some]

    def deepest(self, sitemap: Sitemap) -> int:
        """Return the level below which nothing is asked for that a document names."""
        return MAX_LEVEL

    def note(self, flight: PageFlight, sitemap: Sitemap, url: str, one: Listed) -> bool:
        """Note what a document says of an internal URL; return whether that is to be listed."""
        party = flight.party
        party.add_sitemap_url(SitemapRow(party.seed.id, url_hash(url), one.lastmod, flight.entry.url))
        return True


SITEMAPS = SitemapLists()
