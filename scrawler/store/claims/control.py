"""Live control: what users tell machines to do, as rows that each machine reads with its next heartbeat."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, literal_column, select, update
from sqlalchemy import func as sql

from scrawler.errors import StoreError
from scrawler.model.machines import LEASE, Command, MachineState
from scrawler.model.terms import Millis
from scrawler.store.claims.crawls import bump_revision
from scrawler.store.claims.overview import LIVING, is_silent
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_object
from scrawler.store.engines.rows import AnyRow
from scrawler.store.schema.tables import crawl, machine

_SITES = "sites"  # the key of the settings of single hosts
EMPTY: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CrawlOrders:
    """What holds for all machines of the crawl, those that come later among them."""

    paused: bool
    settings: Mapping[str, Any]  # settings that hold over files, variables and flags


class Control:
    """Tells machines what to do. Methods return the names of the living machines that it concerns.

    A weaker order never takes back a stronger one: a machine that is to stop is not paused any more.
    """

    def __init__(self, database: Database, lease: Millis = LEASE) -> None:
        """Work on `database`, whose machines have this `lease`."""
        self._database = database
        self._lease = lease
        self._clock: ColumnElement[Millis] = literal_column(database.clock)

    def orders(self) -> CrawlOrders:
        """Return what holds for all machines now."""

        def work(connection: Connection) -> CrawlOrders:
            row = connection.execute(select(crawl.c.paused, crawl.c.settings)).first()
            return CrawlOrders(bool(row and row.paused), _settings_of(row))

        return self._database.reading(work)

    def pause(self, names: Collection[str] | None = None) -> list[str]:
        """Pause these machines; without names the crawl: machines that come later start paused, until `resume`.

        Raises:
            StoreError: no living machine has one of the names.
        """
        if names is not None:
            return self._order(Command.PAUSE, names)
        return self._for_all({"paused": 1})

    def resume(self, names: Collection[str] | None = None) -> list[str]:
        """Take back the pause of these machines; without names that of the crawl and of every machine.

        Raises:
            StoreError: no living machine has one of the names, or the whole crawl is paused.
        """

        def work(connection: Connection) -> list[str]:
            if names is None:
                connection.execute(update(crawl).values(paused=0))
            elif connection.scalar(select(crawl.c.paused)):
                raise StoreError("the whole crawl is paused, and so is each machine; resume it without naming machines")
            rows = self._living(connection, names)
            paused = machine.c.id.in_([row.id for row in rows]), machine.c.wanted == Command.PAUSE.value
            connection.execute(update(machine).where(*paused).values(wanted=Command.RUN.value))
            return [row.name for row in rows]

        return self._database.retrying(work)

    def stop(self, names: Collection[str] | None = None) -> list[str]:
        """Let these machines end cleanly; without names all, and those that their commands would start anew.

        The order is later than all launches, though the clock was set back since these.

        Raises:
            StoreError: no living machine has one of the names.
        """
        if names is not None:
            return self._order(Command.STOP, names)

        def work(connection: Connection) -> list[str]:
            now = database_time(connection, self._database.clock)
            started = connection.scalar(select(crawl.c.starting_at)) or 0
            launched = select(sql.max(machine.c.launched_at)).where(machine.c.state.in_(LIVING))
            newest = max(started, connection.scalar(launched) or 0)
            connection.execute(update(crawl).values(stopped_at=max(now, newest + 1)))
            return [row.name for row in self._living(connection, None)]

        return self._database.retrying(work)

    def drain(self, name: str) -> None:
        """Let a machine give its sites back and end.

        Raises:
            StoreError: no living machine has the name.
        """
        self._order(Command.DRAIN, [name])

    def remove(self, name: str) -> bool:
        """Let a machine end at once; return whether it is dead already: it was silent.

        One that lives but does not obey is dead when its lease is over, which is not prolonged any more.

        Raises:
            StoreError: no machine that is not known to have ended has the name.
        """

        def work(connection: Connection) -> bool:
            rows = self._not_ended(connection)
            row = next((row for row in rows if row.name == name), None)
            if row is None:
                raise _unknown([name], rows)
            mine, silent = update(machine).where(machine.c.id == row.id), is_silent(row, self._lease)
            connection.execute(mine.values(wanted=Command.REMOVE.value))
            if silent:  # a machine may have come back meanwhile
                same = mine.where(machine.c.heartbeat_at == row.heartbeat_at)
                connection.execute(same.values(state=MachineState.DEAD.value))
            return silent

        return self._database.retrying(work)

    def set(self, values: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]] = EMPTY) -> Mapping[str, Any]:
        """Set settings (values that JSON knows) for all machines, None takes one back; return all that are set.

        `tables` are those of single hosts, by the names of these; all of them stand under `sites`.
        """

        def work(connection: Connection) -> dict[str, Any]:
            row = connection.execute(select(crawl.c.settings).with_for_update()).first()
            stored = _settings_of(row)
            of_hosts = stored.pop(_SITES, {})
            for name, table in tables.items():
                of_hosts[name] = _without_none({**of_hosts.get(name, {}), **table})
            kept = _without_none({**stored, **values})
            if of_hosts := {name: of_hosts[name] for name in sorted(of_hosts) if of_hosts[name]}:
                kept[_SITES] = of_hosts
            connection.execute(update(crawl).values(settings=json.dumps(kept) if kept else None))
            bump_revision(connection)
            return kept

        return self._database.retrying(work)

    def _order(self, command: Command, names: Collection[str]) -> list[str]:
        weaker = [one.value for one in Command][: list(Command).index(command)]

        def work(connection: Connection) -> list[str]:
            rows = self._living(connection, names)
            milder = machine.c.id.in_([row.id for row in rows]), machine.c.wanted.in_(weaker)
            connection.execute(update(machine).where(*milder).values(wanted=command.value))
            return [row.name for row in rows]

        return self._database.retrying(work)

    def _for_all(self, values: Mapping[str, Any]) -> list[str]:
        def work(connection: Connection) -> list[str]:
            connection.execute(update(crawl).values(values))
            return [row.name for row in self._living(connection, None)]

        return self._database.retrying(work)

    def _living(self, connection: Connection, names: Collection[str] | None) -> list[AnyRow]:
        """Return the machines that live, of these names where names are given."""
        rows = [row for row in self._not_ended(connection) if not is_silent(row, self._lease)]
        if names is None:
            return rows
        if unknown := set(names) - {row.name for row in rows}:
            raise _unknown(unknown, rows)
        return [row for row in rows if row.name in names]

    def _not_ended(self, connection: Connection) -> Sequence[AnyRow]:
        now = self._clock.label("now")
        query = select(machine.c.id, machine.c.name, machine.c.process, machine.c.heartbeat_at, now)
        return connection.execute(query.where(machine.c.state.in_(LIVING)).order_by(machine.c.id)).all()


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: values[key] for key in sorted(values) if values[key] is not None}


def _settings_of(row: AnyRow | None) -> dict[str, Any]:
    return read_object(row.settings) if row and row.settings else {}


def _unknown(names: Collection[str], rows: Sequence[AnyRow]) -> StoreError:
    there = ", ".join(row.name for row in rows)
    running = f"running are {there}" if there else "no machine runs"
    return StoreError(f"there is no running machine {', '.join(sorted(names))}; {running}")
