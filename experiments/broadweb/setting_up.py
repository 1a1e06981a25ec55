"""What it costs to set a site up: claim, robots.txt and its record, all that its first page needs and the next do not.

Three crawls tell it: of one site of one page (the start of the program), of many such sites, and of as many sites with
more pages, from which comes what a page costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.broadweb.crawl import crawl_all
from experiments.broadweb.pages import Pages, Urls
from experiments.broadweb.server import Library, serving
from experiments.lab.trees import Tree

MORE_PAGES = 11
_BYTES = 8_000
_PLACES = 200
_SETTINGS = {"threads": 1, "seeds-per-thread": _PLACES, "delay": 0, "export": False}


@dataclass(frozen=True, slots=True)
class SetUp:
    """CPU seconds of the three crawls, over so many sites."""

    sites: int
    start: float
    one_page: float
    more_pages: float

    @property
    def page(self) -> float:
        """Microseconds of a further page."""
        return (self.more_pages - self.one_page) / (self.sites * (MORE_PAGES - 1)) * 1e6

    @property
    def site(self) -> float:
        """Microseconds of a site of one page."""
        return (self.one_page - self.start) / max(self.sites - 1, 1) * 1e6

    @property
    def set_up(self) -> float:
        """Microseconds that a site takes beyond those of its page."""
        return self.site - self.page


def measure_set_up(tree: Tree, books: Library, sites: int) -> SetUp:
    """Crawl three times. Raises ClickException."""
    return SetUp(
        sites=sites,
        start=_cpu(tree, books, 1, 1),
        one_page=_cpu(tree, books, sites, 1),
        more_pages=_cpu(tree, books, sites, MORE_PAGES),
    )


def _cpu(tree: Tree, books: Library, sites: int, pages: int) -> float:
    with serving(books, Pages(pages, _BYTES, urls=Urls.WORDS)) as server:
        figures, _ = crawl_all(tree, server, sites, _SETTINGS)
    return figures.cpu
