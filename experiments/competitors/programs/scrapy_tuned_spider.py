"""Scrapy at its fastest on the same work (in Scrapy's environment).

python scrapy_tuned_spider.py SEEDS REQUESTS_PER_SITE DELAY. robots.txt is obeyed. There is no log, no pipeline, no
statistics, no cookies, no telnet console; links are found with lxml alone, and a URL that was seen before is left out
before Scrapy makes a request of it.
"""

# mypy: disable-error-code="import-not-found, misc"
from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import scrapy
from lxml import html
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy_settings import fair_settings

_LINKS = "//a/@href | //area/@href | //link[@rel='next' or @rel='prev']/@href | //iframe/@src | //frame/@src"
_REFUSED = frozenset(IGNORED_EXTENSIONS)


class PartySpider(scrapy.Spider):
    """Crawls the host of each seed."""

    name = "party"

    def __init__(self, seeds: Path, **settings: Any) -> None:
        super().__init__(**settings)
        self._seeds = seeds.read_text().split()
        self._seen = set(self._seeds)

    async def start(self) -> AsyncIterator[Any]:
        """Yield the seeds."""
        for url in self._seeds:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield a request for each new internal URL."""
        if not isinstance(response, TextResponse) or b"html" not in (response.headers.get("Content-Type") or b""):
            return
        host = urlsplit(response.url).netloc
        root = html.fromstring(response.body)
        refreshes = (content.partition("=")[2] for content in root.xpath("//meta[@http-equiv='refresh']/@content"))
        for href in {*root.xpath(_LINKS), *refreshes}:
            try:
                url = urljoin(response.url, href).partition("#")[0]
                parts = urlsplit(url)
            except ValueError:
                continue
            if parts.netloc != host or url in self._seen or parts.path.rpartition(".")[2].lower() in _REFUSED:
                continue
            self._seen.add(url)
            yield scrapy.Request(url, dont_filter=True)


def main() -> None:
    """Crawl until nothing is left."""
    seeds, per_site, delay = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    process = CrawlerProcess(
        {
            **fair_settings(len(seeds.read_text().split()), per_site, delay),
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
            "LOG_ENABLED": False,
            "LOG_INSTALL_ROOT_HANDLER": False,
            "TELNETCONSOLE_ENABLED": False,
            "COOKIES_ENABLED": False,
            "REFERER_ENABLED": False,
            "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
            "SPIDER_MIDDLEWARES": {"scrapy.spidermiddlewares.depth.DepthMiddleware": None},
            "DOWNLOADER_MIDDLEWARES": {"scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None},
            "EXTENSIONS": {
                "scrapy.extensions.corestats.CoreStats": None,
                "scrapy.extensions.logstats.LogStats": None,
                "scrapy.extensions.memusage.MemoryUsage": None,
            },
        },
    )
    process.crawl(PartySpider, seeds=seeds)
    process.start()


if __name__ == "__main__":
    main()
