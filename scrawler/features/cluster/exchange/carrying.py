"""What carries URLs from machine to machine, by the settings."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from scrawler.assembly.building import Building
from scrawler.core.machine.crew import Crew, look_again
from scrawler.core.machine.machine import Machine
from scrawler.core.machine.permission import Permission
from scrawler.core.machine.waits import Wait
from scrawler.errors import SettingsError
from scrawler.features.cluster.exchange.communicator import MOST_MEMBERS, MOST_STRANGERS, Communicator
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.receiver import UrlReceiver
from scrawler.features.cluster.exchange.sender import SEND_AGAIN, UrlSender
from scrawler.features.cluster.settings import ClusterSettings
from scrawler.features.cluster.store.outbox import Carried, SentExternals
from scrawler.features.cluster.store.outboxes import MachineOutbox
from scrawler.fetch.descriptors import file_limit
from scrawler.model.exchange import Mode
from scrawler.regular import read_regular
from scrawler.settings import Settings
from scrawler.settings.kinds import SHARED_SECRET_LENGTH
from scrawler.threads import no_room

_NEEDED = {"amqp": "kombu", "amqps": "kombu", "redis": "redis", "rediss": "redis"}
_FILES_OF_LOOP = 8  # with the socket that listens
_FEWEST_MEMBERS = 16
_SHARE_OF_FILES = 16  # members have a sixteenth of the files of a process, twice: some send, and some are sent to


def scheme_of(settings: Settings) -> str:
    """Return how URLs go from machine to machine: tcp, amqp, ...; empty: by the database, or not at all."""
    own = ClusterSettings.of(settings)
    if own.agents is not None or own.communicator is None or settings.mode is not Mode.EXCHANGE:
        return ""
    return own.communicator.get_secret_value().partition("://")[0].removesuffix("db")


def most_members() -> int:
    """Return from how many members a port may have connections, and to how many; each is a file of this process."""
    limit = file_limit()
    if limit is None:
        return MOST_MEMBERS
    return max(_FEWEST_MEMBERS, min(MOST_MEMBERS, limit // _SHARE_OF_FILES))


def files_of_port(settings: Settings, members: int = _FEWEST_MEMBERS) -> int:
    """Return how many files the port takes at which others send to this machine: with so many members, few at least.

    So whatever strangers do there, it takes none from the hosts that are crawled.
    """
    has_port = ClusterSettings.of(settings).agents is not None or scheme_of(settings) == "tcp"
    return _FILES_OF_LOOP + MOST_STRANGERS + 2 * members if has_port else 0


def check_exchange(settings: Settings) -> None:
    """Look whether there is all that the communicator needs. Raises SettingsError."""
    scheme = scheme_of(settings)
    if not scheme:
        return
    if scheme in _NEEDED and importlib.util.find_spec(_NEEDED[scheme]) is None:
        raise SettingsError(f"communicator {scheme} needs an extra: pip install 'seed-scrawler[exchange]'")
    shared_secret(settings)


def shared_secret(settings: Settings) -> bytes:
    """Return what all machines sign with. Raises SettingsError where there is none."""
    own = ClusterSettings.of(settings)
    if own.exchange_secret is not None:
        return own.exchange_secret.get_secret_value().encode()
    if own.exchange_secret_file is None:
        raise SettingsError(
            f"communicator {scheme_of(settings)} needs a secret that all machines share: write one to a file"
            " (openssl rand -hex 32), and name it with --exchange-secret-file, or set SCRAWLER_EXCHANGE_SECRET"
        )
    file = own.exchange_secret_file
    try:
        secret = read_regular(file).strip()
    except OSError as error:
        raise SettingsError(f"cannot read the secret of exchange_secret_file: {error.strerror}: {file}") from error
    if not SHARED_SECRET_LENGTH <= len(secret) <= 1 << 16:
        raise SettingsError(f"{file} is no secret: a text of {SHARED_SECRET_LENGTH} bytes at least")
    return secret


def carry(building: Building, externals: SentExternals) -> None:
    """Let a communicator carry URLs between this machine and others, where the settings name one."""
    if scheme_of(building.settings):
        building.beside.append(partial(_carrying, building, externals))


@contextmanager
def _carrying(building: Building, externals: SentExternals, machine: Machine) -> Iterator[None]:
    """Carry URLs in the block. Raises SettingsError where the machine cannot listen."""
    settings, scheme = building.settings, scheme_of(building.settings)
    own = ClusterSettings.of(settings)
    outbox = MachineOutbox(building.database, building.machine_id, scheme)
    with closing(_communicator(building, outbox)) as communicator:
        outbox.listen(communicator.address)  # the others are told where
        crew, failed = machine.crew, machine.ending.failed
        sender = UrlSender(
            outbox,
            communicator,
            failed,
            partial(_outbox_full, crew, machine.permission),
            own.send_list_max,
            own.send_wait,
            max(SEND_AGAIN, 2 * settings.checkpoint_interval),
        )
        receiver = UrlReceiver(
            communicator,
            crew.held_sites,
            look_again,
            sender.receipt,
            outbox.alive,
            failed,
            crew.turn,
            crew.stopping,
            settings.scope,
            own.send_list_max,
        )
        externals.carry(Carried(building.machine_id, scheme))
        machine.checkpointer.on_durable += [receiver.durable, sender.durable]
        machine.listeners.append(receiver)
        machine.senders.append(sender)
        yield


def _communicator(building: Building, outbox: MachineOutbox) -> Communicator:
    settings, crawl = building.settings, building.crawl
    url = ClusterSettings.of(settings).communicator
    assert url is not None
    identity = f"{crawl.name}-{crawl.created_at:x}"  # crawls of two databases may have one name
    secret = shared_secret(settings)
    door = Door(identity, str(building.machine_id), secret, settings.max_url_length, building.say)
    with no_room():
        if scheme_of(settings) == "tcp":
            from scrawler.features.cluster.exchange.tcp import TcpCommunicator

            listen = url.get_secret_value().removeprefix("tcp://")
            return TcpCommunicator(listen, outbox.address_of, door, settings.machines, most_members())
        from scrawler.features.cluster.exchange.broker import BrokerCommunicator

        return BrokerCommunicator(url.get_secret_value(), door, building.say)


def _outbox_full(crew: Crew, permission: Permission, full: bool) -> None:
    """Let sites rest while the outbox is full; nobody waits for anything under the turn."""
    with crew.turn:
        permission.withheld_for = Wait.OUTBOX if full else None
        if not full:
            for collector in crew.every:
                collector.unblocked()
