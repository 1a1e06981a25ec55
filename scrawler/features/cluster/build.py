"""What the settings ask for of a cluster; for one machine, which asks for nothing, only what guests do is loaded."""

from __future__ import annotations

from scrawler.assembly.building import Building
from scrawler.errors import SettingsError
from scrawler.features.cluster.guests import be_guest
from scrawler.features.cluster.settings import ClusterSettings
from scrawler.machine_run import FilesTaken
from scrawler.model.exchange import Mode
from scrawler.model.partitions import PartitionKind
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.overview import LIVING
from scrawler.store.engines.engine import Database


def validate(settings: Settings) -> None:
    """Look whether there is all that the communicator needs. Raises SettingsError."""
    own = ClusterSettings.of(settings)
    if own.agents is not None and own.communicator is not None:
        raise SettingsError("agents send to each other at the addresses of their file: leave --communicator out")
    if _carries(settings):
        from scrawler.features.cluster.exchange.carrying import check_exchange

        check_exchange(settings)


def prepare(settings: Settings, database: Database) -> None:
    """Look whether sites can be divided among machines as the settings want it. Raises SettingsError."""
    if settings.partition is PartitionKind.SUBSITE and settings.scope is not Scope.HOST:
        raise SettingsError(
            f"partition subsite divides the hosts of a domain, and the scope of the crawl is {settings.scope.value}:"
            " use --scope host"
        )
    if ClusterSettings.of(settings).agents is not None:
        from scrawler.features.cluster.agents.run import check_agents

        check_agents(settings)
        if _others_run(database):
            raise SettingsError(
                f"another machine runs on {database.where}: each agent has a database of its own (--db)"
            )
    elif settings.partition is PartitionKind.NONE:
        if settings.mode is Mode.EXCHANGE:
            raise SettingsError(
                "with partition none a machine knows of no other to which it could send URLs: use --mode firewall, drop"
                " or cross-over, or another partition"
            )
        if settings.machines > 1 or _others_run(database):
            raise SettingsError(
                "partition none is for machines that agree on nothing, each with a database of its own: start each with"
                " --machines 1 and another --db; `scrawler partition overlap` compares them"
            )


def _others_run(database: Database) -> bool:
    return any(one.state.value in LIVING for one in Machines(database).machines())


def files(settings: Settings) -> FilesTaken:
    """Return the files of the port at which others send to this machine."""
    if ClusterSettings.of(settings).agents is None and not _carries(settings):
        return FilesTaken(0, 0)
    from scrawler.features.cluster.exchange.carrying import files_of_port, most_members

    needed = files_of_port(settings)
    return FilesTaken(needed, files_of_port(settings, most_members()) - needed)


def build(building: Building) -> None:
    """Make a machine one of the agents that the settings name, or else a guest. Raises SettingsError."""
    own = ClusterSettings.of(building.settings)
    building.inbox_batch = own.send_list_max
    if own.agents is None:
        be_guest(building)
        return
    from scrawler.features.cluster.agents.run import AgentRun

    AgentRun(building)


def _carries(settings: Settings) -> bool:
    """Tell whether a communicator may carry URLs from machine to machine."""
    return settings.mode is Mode.EXCHANGE and ClusterSettings.of(settings).communicator is not None
