"""Modes by which external URLs go to other machines: where they are sent to, of a machine that is being built."""

from __future__ import annotations

from scrawler.assembly.building import Building
from scrawler.features.cluster.settings import ClusterSettings
from scrawler.features.cluster.store.outbox import SentExternals


def exchange(building: Building) -> SentExternals:
    """Let URLs be sent to the owners of their sites, and those for this machine's own come in. Raises SettingsError."""
    externals = _sent(building, for_guests=False)
    building.listens = True
    building.most_unsent = ClusterSettings.of(building.settings).send_list_max
    if ClusterSettings.of(building.settings).communicator is not None:
        from scrawler.features.cluster.exchange.carrying import carry

        carry(building, externals)
    return externals


def cross_over(building: Building) -> SentExternals:
    """Let URLs be laid by for guests at their sites."""
    return _sent(building, for_guests=True)


def _sent(building: Building, for_guests: bool) -> SentExternals:
    settings = building.settings
    externals = SentExternals(
        building.database, settings.scope, building.boundary, settings.max_depth, for_guests=for_guests
    )
    building.followers.append(externals.follow)
    return externals
