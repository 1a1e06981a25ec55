"""The parts of an agent: what its machine is given in place of the machines of a common database."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

from scrawler.assembly.building import Building
from scrawler.core.distribution.openers import Opener
from scrawler.core.machine.machine import Machine
from scrawler.errors import SettingsError
from scrawler.features.cluster.agents.members import Member, MembersFile
from scrawler.features.cluster.agents.partition import AgentPartition
from scrawler.features.cluster.agents.standing import Standing
from scrawler.features.cluster.agents.views import View
from scrawler.features.cluster.exchange.carrying import most_members
from scrawler.features.cluster.exchange.communicator import Communicator
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.settings import ClusterSettings
from scrawler.features.cluster.store.agents import AgentCheckpoints, AgentClaims, AgentInboxes, Mail
from scrawler.model.exchange import Mode
from scrawler.model.partitions import PartitionKind
from scrawler.regular import open_regular
from scrawler.settings import Settings
from scrawler.threads import start

SHORTEST_SECRET = 16
_LONGEST_SECRET = 4_096


def check_agents(settings: Settings) -> None:
    """Look whether the settings make an agent. Raises SettingsError."""
    own = ClusterSettings.of(settings)
    assert own.agents is not None
    members = {one.name: one for one in MembersFile(own.agents).members.values()}
    if own.agent is None:
        raise SettingsError(f"which of the agents in {own.agents} is this one? Say --agent NAME")
    if own.agent not in members:
        raise SettingsError(f"{own.agents} has no agent {own.agent}, but {', '.join(sorted(members)[:10])}")
    if len(members) > settings.per_ip:
        raise SettingsError(
            f"{own.agents} has {len(members)} agents, and each needs a place of its own at an IP address, of which"
            f" per_ip has {settings.per_ip}: say --per-ip {len(members)} to all of them, or let some be machines of a"
            " common database"
        )
    read_secret(settings)
    if settings.machines > 1:
        raise SettingsError("an agent is one machine: start another agent, with a database of its own, for more")
    if settings.partition not in (PartitionKind.INDEPENDENT, PartitionKind.CONSISTENT):
        raise SettingsError(f"agents divide sites by consistent hashing, and partition is {settings.partition.value}")
    if settings.mode is Mode.CROSS_OVER:
        raise SettingsError(
            "agents know of no leases on sites of others, under which mode cross-over fetches from them: use --mode"
            " exchange"
        )
    if settings.hops:
        raise SettingsError("agents follow links to other sites by --mode exchange; --hops is for a common database")
    if not own.agents_beat < own.agents_suspect < own.agents_dead:
        raise SettingsError("agents_beat, agents_suspect and agents_dead have to be one longer than the other")


def read_secret(settings: Settings) -> bytes:
    """Return the agents' secret. Raises SettingsError."""
    path = ClusterSettings.of(settings).exchange_secret_file
    if path is None:
        raise SettingsError("agents need a secret that all of them share: --exchange-secret-file FILE")
    try:
        with open_regular(path) as file:
            secret = file.read(_LONGEST_SECRET + 1).strip()
    except OSError as error:
        raise SettingsError(f"{path}: cannot read the agents' secret: {error.strerror or error}") from error
    if not SHORTEST_SECRET <= len(secret) <= _LONGEST_SECRET:
        raise SettingsError(f"{path}: the agents' secret has {SHORTEST_SECRET} to {_LONGEST_SECRET:,} characters")
    return secret


