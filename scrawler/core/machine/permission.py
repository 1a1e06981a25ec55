"""Whether a machine may ask anybody for anything just now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.machine.lease import Lease
from scrawler.core.machine.waits import Wait
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.site import SiteContext


class Permission:
    """Asked under the turn, before each request."""

    def __init__(
        self,
        lease: Lease,
        standstill: Standstill,
        checkpointer: Checkpointer,
        may_ask: Sequence[Callable[[], bool]] = (),
    ) -> None:
        """All of `may_ask` have to say that the sites which are in work may be asked."""
        self.lease = lease
        self.paused = False  # by an order
        self.withheld_for: Wait | None = None  # why a feature lets sites rest, if one does
        self._standstill = standstill
        self._checkpointer = checkpointer
        self._may_ask = may_ask

    def may_start(self) -> bool:
        """Return whether requests may be started now. A caller that gets False is woken when this changes."""
        if self.paused or self._standstill.resting or self.withheld_for is not None:
            return False
        return self._others_let() and self._checkpointer.has_room()

    def may_probe(self, site: SiteContext) -> bool:
        """Return whether a site may start a request although the network is down."""
        return site in self._standstill.probes and not self.paused and self._others_let()

    def _others_let(self) -> bool:
        return self.lease.good and (not self._may_ask or all(may_ask() for may_ask in self._may_ask))
