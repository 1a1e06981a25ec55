"""Figure 5 of paper 004 applied to machines: who gives a site to whom when no seed is left to be claimed.

As among the collectors of a machine, a site goes from the fullest to the emptiest while they differ by two or more.
What counts is sites: the seeds of one site share a politeness clock, so that together they are one piece of work. Every
machine decides for itself, from the same rows: it thinks all moves through to the end, and gives away those that are
its own. So machines that look at the same time agree, and what was moved is not moved back: each move makes a
difference smaller, and at the end none of two is left.

What is given is released as for any other reason, with its checkpoint, and claimed as any other free site: for whom it
is, the rule says by which machines claim (`store/claims/shares.py`).
"""

from __future__ import annotations

from scrawler.core.distribution.distributor import choose_move
from scrawler.model.claims import HeldSites

_MOST_AT_ONCE = 500  # sites given at a time; the next look gives more
# Where URLs are counted, what goes is what a machine has more than the mean: if it is more than this part of it, and so
# many URLs, for meanwhile they become fewer, and more are found.
_NEAR = 0.25
_FEW_URLS = 100


def sites_to_give(held: HeldSites) -> int:
    """Return how many sites this machine gives to others that have fewer.

    A machine takes no more sites than it has places, none if it has not told yet how many these are.
    """
    counts = dict(held.by_machine)
    given = 0
    while given < _MOST_AT_ONCE:
        open_ = [one for one in sorted(counts) if counts[one] < held.seats.get(one, 0)]
        if not open_:
            break
        fewest = min(counts[one] for one in open_)
        # Who is full and has little more than the emptiest can neither take nor give.
        among = [one for one in sorted(counts) if one in open_ or counts[one] - fewest >= 2]
        move = choose_move([counts[one] for one in among])
        if move is None:
            break
        source, target = among[move[0]], among[move[1]]
        counts[source] -= 1
        counts[target] += 1
        given += source == held.me
    return given


def urls_to_give(held: HeldSites) -> int:
    """Return of how many URLs this machine gives the sites to others that have fewer URLs left.

    So it is where there is no delay: then a site takes a machine's time for as many URLs as it has, and one site with
    many of them fills a machine. Where there is one, a site takes its own time, and a place.
    """
    mean = sum(held.urls.values()) / len(held.urls)
    too_many = held.urls[held.me] - mean
    takers = [one for one, urls in held.urls.items() if urls < mean and held.by_machine[one] < held.seats.get(one, 0)]
    return int(too_many) if takers and too_many > max(_NEAR * mean, _FEW_URLS) else 0
