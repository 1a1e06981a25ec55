"""The first state of each URL, before a seed's second round: derived from the rows of its pages and the archive.

A crawl that is done once writes none of that. So many rows are derived a transaction, and which was the last is noted
in it: cut short, it goes on behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Connection, select, update

from scrawler.features.revisit.policies.due import RevisitPolicy
from scrawler.features.revisit.policies.visit import after_visit
from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis
from scrawler.model.visits import UrlState
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow, sliced
from scrawler.store.lists.relisting import sites_in_work
from scrawler.store.schema.tables import page, seed, url_state

_ROWS = 1_000  # rows of one transaction
_PAGE = [page.c[name] for name in PageRow._fields]


class Archived(NamedTuple):
    """What the archive has of a page, for its next visit."""

    etag: str = ""
    last_modified: str = ""
    original: tuple[str, Millis] | None = None  # URL and time of the record to which its own one refers
    simhash: int = 0  # of its text; 0: it has none, or it is not here
    text_print: bytes = b""  # by which it is compared with later visits, where its payload's digest does not tell


Headers = Callable[[Sequence[PageRow]], Iterable[Archived]]


class FirstStates:
    """Derives states; `headers` reads the archive."""

    def __init__(self, database: Database, headers: Headers, stopping: Callable[[], bool] = lambda: False) -> None:
        """Work on `database`, until `stopping`: what is left is done next time."""
        self._database = database
        self._headers = headers
        self._stopping = stopping
        self._states = BulkInsert.ignoring(url_state, UrlState._fields, database.compiler)

    def derive(self, row: AnyRow, policy: RevisitPolicy) -> bool:
        """Derive the states of URLs that the first round of a seed has brought; False where a machine has it in work.

        Records are read outside of transactions: while nobody has the seed in work, its rows stay what they are.
        """
        while not self._stopping():
            at, rows = self._database.reading(partial(_underived, seed_id=row.id))
            if not rows:
                return True
            states = sorted(self._states_of(rows, policy), key=itemgetter(0, 1))
            keep = partial(self._keep, row=row, states=states, at=at, last=rows[-1].id)
            if not self._database.retrying(keep):
                return False
        return False

    def _keep(self, connection: Connection, row: AnyRow, states: list[UrlState], at: int, last: int) -> bool:
        if not is_free(connection, row):
            return False
        mine = seed.c.id == row.id, seed.c.states_to == at, seed.c.round == 0
        if connection.execute(update(seed).where(*mine).values(states_to=last)).rowcount:
            self._states.run(connection, states)
        return True

    def _states_of(self, rows: Sequence[AnyRow], policy: RevisitPolicy) -> Iterator[UrlState]:
        """Make states of page rows, but for those that have one; of two rows of a URL the last one counts."""
        newest = {bytes(row.url_hash): row for row in rows if not row.visit}  # others have theirs with another seed
        for part in sliced(newest):
            mine = url_state.c.seed_id == rows[0].seed_id, url_state.c.url_hash.in_(part)
            for known in self._database.rows(select(url_state.c.url_hash).where(*mine)):
                del newest[bytes(known[0])]
        pages = [_page_of(row) for row in newest.values()]
        for one, archived in zip(pages, self._headers(pages), strict=True):
            yield after_visit(
                None,
                one._replace(simhash=archived.simhash or one.simhash),
                archived.etag,
                archived.last_modified,
                policy,
                in_round=False,
                original=archived.original,
                text_print=archived.text_print,
            ).state


def is_free(connection: Connection, row: AnyRow) -> bool:
    """Lock a seed's site; return whether the seed is there, done, and no machine has the site in work."""
    if sites_in_work(connection, [row.site_id]):
        return False
    found = connection.execute(select(seed.c.state, seed.c.site_id).where(seed.c.id == row.id)).one()
    return bool(found.state == SeedState.DONE.value and found.site_id == row.site_id)


def _underived(connection: Connection, seed_id: int) -> tuple[int, Sequence[AnyRow]]:
    """Return rows of a seed's first round of which no states were derived yet, and up to which row some were."""
    found = connection.execute(select(seed.c.states_to, seed.c.round).where(seed.c.id == seed_id)).one()
    if found.round:
        return found.states_to, ()
    query = select(page.c.id, *_PAGE).where(page.c.seed_id == seed_id, page.c.id > found.states_to)
    return found.states_to, connection.execute(query.order_by(page.c.id).limit(_ROWS)).all()


def _page_of(row: AnyRow) -> PageRow:
    made = PageRow._make(row[1:])
    return made._replace(
        url_hash=bytes(made.url_hash), digest=bytes(made.digest), referrer=bytes(made.referrer),
        flags=made.flags & ~PageFlag.WAITING,
    )  # fmt: skip
