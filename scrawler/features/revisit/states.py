"""What is known of parties and sites whose URLs are visited again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrawler.features.revisit.kinds import (
    CELLS,
    PUBLISHED,
    PUBLISHER,
    SITE_RATES,
    URL_CHANGE,
    URL_STATE,
    CellRow,
    PublishedRow,
    SiteRates,
    UrlChange,
)
from scrawler.model.row_kinds import Row, RowKind
from scrawler.model.visits import UrlState

if TYPE_CHECKING:
    from scrawler.features.revisit.policies.due import RevisitPolicy
    from scrawler.features.revisit.policies.learning import SiteLearning
    from scrawler.features.revisit.told import Told


class PartyVisits:
    """How the URLs of a party become due again, how their texts are compared, and what visits have found."""

    __slots__ = ("_changes", "_states", "near", "policy")

    def __init__(self, policy: RevisitPolicy, near: int | None) -> None:
        """`near` is by how many bits of their simhash texts may differ; None: bytes are compared."""
        self.policy = policy
        self.near = near
        self._states: dict[bytes, UrlState] = {}
        self._changes: tuple[UrlChange, ...] = ()

    def note(self, state: UrlState, changes: tuple[UrlChange, ...]) -> None:
        """Note what is known of a URL from now on, and what of it has changed."""
        self._states[state.url_hash] = state
        self._changes += changes

    @property
    def weight(self) -> int:
        """States that wait."""
        return len(self._states)

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add what visits have found since this was last called."""
        if self._states:
            into[URL_STATE] = tuple(self._states.values())
            self._states = {}
        if self._changes:
            into[URL_CHANGE] = self._changes
            self._changes = ()

    def owns(self, url: str) -> bool:
        """Return False: URLs are those of the crawler."""
        return False


class PartyLists:
    """What the change lists of a party have told, and what its server publishes of URLs."""

    __slots__ = ("_published", "_seed_id", "told")

    def __init__(self, seed_id: int, told: Told) -> None:
        self._seed_id = seed_id
        self.told = told
        self._published: dict[bytes, PublishedRow] = {}

    def add(self, row: PublishedRow) -> None:
        """Note what a list says of an internal URL; of what several say, the newest counts."""
        before = self._published.get(row.url_hash)
        if before is None or before.changed_at <= row.changed_at:
            self._published[row.url_hash] = row

    @property
    def weight(self) -> int:
        """URLs that wait."""
        return len(self._published)

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add what lists have told since this was last called."""
        if self._published:
            into[PUBLISHED] = tuple(self._published.values())
            self._published = {}
        if self.told.dirty:
            into[PUBLISHER] = (self.told.row,)
            self.told.dirty = False

    def owns(self, url: str) -> bool:
        """Return False: URLs are those of the crawler."""
        return False


class SiteVisits:
    """What visits to a site show of how often its pages change, once one of its parties has URLs that become due."""

    __slots__ = ("_site_id", "learning")

    def __init__(self, site_id: int) -> None:
        self._site_id = site_id
        self.learning: SiteLearning | None = None

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add what has changed since this was last called."""
        if self.learning is None:
            return
        rates, moved = self.learning.take()
        own = self.learning.has_budget
        if rates is not None:
            into[SITE_RATES] = (SiteRates(self._site_id, rates),)
        if moved:
            into[CELLS] = tuple([CellRow(self._site_id, cell, pages, own) for cell, pages in sorted(moved.items())])

    def close(self) -> None:
        """Do nothing: it shares nothing with other sites."""