def as_agent(settings: Settings, members: int) -> Settings:
    """Return what an agent among so many does: each has its part of the places at an address, and waits for all.

    No agent begins where there are more than places; one that lives when others are added keeps its last place.
    """
    per_ip = max(1, settings.per_ip // members)
    delay_per_ip = settings.delay_per_ip * members
    return settings.model_copy(update={"per_ip": per_ip, "delay_per_ip": delay_per_ip, "hops": 0})


def communicator_of(
    listen: str, name: str, settings: Settings, address_of: Callable[[str], str | None], say: Callable[[str], None]
) -> Communicator:
    """Make what carries messages of `name`, which listens at `[HOST:]PORT`. Raises SettingsError."""
    from scrawler.features.cluster.exchange.tcp import TcpCommunicator  # few machines are agents

    door = Door(settings.name, name, read_secret(settings), settings.max_url_length, say)
    return TcpCommunicator(listen, address_of, door, members=most_members())


def listening_at(address: str) -> str:
    """Return where to listen for an agent to be reached at an address: there, or at all addresses that this host has.

    The latter where the address is a name, which may be another one's here, or that of a router before this host.
    """
    from scrawler.features.cluster.exchange.sockets import is_here  # few machines are agents

    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return f"{host if is_here(host) else '*'}:{port}"


class AgentRun:
    """What one run of an agent's machine has beside any other's: who the others are, and whose a site is."""

    def __init__(self, building: Building) -> None:
        """Read who the agents are, and make the machine one of them. Raises SettingsError."""
        settings = building.settings
        check_agents(settings)
        own = ClusterSettings.of(settings)
        assert own.agents is not None
        assert own.agent is not None
        self._settings = settings
        self._database = building.database
        self._machine_id = building.machine_id
        self._say = building.say
        self.members = MembersFile(own.agents)
        self._me: Member = self.members.members[own.agent]
        self._most_members = 0
        view = View({one.name: one.capacity for one in self.members.members.values()})
        self.partition = AgentPartition(self._database, self._machine_id, self._me.name, view)
        self.standing = Standing(own.agents_dead, settings.delay, own.agents_suspect)
        self._join(building)

    def _join(self, building: Building) -> None:
        settings, partition, standing = self._settings, self.partition, self.standing
        place = self._database, self._machine_id, settings.scope, building.boundary, settings.max_depth
        building.partition = partition
        building.inboxes = AgentInboxes(*place, partition.is_mine)
        building.make_claims = partial(AgentClaims, claiming=partition.claiming)
        building.make_checkpoints = partial(AgentCheckpoints, scope=settings.scope)
        building.views.append(self.settings_of)
        building.may_ask.append(standing.may_ask)
        building.may_claim.append(standing.may_claim)
        building.last_openers.append(Opener("other agents are at work", standing.keeps_open))
        building.beside.append(self._speaking)

    def settings_of(self, settings: Settings) -> Settings:
        """Return settings as an agent follows them.

        Its part of an address only becomes smaller while it lives: one whose line is gone may still be at work.
        """
        self._most_members = max(self._most_members, len(self.members.members))
        return as_agent(settings, self._most_members)

    @contextmanager
    def _speaking(self, machine: Machine) -> Iterator[None]:
        """Speak with the others in the block, and after it until they know of the end. Raises SettingsError.

        Where the file has more agents than before, settings are followed anew.
        """
        from scrawler.features.cluster.agents.agent import AgentPorts, AgentThread, Times  # few machines are agents

        guests: OrderedDict[str, str] = OrderedDict()
        address_of = partial(_address_of, self.members, guests)
        listen = listening_at(self._me.address)
        settings, say = self._settings, self._say
        with closing(communicator_of(listen, self._me.name, settings, address_of, say)) as communicator:
            ports = AgentPorts(
                holding=machine.holding,
                give_back_others=machine.give_back_others,
                look_again=machine.look_again,
                go_on=machine.go_on,
                figures=lambda: {"at_work": len(machine.crew.held())},
                more_members=machine.follow_orders,
                failed=machine.ending.failed,
                say=say,
            )
            own = ClusterSettings.of(settings)
            times = Times(own.agents_beat, own.agents_suspect, own.agents_dead)
            mail = Mail(self._database, self._machine_id, settings.scope)
            thread = AgentThread(
                self.members, communicator, mail, self.partition, self.standing, times, ports,
                machine.ending.stopping, own.send_list_max, guests,
            )  # fmt: skip
            start(thread)
            try:
                yield
            finally:
                machine.ending.stopping.set()
                communicator.wake()
                thread.join()
                say(thread.told())


def _address_of(members: MembersFile, guests: OrderedDict[str, str], name: str) -> str | None:
    return members.address_of(name) or guests.get(name)
