"""The earlier crawls to which the records of a crawl refer, for whoever reads them."""

from __future__ import annotations

from scrawler.features.earlier.settings import EarlierSettings
from scrawler.features.earlier.store.referred import absolute, may_open, open_referred, referred_to
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database, Waiting
from scrawler.store.reading.archived import ArchivedCrawl


class Referred:
    """The crawl that is named now, and those to which runs have referred."""

    def __init__(self, settings: Settings, database: Database) -> None:
        """Look into the database of a crawl; nothing else is opened."""
        self._database = database
        self._patience = settings.database_patience
        self._named = EarlierSettings.of(settings).dedup_from
        named = [] if self._named is None else [self._named]
        self.crawls = list(dict.fromkeys([*named, *referred_to(database)]))

    @property
    def name(self) -> str:
        """The database of the newest of them; empty where there is none, or it cannot be told without a password."""
        return absolute(self.crawls[0]) or "" if self.crawls else ""

    @property
    def advice(self) -> str:
        """What to do about one that is not asked, for only a database names it; empty: there is none."""
        unnamed = [one for one in self.crawls if not may_open(one, self._database, self._named)]
        if not unnamed:
            return ""
        return (
            f"the database refers to the earlier crawl {unnamed[0]}, which is not asked, as only the database names it;"
            " if it is yours, say so by --dedup-from, SCRAWLER_DEDUP_FROM or dedup_from in scrawler.toml"
        )

    def opened(self) -> list[ArchivedCrawl]:
        """Open them, to be closed by the caller. Raises SettingsError, StoreError where none of them can be."""
        if not self.crawls:
            return []
        waiting = Waiting(give_up_after=self._patience)
        return open_referred(self.crawls, self._database, waiting, self._named)
