"""How many candidate seeds a seed may have: of one that has them all, only what is known is counted on.

A page can link to thousands of made-up names, and a site has pages without an end.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, select
from sqlalchemy import func as sql

from scrawler.model.rows import ExternalRow, RejectionRow
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import candidate, rejection
from scrawler.urls.verdict import Verdict

_COUNTED_FROM = 64  # a seed's rows are counted once it has brought this part of what it may have
_SEEDS = 10_000  # of which is remembered how many rows they may have
_TOLD = 4  # URLs that are left out and told, of each seed
_URL_CHARACTERS = 2_000


class CandidateRoom:
    """Leaves out of what is found the URLs for which a seed has no room; used by one thread.

    Rows are counted where there may be too many, so that nothing is asked for seeds that bring few. What is remembered
    here is no less than what a seed has brought to this machine since it was counted.
    """

    def __init__(self, database: Database, most: int) -> None:
        """Let each seed have `most` candidates; 0: any number."""
        self._most = most
        self._brought: OrderedDict[int, int] = OrderedDict()
        self._counted: set[int] = set()  # seeds of these whose rows were counted
        self._told: Counter[int] = Counter()
        self._rejections = BulkInsert.ignoring(rejection, RejectionRow._fields, database.compiler)

    def fitting(self, connection: Connection, found: Sequence[ExternalRow]) -> Sequence[ExternalRow]:
        """Return what there is room for, in the order in which it came; some of the others are noted as refused."""
        if not self._most:
            return found
        numbers = Counter(row.seed_id for row in found)
        left = {seed_id: self._room(connection, seed_id, number) for seed_id, number in numbers.items()}
        room = {seed_id: some for seed_id, some in left.items() if some < numbers[seed_id]}
        if not room:
            return found
        fits = self._chosen(connection, [row for row in found if row.seed_id in room], room)
        self._tell(connection, (row for row in found if row.seed_id in room and row[:2] not in fits))
        return [row for row in found if row.seed_id not in room or row[:2] in fits]

    def _room(self, connection: Connection, seed_id: int, number: int) -> int:
        """Return for how many new rows of a seed there is room, at least for `number` where there are few."""
        brought = self._brought.pop(seed_id, 0) + number
        self._brought[seed_id] = brought
        if len(self._brought) > _SEEDS:
            self._forget(self._brought.popitem(last=False)[0])
        bound = self._most if seed_id in self._counted else self._most // _COUNTED_FROM
        if brought <= bound:
            return number
        there = connection.scalar(select(sql.count()).select_from(candidate).where(candidate.c.seed_id == seed_id)) or 0
        self._counted.add(seed_id)
        self._brought[seed_id] = there + number
        return max(0, self._most - there)

    def _forget(self, seed_id: int) -> None:
        self._counted.discard(seed_id)
        self._told.pop(seed_id, None)

    @staticmethod
    def _chosen(connection: Connection, rows: list[ExternalRow], room: dict[int, int]) -> set[tuple[int, bytes]]:
        """Return seed and hash of the URLs that are known already, and of the first others for which there is room."""
        chosen: set[tuple[int, bytes]] = set()
        for seed_id, left in room.items():
            mine = [row.url_hash for row in rows if row.seed_id == seed_id]
            for part in sliced(mine):
                known = select(candidate.c.url_hash).where(candidate.c.seed_id == seed_id)
                hashes = connection.scalars(known.where(candidate.c.url_hash.in_(part)))
                chosen.update((seed_id, bytes(one)) for one in hashes)
            new = [one for one in mine if (seed_id, one) not in chosen]
            chosen.update((seed_id, one) for one in new[:left])
        return chosen

    def _tell(self, connection: Connection, left_out: Iterable[ExternalRow]) -> None:
        """Note a few of the URLs that are left out, for those who ask why."""
        told = []
        words = f"its seed has {self._most} candidate seeds, as many as max_candidates allows"
        for row in left_out:
            if self._told[row.seed_id] < _TOLD:
                self._told[row.seed_id] += 1
                url = row.url[:_URL_CHARACTERS]
                told.append(RejectionRow(row.seed_id, row.url_hash, Verdict.EXTERNAL_LIMIT.value, url, words))
        self._rejections.run(connection, sorted(told, key=lambda row: row[:2]))
