"""URLs of page rows whose records are gone are listed to be fetched again (`run --retry lost`).

They come into a lane of their own, which serves the archive alone: what such a page led to is known. The rows are
marked, and stay until an answer comes that takes their place (see `replacing`). Each transaction is a whole step: cut
short at any point, it is done again. Only sites that no machine has in work are touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, Select, delete, select

from scrawler.model.lanes import REFETCH
from scrawler.model.results import PageFlag
from scrawler.model.seeds import SeedState
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import HOME_URL, AnyRow, Reaches, sliced
from scrawler.store.lists.orphans import OrphanWriter
from scrawler.store.lists.relisting import Packed, Relisting, let_go_on, sites_in_work
from scrawler.store.lists.vain import BY_PLACE, VainRevisits
from scrawler.store.schema.tables import page, robots, robots_record, seed, site

_PLACES = 200  # rows of one transaction
_COLUMNS = (
    page.c.id, page.c.seed_id, page.c.url_hash, page.c.url, page.c.depth, page.c.lane_seed, page.c.position,
    page.c.flags, page.c.referrer, seed.c.site_id, site.c.site_key, seed.c.url.label("given"), HOME_URL,
)  # fmt: skip


class TakenBack(NamedTuple):
    """How many URLs of lost records are listed to be fetched again, and how many are not."""

    rows: int = 0
    in_vain: int = 0  # how many of them are revisit records, which are there but refer to what is gone
    waiting: int = 0  # rows whose URLs were listed before, and have not been fetched since
    in_work: int = 0  # rows whose site a machine has in work
    unreachable: int = 0  # rows whose seed is at another site by now
    robots: int = 0  # answers to requests for a robots.txt, which are forgotten

    def plus(self, other: TakenBack) -> TakenBack:
        """Add up."""
        return TakenBack._make(map(sum, zip(self, other, strict=True)))


class LostRows:
    """Lists them; `pack` makes the data of a chunk of (url, depth, position, referrer).

    `reaches` says whether a seed can ask for a URL.
    """

    def __init__(self, database: Database, pack: Packed, reaches: Reaches) -> None:
        """Work on `database`."""
        self._database = database
        self._reaches = reaches
        self._vain = VainRevisits(database)
        self._relisting = Relisting(database, pack, REFETCH.number)
        self._orphans = OrphanWriter(database.compiler)

    def take_back(self, warc_file: str, offsets: Iterable[int]) -> TakenBack:
        """List the URLs of a file's rows with these offsets, and of revisits that refer to payloads of these alone."""
        total = TakenBack()
        for part in sliced(offsets, _PLACES):
            for ids in sliced(self._vain.taken(warc_file, part), _PLACES):
                total = total.plus(self._database.retrying(partial(self._take_vain, ids=ids)))
            work = partial(self._take_lost, warc_file=warc_file, offsets=part)
            total = total.plus(self._database.retrying(work))
        return total

    def _take_vain(self, connection: Connection, ids: list[int]) -> TakenBack:
        rows = self._to_take(self._free(connection, _rows().where(page.c.id.in_(ids), page.c.revisit == 1))[0])
        self._relisting.ask_again(connection, rows)
        self._let_go_on(connection, rows)
        return TakenBack(in_vain=len(rows))

    def _take_lost(self, connection: Connection, warc_file: str, offsets: list[int]) -> TakenBack:
        at = page.c.warc_file == warc_file, page.c.warc_offset.in_(offsets)
        free, in_work = self._free(connection, _rows().where(*at).with_hint(page, BY_PLACE, "mysql"))
        reachable = [row for row in free if self._is_reachable(row)]
        rows = self._to_take(free)
        waiting = [row for row in reachable if row.flags & PageFlag.WAITING]
        self._relisting.ask_again(connection, rows)
        taken_up = self._let_go_on(connection, [*rows, *waiting])
        robots_rows = self._forget_robots(connection, warc_file, offsets)
        return TakenBack(
            rows=len(rows) + sum(row.seed_id in taken_up for row in waiting),
            waiting=sum(row.seed_id not in taken_up for row in waiting),
            in_work=in_work,
            unreachable=len(free) - len(reachable),
            robots=robots_rows,
        )

    def _forget_robots(self, connection: Connection, warc_file: str, offsets: list[int]) -> int:
        """Forget answers to requests for a robots.txt, which is asked for when a site needs it; return their number.

        The copies of these texts go as well: for as long as one is fresh, no other is asked for.
        """
        at = robots_record.c.warc_file == warc_file, robots_record.c.warc_offset.in_(offsets)
        rows = connection.execute(select(robots_record).where(*at).order_by(robots_record.c.warc_offset)).all()
        if not rows:
            return 0
        self._orphans.write(connection, [(row.warc_file, row.warc_offset, row.warc_length) for row in rows])
        connection.execute(delete(robots_record).where(*at))
        origins = sorted({url_hash(row.url.removesuffix("/robots.txt")) for row in rows})
        connection.execute(delete(robots).where(robots.c.origin_hash.in_(origins)))
        return len(rows)

    @staticmethod
    def _free(connection: Connection, query: Select[*tuple[object, ...]]) -> tuple[list[AnyRow], int]:
        """Return the rows of sites that nobody has in work, which are locked now, and the number of the others."""
        found = connection.execute(query).all()
        held = sites_in_work(connection, {row.site_id for row in found})
        free = [row for row in connection.execute(query).all() if row.site_id not in held]  # as they are now, locked
        return free, len(found) - len(free)

    def _to_take(self, rows: Iterable[AnyRow]) -> list[AnyRow]:
        return [row for row in rows if self._is_reachable(row) and not row.flags & PageFlag.WAITING]

    def _is_reachable(self, row: AnyRow) -> bool:
        """Tell whether the seed can ask for it: it may have moved on, and another seed's own URL is that one's."""
        own = row.depth > 0 or row.lane_seed == row.seed_id
        return bool(own and self._reaches(row.url, row.depth, row.site_key, row.given, row.home_url))

    @staticmethod
    def _let_go_on(connection: Connection, rows: Iterable[AnyRow]) -> set[int]:
        """Let those of the rows' seeds go on that are done; return them."""
        theirs = sorted({row.seed_id for row in rows})
        ended = select(seed.c.id, seed.c.site_id).where(seed.c.state == SeedState.DONE.value)
        done = connection.execute(ended.where(seed.c.id.in_(theirs))).all()
        if done:
            let_go_on(connection, [row.id for row in done], {row.site_id for row in done})
        return {row.id for row in done}


def _rows() -> Select[*tuple[object, ...]]:
    of_site = page.join(seed, seed.c.id == page.c.seed_id).join(site, site.c.id == seed.c.site_id)
    return select(*_COLUMNS).select_from(of_site).order_by(page.c.id)
