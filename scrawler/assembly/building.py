"""A machine before it exists: what features add to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrawler.core.answers.ordering import Order
from scrawler.core.answers.steps import Steps
from scrawler.core.rules import CrawlRules
from scrawler.feature import hooked
from scrawler.settings import Settings
from scrawler.store.engine import Database
from scrawler.tuples.classes import dataclass


@dataclass(slots=True)
class Building:
    """What a machine will have; the hook `build` of each feature that is on adds to it.

    Attributes:
        settings: those of the crawl.
        rules: those for all sites that have none of their own.
        database: the crawl's, for what is read when sites are taken up.
        steps: called for each page, in this order; see `scrawler.core.answers.steps.Step`.
        order: which links come first; None: they are listed as they are met.
    """

    settings: Settings
    rules: CrawlRules
    database: Database
    steps: list[Any]
    order: Order | None = None


Build = Callable[[Building], None]  # what a feature offers as `build`. Raises SettingsError


def build_steps(settings: Settings, rules: CrawlRules, database: Database) -> Steps:
    """Return what the features that are on do with pages. Raises SettingsError."""
    building = Building(settings, rules, database, [])
    for build in hooked("build", settings):
        build(building)
    return Steps(building.steps, building.order)
