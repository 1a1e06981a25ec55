"""Outboxes of machines: URLs that a communicator carries, until their receivers have acknowledged them.

A row of `outbox` is written in the transaction of the page on which the URL stands, where another machine with a
communicator of the same kind owns its site then. It goes when that machine has acknowledged it, after a checkpoint of
its own; or into the inbox of its site, where nobody is left to send it to, or the sender is gone. Either way it is
durable somewhere at any moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update
from sqlalchemy import func as sql

from scrawler.features.cluster.store.left_to_send import move_to_inboxes
from scrawler.store.claims.overview import LIVING
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import machine, outbox, site

_LONGEST_ID = 19  # digits of a machine's number


class OutgoingUrl(NamedTuple):
    """A URL in the outbox of a machine."""

    id: int
    key_hash: bytes
    url: str
    depth: int
    hops: int
    referrer: bytes


class Owner(NamedTuple):
    """The machine that has a site, and where its communicator listens."""

    id: int
    address: str


class MachineOutbox:
    """The outbox of one machine; used by one thread at a time."""

    def __init__(self, database: Database, machine_id: int, scheme: str) -> None:
        """Work on `database` in the name of a machine, and send to those with an address of this scheme."""
        self._scheme = f"{scheme}:"
        self._database = database
        self._machine_id = machine_id
        self._mine = outbox.c.machine_id == machine_id
        self._addresses: dict[str, str] = {}  # of other machines, by name

    def first(self, limit: int, after: int = 0) -> list[OutgoingUrl]:
        """Return the URLs that have waited longest of those with an id above `after`, in the order of their ids.

        What is added has an id above those of all that is there, but not of all that ever was.
        """
        columns = (outbox.c[name] for name in OutgoingUrl._fields)
        query = select(*columns).where(self._mine, outbox.c.id > after).order_by(outbox.c.id).limit(limit)
        rows = self._database.rows(query)
        return [OutgoingUrl(row[0], bytes(row[1]), row[2], row[3], row[4], bytes(row[5])) for row in rows]

    def number(self) -> int:
        """Return how many there are."""
        return int(self._database.rows(select(sql.count()).where(self._mine))[0][0])

    def receivers(self, key_hashes: Collection[bytes]) -> dict[bytes, str]:
        """Return who has these sites, by name, where that is another machine that lives and listens."""
        scheme = self._scheme
        found = self._database.reading(lambda connection: owners(connection, self._machine_id, scheme, key_hashes))
        for owner in found.values():
            self._addresses[str(owner.id)] = owner.address
        return {key: str(owner.id) for key, owner in found.items()}

    def alive(self, names: Collection[str]) -> set[str]:
        """Return those of some machines, by name, that live and listen; where they do is known from now on."""
        ids = [int(name) for name in names if name.isascii() and name.isdigit() and len(name) < _LONGEST_ID]
        listens = machine.c.id.in_(ids), machine.c.state.in_(LIVING), machine.c.address != ""
        rows = self._database.rows(select(machine.c.id, machine.c.address).where(*listens))
        found = {str(row[0]): row[1] for row in rows if row[1].startswith(self._scheme)}
        self._addresses.update(found)
        return set(found)

    def address_of(self, name: str) -> str | None:
        """Return where a machine listened when that was last looked at; may be called by any thread."""
        return self._addresses.get(name)

    def acknowledged(self, ids: Collection[int]) -> None:
        """Take out what its receivers have made durable, and count it as received."""

        def work(connection: Connection) -> None:
            gone = sum(
                connection.execute(delete(outbox).where(self._mine, outbox.c.id.in_(part))).rowcount
                for part in sliced(sorted(ids))
            )
            mine = update(machine).where(machine.c.id == self._machine_id)
            connection.execute(mine.values(received=machine.c.received + gone, carried=machine.c.carried + gone))

        if ids:
            self._database.retrying(work)

    def to_inboxes(self, ids: Collection[int]) -> None:
        """Put what nobody is to be sent into the inboxes of its sites, for whoever has these or will have them."""
        for part in sliced(sorted(ids)):
            move_to_inboxes(self._database, [self._mine, outbox.c.id.in_(part)])

    def all_to_inboxes(self) -> None:
        """Leave nothing behind, at the end of the machine."""
        while move_to_inboxes(self._database, [self._mine]):
            pass

    def listen(self, address: str) -> None:
        """Note where the machine's communicator listens; empty: nowhere any more."""
        mine = update(machine).where(machine.c.id == self._machine_id)
        self._database.retrying(lambda connection: connection.execute(mine.values(address=address)))


def owners(connection: Connection, machine_id: int, scheme: str, key_hashes: Iterable[bytes]) -> dict[bytes, Owner]:
    """Return who has these sites, where that is another machine that lives, and listens at an address of a scheme."""
    found: dict[bytes, Owner] = {}
    joined = site.join(machine, machine.c.id == site.c.owner)
    listens = machine.c.state.in_(LIVING), machine.c.address != "", machine.c.id != machine_id
    columns = site.c.key_hash, machine.c.id, machine.c.address
    for part in sliced(sorted(set(key_hashes))):
        query = select(*columns).select_from(joined).where(site.c.key_hash.in_(part), *listens)
        rows = connection.execute(query).all()
        found.update((bytes(row[0]), Owner(row[1], row[2])) for row in rows if row[2].startswith(scheme))
    return found
