"""A machine before it exists: what features add to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrawler.core.answers.steps import Order, Steps
from scrawler.feature import hooked
from scrawler.settings import Settings
from scrawler.tuples.classes import dataclass


@dataclass(slots=True)
class Building:
    """What a machine will have; the hook `build` of each feature that is on adds to it.

    Attributes:
        settings: those of the crawl.
        steps: called for each page, in this order; see `scrawler.core.answers.steps.Step`.
        order: which links come first; None: they are listed as they are met.
    """

    settings: Settings
    steps: list[Any]
    order: Order | None = None

    def all_steps(self) -> Steps:
        """Return the steps, gathered for the crawler."""
        return Steps(self.steps)


Build = Callable[[Building], None]  # what a feature offers as `build`. Raises SettingsError


def begin_building(settings: Settings) -> Building:
    """Return what features make of a machine of these settings. Raises SettingsError."""
    building = Building(settings, [])
    for build in hooked("build", settings):
        build(building)
    return building
