"""What tells a machine which payloads of a site an earlier crawl has archived."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrawler.archive.record import RevisitOf
from scrawler.core.party.archived import EarlierPayloads, EarlierRoom
from scrawler.errors import StoreError
from scrawler.store.earlier import EarlierCrawl


class Earlier:
    """The payloads of earlier crawls, by site; asked by the thread that takes sites up, which has no turn then."""

    def __init__(
        self, crawls: Sequence[EarlierCrawl], stopping: Callable[[], bool], say: Callable[[str], None]
    ) -> None:
        """Read from `crawls`, the newest first; `say` is told when one cannot be read: none is asked after that."""
        self._crawls = crawls
        self._stopping = stopping
        self._say = say
        self._away = False
        self._room = EarlierRoom()

    def of_site(self, key: str) -> EarlierPayloads:
        """Return what they have archived of a site, as much as there is room for; the rest is archived once more."""
        payloads = EarlierPayloads(self._room)
        if self._away:
            return payloads
        try:
            self._read(key, payloads)
        except StoreError as error:  # to wait for it again with each site would hold the crawl up
            self._away = True
            self._say(f"dedup_from cannot be read: what it has is archived once more in this run: {error}")
        return payloads

    def _read(self, key: str, payloads: EarlierPayloads) -> None:
        for crawl in self._crawls:
            for digest, url, at in crawl.payloads(key):
                if self._stopping() or not payloads.remember(digest, RevisitOf(url, at)):
                    return
