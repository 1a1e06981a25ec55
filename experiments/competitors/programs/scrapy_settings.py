"""What both spiders ask of Scrapy: in its environment this stands beside them on the path, outside any package."""

from __future__ import annotations

from typing import Any


def fair_settings(per_site: int) -> dict[str, Any]:
    """Return settings under which Scrapy works as SCrawler does, with `per_site` requests at a time on a site."""
    return {
        "USER_AGENT": "Scrapy-experiment",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": per_site,
        "DOWNLOAD_DELAY": 0,
    }
