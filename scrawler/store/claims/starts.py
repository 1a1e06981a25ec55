"""Machines that are being started: the command that starts them says so, for they have no rows of their own yet.

The crawl's row has room for one such note. Where two commands begin at a time, the one that wrote last is told of: of
the other one's machines nothing is said until they are there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, literal_column, select, update

from scrawler.model.terms import Millis
from scrawler.store.claims.overview import MachineView
from scrawler.store.claims.processes import identify, runs
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.schema.tables import crawl

# A machine that has not come after so long will not come: it has failed, or its host's command was ended.
LONGEST: Millis = 60_000


@dataclass(frozen=True, slots=True)
class Start:
    """What the newest command said when it began to start machines."""

    machines: int
    at: Millis  # when they were launched, as their rows say
    age_ms: Millis

    def missing(self, there: Iterable[MachineView]) -> int:
        """Return how many of the machines have no row yet; what became of the others does not matter."""
        return max(0, self.machines - sum(one.launched_at == self.at for one in there))


class Starts:
    """Who starts machines now."""

    def __init__(self, database: Database) -> None:
        """Work on `database`, whose crawl is there."""
        self._database = database
        self._clock: ColumnElement[Millis] = literal_column(database.clock)

    def begin(self, machines: int) -> Millis:
        """Note that this process starts so many machines; return since when, to register them as launched then.

        That is never before the last order to stop, which is for machines that were launched before it: the clock may
        have been set back since.
        """
        process = identify(os.getpid())

        def work(connection: Connection) -> Millis:
            stopped_at = connection.scalar(select(crawl.c.stopped_at)) or 0
            now = max(database_time(connection, self._database.clock), stopped_at)
            note = {"starting_machines": machines, "starting_at": now, "starting_process": process}
            connection.execute(update(crawl).values(note))
            return now

        return self._database.retrying(work)

    def newest(self) -> Start | None:
        """Return the newest start, None if it is long ago, or the process that made it is gone.

        Whether a process on another host is gone cannot be told from here: its start holds for LONGEST. So does one
        some of whose machines never come, because they are given up. Read it before the machines that are there.
        """
        note = (crawl.c.starting_machines, crawl.c.starting_at, crawl.c.starting_process, self._clock.label("now"))
        row = self._database.reading(lambda connection: connection.execute(select(*note)).first())
        if row is None:
            return None
        start = Start(row.starting_machines, row.starting_at, row.now - row.starting_at)
        holds = 0 <= start.age_ms < LONGEST and runs(row.starting_process) is not False
        return start if holds else None
