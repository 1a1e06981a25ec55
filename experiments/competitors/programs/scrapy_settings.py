"""What both spiders ask of Scrapy: in its environment this stands beside them on the path, outside any package."""

from __future__ import annotations

from typing import Any


def fair_settings(per_site: int) -> dict[str, Any]:
    """Return settings under which Scrapy works as SCrawler does, with `per_site` requests at a time on a site."""
    # In bursts Scrapy 2.19 goes beyond its limit on the loop of asyncio: ten at a time were seen instead of one.
    careful = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"} if per_site == 1 else {}
    return careful | {
        "USER_AGENT": "Scrapy-experiment",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": per_site,
        "DOWNLOAD_DELAY": 0,
    }
