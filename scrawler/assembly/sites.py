"""What takes sites up, with all that they bring along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from scrawler.assembly.parts import maker
from scrawler.assembly.stores import Stores
from scrawler.assembly.urls import analyzers
from scrawler.core.asking.origins import ROBOTS_KEPT, Origins
from scrawler.core.clock import DatabaseClock
from scrawler.core.party.site import SiteContext
from scrawler.core.party.takeup import LookUp, PartyStateMaker, SiteStateMaker, SiteTaker
from scrawler.core.rules import CrawlRules, HostRules
from scrawler.core.seen import MemoryBudget, SeenFilter
from scrawler.model.claims import ClaimedSite
from scrawler.model.exchange import WaitingUrl
from scrawler.settings import Settings
from scrawler.store.claims.suspects import Suspects
from scrawler.store.lists.frontier import Frontier


def make_taker(
    settings: Settings,
    frontier: Frontier,
    rules: CrawlRules,
    clock: DatabaseClock,
    recall_robots: Callable[[SiteContext], None] = lambda site: None,
    condemned: Callable[[ClaimedSite], Mapping[str, str]] = lambda claimed: {},
    refusal: Callable[[str], str] = lambda url: "",
    hosts: HostRules | None = None,
    waiting: Callable[[ClaimedSite], Sequence[WaitingUrl]] = lambda claimed: (),
    site_states: Sequence[SiteStateMaker] = (),
    party_states: Sequence[PartyStateMaker] = (),
    looks_up: Sequence[LookUp] = (),
) -> SiteTaker:
    """Make the part that takes sites up, with one memory budget for all their seen filters."""
    budget = MemoryBudget(settings.seen_memory)
    make_seen: Callable[[MemoryBudget], SeenFilter] = maker("seen", settings)
    return SiteTaker(
        frontier,
        rules,
        clock,
        lambda: make_seen(budget),
        analyzers(settings),
        recall_robots,
        condemned,
        refusal,
        hosts,
        waiting,
        site_states,
        party_states,
        looks_up,
    )


def recall_robots(origins: Origins, stores: Stores, site: SiteContext) -> None:
    """Bring back what is kept of a site's robots.txt files."""
    if origins.obey_robots if site.own_rules is None else site.own_rules.robots:
        origins.recall(site, stores.robots.of_site(site.guest_at or site.id, stores.clock.now() - ROBOTS_KEPT))


def condemned(suspects: Suspects, claimed: ClaimedSite) -> Mapping[str, str]:
    """Return the URLs of a claimed site that have killed a process, with the reasons in words."""
    if claimed.token == 1:  # nobody had it before
        return {}
    return suspects.condemned(claimed.id)
