"""What settings say of visits again, of all sites or of one."""

from __future__ import annotations

from functools import lru_cache

from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.features.revisit.policies.due import RevisitPolicy, Wishes
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.settings import Settings


def settings_at(site: SiteContext, rules: CrawlRules) -> RevisitSettings:
    """Return what is set for a site; `rules` are those of sites that have none of their own."""
    return RevisitSettings.of((site.own_rules or rules).settings)


def wishes_of(settings: Settings | RevisitSettings) -> Wishes:
    """Return what settings say of when URLs are visited again."""
    own = RevisitSettings.of(settings)
    interval, least, most = (
        int(seconds * 1000) for seconds in (own.revisit_interval, own.revisit_min, own.revisit_max)
    )
    return Wishes(own.revisit, interval, least, most, own.revisit_site_budget)


@lru_cache(maxsize=1_000)
def policy_of(wishes: Wishes) -> RevisitPolicy:
    """Return the policy that wishes name, the same for parties that wish the same."""
    return wishes.policy()


def near_of(settings: RevisitSettings) -> int | None:
    """Return by how many bits of their simhash texts may differ; None: bytes are compared."""
    return settings.revisit_near if settings.revisit_change == "text" else None
