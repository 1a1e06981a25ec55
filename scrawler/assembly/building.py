"""A machine before it exists: what features add to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from threading import RLock
from typing import Any

from scrawler.core.answers.ordering import Order
from scrawler.core.asking.origins import Origins
from scrawler.core.rules import CrawlRules
from scrawler.feature import hooked
from scrawler.fetch.downloader import Downloader
from scrawler.fetch.resolver import Resolver
from scrawler.settings import Settings
from scrawler.store.engine import Database
from scrawler.tuples.classes import NamedTuple, dataclass

MakeDownloader = Callable[[], Downloader]  # each collector has one of its own


class Surroundings(NamedTuple):
    """What of a machine is there for what is put around its downloaders."""

    resolver: Resolver
    origins: Origins
    turn: RLock  # held by who looks at sites and origins


WrapDownloader = Callable[[MakeDownloader, Surroundings], MakeDownloader]


@dataclass(slots=True)
class Building:
    """What a machine will have; the hook `build` of each feature that is on adds to it.

    Attributes:
        settings: those of the crawl.
        rules: those for all sites that have none of their own.
        database: the crawl's, for what is read when sites are taken up.
        steps: called for each page, in this order; see `scrawler.core.answers.steps.Step`.
        order: which links come first; None: they are listed as they are met.
        wrappers: each puts something around the downloaders of all collectors; the last one is the outermost.
    """

    settings: Settings
    rules: CrawlRules
    database: Database
    steps: list[Any]
    order: Order | None = None
    wrappers: list[WrapDownloader] = field(default_factory=list)


Build = Callable[[Building], None]  # what a feature offers as `build`. Raises SettingsError


def built(settings: Settings, rules: CrawlRules, database: Database) -> Building:
    """Return what the features that are on add to a machine. Raises SettingsError."""
    building = Building(settings, rules, database, [])
    for build in hooked("build", settings):
        build(building)
    return building
