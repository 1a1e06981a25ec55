"""What both spiders ask of Scrapy: in its environment this stands beside them on the path, outside any package."""

from __future__ import annotations

from typing import Any

_IN_ALL = 100


def fair_settings(sites: int, per_site: int, delay: float) -> dict[str, Any]:
    """Return settings under which Scrapy works as SCrawler does, with `per_site` requests at a time on a site.

    `delay` is in seconds.
    """
    # In bursts Scrapy 2.19 goes beyond its limit on the loop of asyncio: ten at a time were seen instead of one. With a
    # delay there are none, and the select reactor takes no more than a thousand connections.
    burst = per_site == 1 and not delay
    careful = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"} if burst else {}
    return careful | {
        "USER_AGENT": "Scrapy-experiment",
        "ROBOTSTXT_OBEY": True,
        # A request that waits for the delay of its site is counted as well.
        "CONCURRENT_REQUESTS": max(_IN_ALL, sites) if delay else _IN_ALL,
        "CONCURRENT_REQUESTS_PER_DOMAIN": per_site,
        "DOWNLOAD_DELAY": delay,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
    }
