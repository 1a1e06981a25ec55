"""Which seeds next: those with the best scores, not too many of one registrable domain.

As the `generate` of Apache Nutch takes the `-topN` best URLs that are due, with at most `generate.max.count` of a host
or domain. What is kept in memory follows from how many are wanted, not from how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from scrawler.urls.scope import host_port, registrable_domain

_Z = 1.96  # of the normal distribution: 95 % of it lie within


class Scored(NamedTuple):
    """A seed, or a candidate seed, with its score and what that was made of."""

    id: int  # of the seed; 0: a candidate
    url: str
    score: float
    part: int  # as pages that were new, or changes
    whole: int  # as requests, or visits


class Chosen(NamedTuple):
    """One that was chosen."""

    rank: int  # 1: the best
    url: str
    domain: str
    score: float
    part: int
    whole: int
    id: int


def lower_bound(part: int, whole: int) -> float:
    """Return the least share that is likely where `part` of `whole` were seen (Wilson's interval, 95 %).

    So one page by one request is worth less than 900 by 1,000.
    """
    if whole <= 0:
        return 0.0
    share = min(part, whole) / whole
    middle = share + _Z * _Z / (2 * whole)
    spread = _Z * math.sqrt((share * (1 - share) + _Z * _Z / (4 * whole)) / whole)
    return max(0.0, (middle - spread) / (1 + _Z * _Z / whole))


def best(
    scored: Iterable[Scored],
    top: int,
    per_domain: int | None = None,
    at_least: float = 0.0,
    wanted: Callable[[str], bool] = lambda url: True,
) -> list[Chosen]:
    """Return the `top` best, of a registrable domain `per_domain` at most; of equals those whose URLs come first.

    In memory are twice as many as are wanted.
    """
    kept: list[tuple[float, str, Scored, str]] = []
    worst: tuple[float, str] | None = None  # what is behind this is not among the best any more
    for one in scored:
        key = (-one.score, one.url)
        if one.score < at_least or (worst is not None and key > worst) or not wanted(one.url):
            continue
        kept.append((*key, one, registrable_domain(host_port(one.url)[0])))
        if len(kept) >= 2 * top + 1_000:
            kept = list(_best(kept, top, per_domain))
            worst = kept[-1][:2] if len(kept) == top else None
    chosen = _best(kept, top, per_domain)
    return [
        Chosen(rank, one.url, domain, one.score, one.part, one.whole, one.id)
        for rank, (_, _, one, domain) in enumerate(chosen, 1)
    ]


_Kept = tuple[float, str, Scored, str]


def _best(kept: list[_Kept], top: int, per_domain: int | None) -> Iterator[_Kept]:
    """Yield the best, in order. What is left out can never come back: what is better than it only becomes more."""
    kept.sort(key=lambda one: one[:2])
    of_domain: dict[str, int] = {}
    taken = 0
    for one in kept:
        domain = one[3]
        before = of_domain.get(domain, 0)
        if per_domain is not None and before >= per_domain:
            continue
        of_domain[domain] = before + 1
        yield one
        taken += 1
        if taken == top:
            return
