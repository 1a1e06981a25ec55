"""Crawlee for Python on the hosts of the seeds, in Crawlee's environment.

python crawlee_crawl.py SEEDS CONCURRENCY A_MINUTE REFUSED. A_MINUTE are requests in all, inf: as many as it likes.
URLs that end in one of the file types REFUSED (a|b|c) are not fetched. robots.txt is obeyed; the queue is in memory,
and nothing is written or logged.
"""

# mypy: disable-error-code="import-not-found, untyped-decorator, misc"
from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

import uvloop
from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def crawl(seeds: list[str], concurrency: int, a_minute: float, refused: re.Pattern[str]) -> None:
    """Crawl until nothing is left."""
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        http_client=ImpitHttpClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency,
            desired_concurrency=concurrency,
            max_concurrency=concurrency,
            max_tasks_per_minute=a_minute,
        ),
        respect_robots_txt_file=True,
        use_session_pool=False,
        retry_on_blocked=False,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def follow(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="same-origin", exclude=[refused])

    await crawler.run(seeds)


if __name__ == "__main__":
    logging.disable()
    file, number, a_minute, types = sys.argv[1:]
    refused = re.compile(rf"(?i).*\.(?:{types})(?:#|$)")
    uvloop.run(crawl(Path(file).read_text().split(), int(number), float(a_minute), refused))
