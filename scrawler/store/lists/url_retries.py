"""URLs that failed, or were left out, are listed again by their results (`run --retry urls --result ...`).

Their page rows are marked, and stay until an answer comes that takes their place (see `replacing`). The entries stand
in a lane of their own, which comes before all others of their seed. So a seed that has come to its end is asked for
these URLs alone, and for what they lead to; one that was cut off goes on after them. Each transaction is a whole step:
cut short at any point, it is done again. Only sites that no machine has in work are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from scrawler.model.lanes import WANTED
from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import SeedState
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import HOME_URL, AnyRow, Reaches, sliced
from scrawler.store.lists.relisting import Packed, Relisting, let_go_on, sites_in_work
from scrawler.store.schema.tables import page, seed, site, url_state

_PAGES = 1_000  # rows that are looked at, and marked, in one transaction
_COLUMNS = (
    page.c.id, page.c.seed_id, page.c.url_hash, page.c.url, page.c.depth, page.c.position, page.c.flags,
    page.c.referrer, seed.c.site_id, site.c.site_key, seed.c.url.label("given"), HOME_URL,
)  # fmt: skip
# What was visited again later has a newer row, which says what came of it. Another seed's own URL is that one's.
_LATER = select(url_state.c.visit).where(
    url_state.c.seed_id == page.c.seed_id, url_state.c.url_hash == page.c.url_hash, url_state.c.visit > page.c.visit
)
_OWN = or_(page.c.depth > 0, page.c.lane_seed == page.c.seed_id)


class TakenUrls(NamedTuple):
    """How many URLs are asked for again, and how many are not."""

    urls: int = 0
    in_work: int = 0  # their site is in work at a machine
    unreachable: int = 0  # their seed is at another site by now

    def plus(self, other: TakenUrls) -> TakenUrls:
        """Add up."""
        return TakenUrls._make(map(sum, zip(self, other, strict=True)))


class UrlRetries:
    """Lists URLs again; `pack` makes the data of a chunk, `reaches` says whether a seed can ask for a URL."""

    def __init__(
        self, database: Database, pack: Packed, reaches: Reaches, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        """Work on `database`, until `stopping`: what is left is done next time."""
        self._database = database
        self._stopping = stopping
        self._reaches = reaches
        self._relisting = Relisting(database, pack, WANTED.number)

    def take_up(self, results: Collection[Result]) -> TakenUrls:
        """List all URLs again whose last result is one of these."""
        total, after = TakenUrls(), 0
        wanted = and_(page.c.result.in_(sorted(one.value for one in results)), _OWN, ~_LATER.exists())
        found = select(page.c.id).where(wanted).order_by(page.c.id).limit(_PAGES)
        while not self._stopping():
            ids = [row.id for row in self._database.rows(found.where(page.c.id > after))]
            if not ids:
                break
            step = partial(self._take, of_these=and_(page.c.id.in_(ids), wanted))
            total = total.plus(self._database.retrying(step))
            after = ids[-1]
        return total

    def _take(self, connection: Connection, of_these: ColumnElement[bool]) -> TakenUrls:
        """List the URLs of rows again whose sites nobody has in work, and let their seeds go on."""
        of_site = page.join(seed, seed.c.id == page.c.seed_id).join(site, site.c.id == seed.c.site_id)
        query = select(*_COLUMNS).select_from(of_site).where(of_these, seed.c.skipped == 0).order_by(page.c.id)
        found = connection.execute(query).all()
        held = sites_in_work(connection, {row.site_id for row in found})
        free = [row for row in connection.execute(query).all() if row.site_id not in held]  # as they are now, locked
        rows = [row for row in free if self._is_reachable(row)]
        done = _ended(connection, {row.seed_id for row in rows})
        # What an earlier retry has listed, and not asked for before its seed ended, is asked for now.
        taken = [row for row in rows if row.seed_id in done or not row.flags & PageFlag.WAITING]
        if taken:
            self._relisting.ask_again(connection, [row for row in taken if not row.flags & PageFlag.WAITING])
            let_go_on(connection, done, {row.site_id for row in taken})
        return TakenUrls(len(taken), len(found) - len(free), len(free) - len(rows))

    def _is_reachable(self, row: AnyRow) -> bool:
        """Tell whether the seed can ask for a URL: it may have moved on to another site."""
        return self._reaches(row.url, row.depth, row.site_key, row.given, row.home_url)


def _ended(connection: Connection, seeds: Collection[int]) -> list[int]:
    found: list[int] = []
    for part in sliced(sorted(seeds)):
        query = select(seed.c.id).where(seed.c.id.in_(part), seed.c.state == SeedState.DONE.value)
        found.extend(connection.scalars(query))
    return found
