"""Seeds that wait with their slow lane until all other pages of the crawl are fetched (slow_pass "crawl")."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from scrawler.model.seeds import SeedState
from scrawler.store.claims.sites import lock_sites, wake_sites
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import in_order_of_id
from scrawler.store.schema.tables import seed

_SEEDS = 500  # seeds of one transaction


class SlowSeeds:
    """The seeds of a crawl that wait with their slow lane."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def promote(self) -> int:
        """Let all these seeds go on, with the next machine that claims their sites; return how many they were.

        They become active, not ready: all active seeds of a site are taken up together, so that none finds its list
        with another. What several machines do at once, or one does again after a crash, comes to the same.
        """
        waiting = in_order_of_id(select(seed.c.id, seed.c.site_id).limit(_SEEDS), SeedState.SLOW, None)

        def work(connection: Connection) -> int:
            rows = connection.execute(waiting).all()
            sites = sorted({row.site_id for row in rows})
            lock_sites(connection, sites)
            these = update(seed).where(seed.c.id.in_([row.id for row in rows]), seed.c.state == SeedState.SLOW.value)
            connection.execute(these.values(state=SeedState.ACTIVE.value, slow_pass=1))
            wake_sites(connection, sites)
            return len(rows)

        number = 0
        while found := self._database.retrying(work):
            number += found
        return number
