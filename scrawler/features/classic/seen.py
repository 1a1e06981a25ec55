"""The classic seen filter."""

from __future__ import annotations

from scrawler.core.seen import LayeredSeen, MemoryBudget, SeenFilter


def pybloom_seen(budget: MemoryBudget) -> SeenFilter:
    """Make layered Bloom filters of pybloom-live."""
    from pybloom_live import BloomFilter  # costs 10 ms, for those who choose it

    return LayeredSeen(budget, BloomFilter)
