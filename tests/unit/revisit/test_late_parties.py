"""A party that comes when its site has begun to be visited again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.features.revisit.shares import VisitShares
from scrawler.features.revisit.step import RevisitStep
from scrawler.features.revisit.store.known import KnownVisits
from scrawler.features.revisit.visiting import Visiting
from scrawler.model.claims import ClaimedSite
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.settings import Settings
from scrawler.store.engines.engine import open_database
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

HOME = "http://h.org/"


def test_what_visits_find_is_noted_of_parties_that_come_after_a_known_url_was_sent(tmp_path: Path) -> None:
    """The machine is not kept: another one's server or owner has sent it."""
    rules, scope = crawl_rules(), scope_of(HOME, Scope.HOST)
    with closing(open_database(f"sqlite:///{tmp_path}/crawl.db", create=True)) as database:
        visiting = Visiting(rules, KnownVisits(database), VisitShares(Settings(), database), None)
        step = RevisitStep(rules, lambda: visiting)
        step.at = 0
        site = SiteContext(1, "h.org", 1, ExactSeen(MemoryBudget(1000)), False)
        site.keep_states([step.site_state(site, ClaimedSite(1, "h.org", 1, 0, (), True))])
        party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
        assert step.party_state(site, party) is None
        site.visit_again()
        assert step.party_state(site, party) is not None
