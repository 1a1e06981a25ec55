"""Scrapy as its documentation writes such a crawl: a CrawlSpider with one rule (in Scrapy's environment).

python scrapy_crawl_spider.py SEEDS REQUESTS_PER_SITE DELAY. robots.txt is obeyed, only errors are logged, nothing is
written.
"""

# mypy: disable-error-code="import-not-found, misc"
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy_settings import fair_settings


class SiteSpider(CrawlSpider):
    """Crawls the host of each seed."""

    name = "site"

    def __init__(self, seeds: list[str], **settings: Any) -> None:
        self.start_urls = seeds
        self.allowed_domains = [str(urlsplit(url).hostname) for url in seeds]
        self.rules = (Rule(LinkExtractor(), callback="take", follow=True),)
        super().__init__(**settings)

    def take(self, response: Response) -> None:
        """Do nothing with a page."""


def main() -> None:
    """Crawl until nothing is left."""
    seeds, per_site, delay = Path(sys.argv[1]).read_text().split(), int(sys.argv[2]), float(sys.argv[3])
    process = CrawlerProcess(
        {
            **fair_settings(len(seeds), per_site, delay),
            "LOG_LEVEL": "ERROR",
        },
    )
    process.crawl(SiteSpider, seeds=seeds)
    process.start()


if __name__ == "__main__":
    main()
