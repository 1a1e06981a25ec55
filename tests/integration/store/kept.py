"""A crawl that is kept in virtual time: the store and the decisions are the real ones, visits are made here."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from scrawler.core.party.entries import encode, stored_entry
from scrawler.features.revisit.kinds import CellRow
from scrawler.features.revisit.policies.demand import demand_of
from scrawler.features.revisit.policies.due import Wishes
from scrawler.features.revisit.policies.learning import SharedDemand, SiteLearning
from scrawler.features.revisit.policies.policy import Bounds
from scrawler.features.revisit.policies.visit import after_visit
from scrawler.features.revisit.store.demand import Demands, keep_rates
from scrawler.features.revisit.store.rounds import Revisits
from scrawler.features.synthweb.changes import PageChanges
from scrawler.model.lanes import REVISIT
from scrawler.model.scope import Scope
from scrawler.model.visits import LISTED, UrlState
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.lists.frontier import state_of
from scrawler.store.schema.tables import url_state
from tests.unit.revisit.rows import row_at

DAY = 86_400_000
HOUR = 3_600_000
BEGIN = 1_800_000_000_000
SITE = "a.example"


class KeptSite:
    """A site whose pages change as they are known to, visited as a policy and a budget say."""

    def __init__(self, database: Database, pages: Sequence[PageChanges], word: str, per_day: int, first: int) -> None:
        """Fetch all pages for the first time; `first` is `revisit_interval` in milliseconds."""
        self._database = database
        self._pages = {f"http://{SITE}/{number}": page for number, page in enumerate(pages)}
        self._stale_at = {url: page.next(0.0) for url, page in self._pages.items()}
        self._version = dict.fromkeys(self._pages, 1)
        self._per_day = per_day
        wishes = Wishes(word, first, HOUR, 365 * DAY)
        self._policy = wishes.policy()
        self._bounds = Bounds(HOUR / 1000, 365 * DAY / 1000)
        self._shared = SharedDemand()
        self._learning = SiteLearning(shared=self._shared)
        self._revisits = Revisits(
            database,
            lambda entries: encode([stored_entry(url, depth, at, 0, by) for url, depth, at, by in entries]),
            REVISIT.number,
            lambda *asked: True,
            lambda key: wishes,
            lambda pages: iter(()),
            per_day=per_day,
        )
        self._demands = Demands(database)
        self._states = BulkInsert.replacing(url_state, UrlState._fields, database.compiler)
        self.visits = 0
        database.clock = str(BEGIN)
        Crawls(database).open("kept", Scope.HOST)
        Seeds(database).add([NewSeed(f"http://{SITE}/", SITE, 0)])
        self._seed_id = 1
        self._keep(BEGIN, [None] * len(self._pages), list(self._pages))

    def go_on(self, now: int) -> None:
        """Visit what is due at a time."""
        self._database.clock = str(now)
        self._shared.demand = demand_of(self._demands.of_all(), self._per_day, self._bounds)
        self._revisits.begin_due(0)
        query = select(*(url_state.c[name] for name in UrlState._fields)).where(url_state.c.due_at == LISTED)
        listed = [state_of(row) for row in self._database.rows(query)]
        if listed:
            self.visits += len(listed)
            self._keep(now, listed, [state.url for state in listed])

    def fresh(self, now: int) -> float:
        """The share of copies that are up to date."""
        at = (now - BEGIN) / 1000
        return sum(stale > at for stale in self._stale_at.values()) / len(self._stale_at)

    def _keep(self, now: int, before: Sequence[UrlState | None], urls: Sequence[str]) -> None:
        """Make visits durable as a checkpoint does, and let the round be over."""
        states = []
        for known, url in zip(before, urls, strict=True):
            at = (now - BEGIN) / 1000
            self._version[url] += self._stale_at[url] <= at
            self._stale_at[url] = self._pages[url].next(at)
            row = row_at(
                url, seed_id=self._seed_id, digest=self._version[url].to_bytes(20, "big"), fetched_at=now,
                visit=0 if known is None else known.visit + 1,
            )  # fmt: skip
            states.append(after_visit(known, row, "", "", self._policy, True, learning=self._learning).state)
        rates, cells = self._learning.take()
        moved = [CellRow(1, cell, pages, own_budget=False) for cell, pages in cells.items()]
        with self._database.begin() as connection:
            self._states.run(connection, sorted(states))
            if rates is not None:
                keep_rates(connection, 1, rates)
            self._demands.write(connection, 1, moved)
            connection.exec_driver_sql("UPDATE lane SET cursor_position = length")
            connection.exec_driver_sql(
                f"UPDATE seed SET state = 'done', end_reason = 'completed', ended_at = {now}, due_at = 0, states_to = 1"
            )
            connection.exec_driver_sql("UPDATE site SET state = 'done'")
