"""A seed's own URL: where its redirects lead the party.

That is decided as the answer comes, and again from the answer's row where a party is taken up: so nothing else has to
be written for a party that is about to end, or to move, when the machine is killed.
"""

from __future__ import annotations

from collections.abc import Callable

from scrawler.crawl.context import SeedContext
from scrawler.crawl.decisions import MAX_SEED_REDIRECTS
from scrawler.model import EndReason, Rehoming, Scope
from scrawler.urls.analyzer import Analysis
from scrawler.urls.scope import host_port, site_key


def follow_own(
    party: SeedContext, url: str, location: str, scope: Scope, is_anothers: Callable[[str], bool]
) -> Analysis:
    """Follow the redirect of a seed's own URL; inside the site the caller goes on to the URL that is returned.

    `is_anothers` tells of a URL of the site that it is listed, and not as one of these redirects: then it is fetched
    for another party, and this one is covered. Outside, the party moves there.
    """
    analysis = party.analyzer.redirected(url, location)
    if not (analysis.internal or analysis.external):
        return analysis
    party.redirects += 1
    if party.redirects > MAX_SEED_REDIRECTS:
        party.leaving = EndReason.REDIRECTED
        party.end_detail = f"more than {MAX_SEED_REDIRECTS} redirects, last to {location}"
    elif analysis.internal:
        target = analysis.internal[0]
        party.led_from.add(url)
        party.home_host = host_port(target)[0]
        if target not in party.led_from and is_anothers(target):
            party.leaving = EndReason.COVERED
    else:
        home = analysis.external[0]
        party.leaving = Rehoming(home, site_key(home, scope), party.redirects)
    return analysis
