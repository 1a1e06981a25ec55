"""All crawlers that are compared, in the order of their turns."""

from __future__ import annotations

from experiments.competitors.colly import Colly
from experiments.competitors.crawlee import Crawlee
from experiments.competitors.heritrix import Heritrix
from experiments.competitors.nutch import Nutch
from experiments.competitors.peer import Peer
from experiments.competitors.scrapy import Scrapy
from experiments.competitors.scrawler import SCrawler
from experiments.competitors.spider import Spider
from experiments.competitors.wget2 import Wget2

DEFAULT, TWO, CLASSIC = "scrawler", "scrawler x2", "scrawler classic"


def peers() -> list[Peer]:
    """Return the crawlers; whether each can run here, it tells itself."""
    return [
        SCrawler(DEFAULT),
        SCrawler(TWO, machines=2),
        Wget2(),
        Wget2(files=False),
        SCrawler(CLASSIC, classic=True),
        Scrapy(),
        Scrapy(tuned=True),
        Crawlee(),
        Colly(),
        Spider(),
        Heritrix(),
        Nutch(),
    ]
