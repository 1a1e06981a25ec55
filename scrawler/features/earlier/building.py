"""Opens the earlier crawls to whose archive this one refers, and lets a machine ask them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from scrawler.assembly.building import Building
from scrawler.core.machine.machine import Machine
from scrawler.features.earlier.settings import EarlierSettings
from scrawler.features.earlier.sites import EarlierSites
from scrawler.features.earlier.step import EarlierStep
from scrawler.features.earlier.store.referred import absolute, close_crawls, open_referred
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database, Waiting
from scrawler.store.reading.archived import ArchivedCrawl

_PATIENCE = 10.0  # seconds in which their databases must answer


def prepare(settings: Settings, database: Database) -> None:
    """Look whether they can be opened. Raises SettingsError, StoreError."""
    close_crawls(_open(settings, database))


def build(building: Building) -> None:
    """Let a machine ask them, once it begins."""
    crawls: list[ArchivedCrawl] = []
    sites = EarlierSites(crawls, building.settings, building.stop.is_set, building.say)
    building.steps.append(EarlierStep(sites))
    building.beside.append(partial(_opened, building, crawls))
    given = EarlierSettings.of(building.settings).dedup_from
    assert given is not None
    building.noted["dedup_from"] = absolute(given)  # who reads pages looks there, from another folder perhaps


@contextmanager
def _opened(building: Building, crawls: list[ArchivedCrawl], machine: Machine) -> Iterator[None]:
    """Open them for a block. Raises SettingsError, StoreError."""
    crawls += _open(building.settings, building.database)
    building.archives += crawls
    try:
        yield
    finally:
        close_crawls(crawls)


def _open(settings: Settings, database: Database) -> list[ArchivedCrawl]:
    given = EarlierSettings.of(settings).dedup_from
    if given is None:
        return []
    patience = min(_PATIENCE, settings.database_patience)
    return open_referred([given], database, Waiting(give_up_after=patience, to_open=patience), given, settings.scope)
