"""A seed's own URL: where its redirects lead the party.

That is decided as the answer comes. A party that was stopped, or killed, before the decision took effect has it made
again from the answer's row: so nothing else has to be written for one that is about to end, or to move.
"""

from __future__ import annotations

from collections.abc import Callable

from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import MAX_REDIRECTS, too_many_redirects
from scrawler.model.deltas import Rehoming
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from scrawler.urls.analyzer import Analysis
from scrawler.urls.scope import host_port, site_key


def follow_own(party: SeedContext, url: str, location: str, scope: Scope, is_listed: Callable[[str], bool]) -> Analysis:
    """Follow the redirect of a seed's own URL; inside the site the caller lists the URL that is returned.

    `is_listed` tells of a URL of the site whether it is listed already: then it is fetched for whoever listed it, and
    this party is covered, unless it is one of these redirects itself, perhaps with other sites between: that is a loop,
    or a gate. Outside, the party moves there.
    """
    analysis = party.analyzer.redirected(url, location)
    if not (analysis.internal or analysis.external):
        return analysis
    party.redirects += 1
    if party.redirects > MAX_REDIRECTS:
        party.leave(EndReason.REDIRECTED, too_many_redirects(location))
    elif analysis.internal:
        target = analysis.internal[0]
        follow_inside(party, url, target)
        if target not in party.led_from and is_listed(target):
            party.leave(EndReason.COVERED)
    else:
        home = analysis.external[0]
        party.leave(Rehoming(home, site_key(home, scope), party.redirects))
    return analysis


def follow_inside(party: SeedContext, url: str, target: str) -> None:
    """Note that a seed's own URL leads to another one of the site."""
    party.led_from |= {url}
    party.home_host = host_port(target)[0]
