"""How long a crawl that goes on will take yet: what is left of it, played through by the rules of `make_plan`.

A site has as much left as a plan would give it, less what it was asked so far. Of a crawl of many sites a sample is
played through as a crawl so many times as small, with as many times fewer places and a processor as many times slower.
"""

from __future__ import annotations

from dataclasses import replace

from scrawler.features.plan.inputs import Gatherer, Limits, own_rules
from scrawler.features.plan.rules import DATABASE_ROWS, PlannedSite, PlanRules, plan_rules
from scrawler.features.plan.simulation import simulate
from scrawler.model.sizes import CrawlLeft, SiteLeft
from scrawler.settings import Settings

_SHORTEST = 5.0  # seconds over which seeds have ended, so that it can be told how fast


def seconds_left(left: CrawlLeft, settings: Settings, product_token: str, cores: int) -> float | None:
    """Return how long a crawl takes yet, in seconds; None where nothing is known yet, and 0 where nothing is left.

    It is no less than the seeds that are left take at the pace at which others have ended of late: where most of a
    list is dead, its pages tell little. Raises SettingsError where seeds are distributed by a part of another package.
    """
    by_pages = _by_pages(left, settings, product_token, cores)
    by_seeds = _by_seeds(left, settings)
    return by_pages if by_seeds is None else max(by_seeds, by_pages or 0.0)


def _by_seeds(left: CrawlLeft, settings: Settings) -> float | None:
    """Return how long the seeds that are left take at the pace of late, in seconds; None where that tells nothing.

    So it is where fewer have ended than there are places: large sites may all be about to end.
    """
    places = settings.threads * settings.seeds_per_thread * max(1, left.machines)
    if left.ended < places or left.ended_in < _SHORTEST:
        return None
    return left.step * sum(one.unfinished for one in left.sites) * left.ended_in / left.ended


def _by_pages(left: CrawlLeft, settings: Settings, product_token: str, cores: int) -> float | None:
    if not any(one.sized.requests for one in left.sites):
        return None
    machines = settings.model_copy(update={"machines": max(1, left.machines)})
    rules = _smaller(plan_rules(machines, cores=cores, cpu_per_request=None, database_rows=DATABASE_ROWS), left.step)
    limits = Limits(product_token, settings.max_crawl_delay, settings.max_pages)
    gatherer = Gatherer((one.sized for one in left.sites), limits, None, None, own_rules(settings, product_token))
    sites = gatherer.all_known().sites
    unfinished = [(_less(site, one), one) for site, one in zip(sites, left.sites, strict=True) if one.unfinished]
    if not unfinished:
        return 0.0
    unfinished.sort(key=lambda pair: not pair[1].asked)  # what was begun is in work
    rested = max(one.rests + rules.seconds(site) for site, one in unfinished)
    return max(rested, simulate([site for site, _ in unfinished], rules).seconds)


def _less(site: PlannedSite, left: SiteLeft) -> PlannedSite:
    """Return a site with what it has left, spread over the seeds that are not done."""
    number = left.unfinished
    rest = max(number, site.total - left.asked)
    least, more = divmod(rest, number)
    return site._replace(requests=(least + 1,) * more + (least,) * (number - more))


def _smaller(rules: PlanRules, step: int) -> PlanRules:
    """Return the rules of a crawl `step` times as small, which takes as long."""
    if step == 1:
        return rules
    places = max(1, round(rules.threads * rules.seeds_per_thread / step))
    threads = min(rules.threads, places)
    return replace(
        rules,
        threads=threads,
        seeds_per_thread=max(1, round(places / threads)),
        cpu_per_request=rules.cpu_per_request * step,
        cpu_per_seed=rules.cpu_per_seed * step,
        database_rows=rules.database_rows / step,
    )
