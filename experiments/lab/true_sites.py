"""The sites of a synthetic web for a planned crawl, as the web knows itself."""

from __future__ import annotations

from scrawler.features.plan.rules import PlannedSite
from scrawler.features.synthweb.truth import party
from scrawler.features.synthweb.web import SyntheticWeb
from scrawler.model.terms import url_hash

OVERHEAD = 0.002  # seconds that an answer of the synthetic web takes beyond its latency


def true_sites(web: SyntheticWeb, patience: float = 0.0) -> list[PlannedSite]:
    """Return the sites in the order in which they are claimed: that of their keys' hashes.

    A host that never answers takes one try of `patience` seconds.
    """
    sites = []
    for index in sorted(range(web.spec.sites), key=lambda index: url_hash(web.site(index).authority)):
        site = web.site(index)
        if site.dead:
            sites.append(PlannedSite((1,), patience, answers=False))
        else:
            sites.append(PlannedSite((_asked(web, index),), site.latency_s + OVERHEAD))
    return sites


def _asked(web: SyntheticWeb, index: int) -> int:
    """Count the URLs of a site that a crawler asks for which refuses those that end as images do.

    An alias takes one request, and leads to another seed's site.
    """
    if web.site(index).alias_of is not None:
        return 1
    found = party(web, web.seeds_of(index)[0])
    return len(found.requested) + sum(url.endswith(".pdf") for url in found.files)
