"""How visits to URLs again share the budget of all sites, and what URLs weigh."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TypeAlias

from scrawler.errors import SettingsError
from scrawler.features.revisit.policies.demand import demand_of
from scrawler.features.revisit.policies.estimator import SiteRates
from scrawler.features.revisit.policies.importance import RankError, Ranks, by_depth, read_ranks
from scrawler.features.revisit.policies.learning import SharedDemand, SiteLearning
from scrawler.features.revisit.policies.policy import Bounds, Demand
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.features.revisit.store.demand import Demands
from scrawler.regular import open_regular
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database
from scrawler.urls.normalise import seed_url
from scrawler.urls.steps import make_steps

Weight: TypeAlias = Callable[[str, int], float]

_LOOK_EVERY = 30.0  # seconds between looks at how the budget is divided ...
_OF_A_LOOK = 50  # ... or so many times as long as a look takes, if that is longer


def all_alike(url: str, depth: int) -> float:
    """Return the weight of a URL where all weigh the same."""
    return 1.0


def _by_depth(url: str, depth: int) -> float:
    return by_depth(depth)


def _by_rank(ranks: Ranks, url: str, depth: int) -> float:
    return ranks.weight(url)


def weight_of(settings: Settings) -> Weight:
    """Return what tells the weight of a URL. Raises SettingsError for a file of ranks that cannot be read."""
    own = RevisitSettings.of(settings)
    if own.rank is None:
        return _by_depth if own.revisit_weight == "depth" else all_alike
    return partial(_by_rank, read_rank_file(own.rank, settings))


def read_rank_file(file: Path, settings: Settings) -> Ranks:
    """Read the weights of URLs. Raises SettingsError for a file that cannot be read, or understood."""
    steps = make_steps(settings.normalise)

    def normalised(url: str) -> str | None:
        found, problem = seed_url(url, settings.max_url_length, steps)
        return None if problem else found

    try:
        with open_regular(file) as opened, TextIOWrapper(opened, encoding="utf-8-sig") as lines:
            return read_ranks(lines, normalised)
    except (RankError, UnicodeDecodeError) as error:
        raise SettingsError(f"rank: {file}: {error}") from error
    except OSError as error:
        raise SettingsError(f"rank: {file} cannot be read: {error.strerror}") from error


class VisitShares:
    """Adds up now and then how many pages share the budget of all sites."""

    def __init__(self, settings: Settings, database: Database, weight: Weight = all_alike) -> None:
        self.shared = SharedDemand()
        self.weight = weight
        self._demands = Demands(database)
        own = RevisitSettings.of(settings)
        self._per_day = own.revisit_budget
        self._bounds = Bounds(own.revisit_min, max(own.revisit_min, own.revisit_max))
        self._look_at = 0.0

    def look(self) -> None:
        """Add up, if that was not done a short while ago; without a budget there is nothing to divide."""
        began = time.monotonic()
        if self._per_day is None or began < self._look_at:
            return
        demand = demand_of(self._demands.of_all(), self._per_day, self._bounds)
        demand.multiplier()  # found here, so that nobody waits for it who has a page at hand
        self.shared.demand = demand
        took = time.monotonic() - began
        self._look_at = time.monotonic() + max(_LOOK_EVERY, _OF_A_LOOK * took)

    def make_learning(self, rates: SiteRates = SiteRates(), own: Demand | None = None) -> SiteLearning:  # noqa: B008
        """Make what learns how often a site's pages change; `own` is how the site's own budget is divided."""
        return SiteLearning(rates, self.weight, self.shared, own)
