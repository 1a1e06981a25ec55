"""Page rows whose records are gone are taken back, and their URLs listed to be fetched again (`run --retry lost`).

They come into a lane of their own, which serves the archive alone: what such a page led to is known. Counts of seeds
and totals of machines lose what the rows were counted for, and get it again with the new ones. Each transaction is a
whole step: cut short at any point, it is done again. Only sites that no machine has in work are touched.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus

from sqlalchemy import Connection, Select, delete, select, update

from scrawler.model.lanes import REFETCH
from scrawler.model.results import COUNTED_AS, NO_ERROR, PageFlag, Result
from scrawler.model.seeds import SeedState
from scrawler.model.terms import url_hash
from scrawler.store.bulk import BulkInsert
from scrawler.store.engine import Database
from scrawler.store.relisting import Packed, Relisting, let_go_on, sites_in_work
from scrawler.store.rows import AnyRow, sliced
from scrawler.store.tables import machine, orphan, page, robots, robots_record, seed, site
from scrawler.store.vain import BY_PLACE, VainRevisits
from scrawler.tuples.classes import NamedTuple

_PLACES = 200  # rows of one transaction
_COLUMNS = (
    page.c.id, page.c.seed_id, page.c.url, page.c.depth, page.c.lane_seed, page.c.position, page.c.result,
    page.c.length, page.c.digest, page.c.warc_file, page.c.warc_offset, page.c.warc_length, page.c.revisit,
    page.c.flags, page.c.referrer, page.c.status, seed.c.site_id, site.c.site_key,
)  # fmt: skip


class TakenBack(NamedTuple):
    """How many rows of lost records were taken back, and how many were not."""

    rows: int = 0
    in_vain: int = 0  # how many of them are revisit records, which are there but refer to what is gone
    in_work: int = 0  # rows whose site a machine has in work
    unreachable: int = 0  # rows whose seed is at another site by now
    robots: int = 0  # answers to requests for a robots.txt, which are forgotten

    def plus(self, other: TakenBack) -> TakenBack:
        """Add up."""
        return TakenBack._make(map(sum, zip(self, other, strict=True)))


class LostRows:
    """Takes rows back.

    `pack` makes the data of a chunk of (url, depth, position, referrer), `site_key` the key of a URL's site;
    `machine_of` tells which machine wrote a file.
    """

    def __init__(
        self,
        database: Database,
        pack: Packed,
        site_key: Callable[[str], str],
        machine_of: Callable[[str], int | None],
    ) -> None:
        """Work on `database`."""
        self._database = database
        self._site_key = site_key
        self._machine_of = machine_of
        self._vain = VainRevisits(database)
        self._relisting = Relisting(database, pack, REFETCH.number)
        self._orphans = BulkInsert.ignoring(orphan, [column.name for column in orphan.columns], database.compiler)

    def take_back(self, warc_file: str, offsets: Iterable[int]) -> TakenBack:
        """Take back the rows of a file with these offsets, and of revisits that refer to payloads of these alone.

        The revisits come first: for as long as the lost rows are there, it is known what refers to them.
        """
        total = TakenBack()
        for part in sliced(offsets, _PLACES):
            for ids in sliced(self._vain.taken(warc_file, part), _PLACES):
                total = total.plus(self._database.retrying(partial(self._take_vain, ids=ids)))
            work = partial(self._take_lost, warc_file=warc_file, offsets=part)
            total = total.plus(self._database.retrying(work))
        return total

    def _take_vain(self, connection: Connection, ids: list[int]) -> TakenBack:
        rows = self._to_take(self._free(connection, _rows().where(page.c.id.in_(ids), page.c.revisit == 1))[0])
        self._take(connection, rows)
        return TakenBack(in_vain=len(rows))

    def _take_lost(self, connection: Connection, warc_file: str, offsets: list[int]) -> TakenBack:
        at = page.c.warc_file == warc_file, page.c.warc_offset.in_(offsets)
        free, in_work = self._free(connection, _rows().where(*at).with_hint(page, BY_PLACE, "mysql"))
        rows = self._to_take(free)
        self._take(connection, rows)
        robots_rows = self._forget_robots(connection, warc_file, offsets)
        return TakenBack(len(rows), in_work=in_work, unreachable=len(free) - len(rows), robots=robots_rows)

    def _forget_robots(self, connection: Connection, warc_file: str, offsets: list[int]) -> int:
        """Forget answers to requests for a robots.txt, which is asked for when a site needs it; return their number.

        The copies of these texts go as well: for as long as one is fresh, no other is asked for.
        """
        at = robots_record.c.warc_file == warc_file, robots_record.c.warc_offset.in_(offsets)
        rows = connection.execute(select(robots_record).where(*at).order_by(robots_record.c.warc_offset)).all()
        if not rows:
            return 0
        self._remember(connection, rows)
        connection.execute(delete(robots_record).where(*at))
        origins = sorted({url_hash(row.url.removesuffix("/robots.txt")) for row in rows})
        connection.execute(delete(robots).where(robots.c.origin_hash.in_(origins)))
        return len(rows)

    def _remember(self, connection: Connection, rows: Iterable[AnyRow]) -> None:
        """Make the spans of rows that are taken back orphans: so a file that comes back is known for what it is."""
        self._orphans.run(connection, sorted((row.warc_file, row.warc_offset, row.warc_length) for row in rows))

    @staticmethod
    def _free(connection: Connection, query: Select[*tuple[object, ...]]) -> tuple[list[AnyRow], int]:
        """Return the rows of sites that nobody has in work, which are locked now, and the number of the others."""
        found = connection.execute(query).all()
        held = sites_in_work(connection, {row.site_id for row in found})
        free = [row for row in connection.execute(query).all() if row.site_id not in held]  # as they are now, locked
        return free, len(found) - len(free)

    def _to_take(self, rows: Iterable[AnyRow]) -> list[AnyRow]:
        return [row for row in rows if self._is_reachable(row)]

    def _is_reachable(self, row: AnyRow) -> bool:
        """Tell whether the seed can ask for it: it may have moved on, and another seed's own URL is that one's."""
        own = row.depth > 0 or row.lane_seed == row.seed_id
        return bool(own and self._site_key(row.url) == row.site_key)

    def _take(self, connection: Connection, rows: Sequence[AnyRow]) -> None:
        """Delete page rows, put all that they were counted for right, and list their URLs again."""
        self._remember(connection, rows)
        for part in sliced([row.id for row in rows]):
            connection.execute(delete(page).where(page.c.id.in_(part)))
        by_seed: defaultdict[int, list[AnyRow]] = defaultdict(list)
        for row in rows:
            by_seed[row.seed_id].append(row)
        self._relisting.list_again(connection, by_seed)
        for one, some in sorted(by_seed.items()):
            values = {seed.c[name]: seed.c[name] - number for name, number in counts_of(some).items()}
            connection.execute(update(seed).where(seed.c.id == one).values(values))
        ended = select(seed.c.id, seed.c.site_id).where(seed.c.state == SeedState.DONE.value)
        if done := connection.execute(ended.where(seed.c.id.in_(list(by_seed)))).all():
            let_go_on(connection, [row.id for row in done], {row.site_id for row in done})
        self._subtract_totals(connection, rows)

    def _subtract_totals(self, connection: Connection, rows: Iterable[AnyRow]) -> None:
        totals: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for row in rows:
            number = self._machine_of(row.warc_file)
            if number is not None:
                totals[number]["pages"] += row.result == Result.FETCHED
                totals[number]["bytes"] += row.length if row.status != HTTPStatus.NOT_MODIFIED else 0
                totals[number]["errors"] += row.result not in NO_ERROR
        for number, counts in sorted(totals.items()):
            values = {machine.c[name]: machine.c[name] - less for name, less in counts.items()}
            connection.execute(update(machine).where(machine.c.id == number).values(values))


def _rows() -> Select[*tuple[object, ...]]:
    of_site = page.join(seed, seed.c.id == page.c.seed_id).join(site, site.c.id == seed.c.site_id)
    return select(*_COLUMNS).select_from(of_site).order_by(page.c.id)


def counts_of(rows: Iterable[AnyRow]) -> Mapping[str, int]:
    """Return what rows were counted for in their seed."""
    counts: Counter[str] = Counter()
    for row in rows:
        fetched = row.result == Result.FETCHED
        counts[COUNTED_AS.get(Result(row.result), "failures")] += 1
        counts["internal_errors"] += row.result == Result.INTERNAL_ERROR
        counts["noindex"] += bool(row.flags & PageFlag.NOINDEX)
        counts["nofollow"] += bool(row.flags & PageFlag.NOFOLLOW)
        counts["near_duplicates"] += bool(row.flags & PageFlag.NEAR_DUPLICATE)
        if fetched:
            counts["revisits"] += row.revisit
            is_saved = row.status == HTTPStatus.NOT_MODIFIED or row.flags & PageFlag.EARLIER
            counts["saved"] += row.length if row.revisit and is_saved else 0
            counts["slow_pages"] += bool(row.flags & PageFlag.SLOW)
    return counts
