"""What a crawl has left out as traps, for those who tell of it."""

from __future__ import annotations

from typing import NamedTuple


class LeftOut(NamedTuple):
    """URLs that were not asked for, as their patterns had brought nothing new; of the whole crawl."""

    urls: int = 0
    seeds: int = 0  # that have such URLs, or links that were not even listed
    pattern: str = ""  # the one for which most URLs and links were left out; empty: nothing was
    refused: int = 0  # how many these were
