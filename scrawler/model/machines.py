"""Machines and what they are told: from the users through the store to each heartbeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scrawler.model.terms import Millis

BEAT_EVERY: Millis = 2_000  # between two heartbeats of a machine
LEASE: Millis = 15_000  # after its last heartbeat, by the database's clock, for which a machine is believed to live


class MachineState(StrEnum):
    """Life of a machine: the first three say of themselves that they live, the others own nothing for long."""

    RUNNING = "running"
    PAUSED = "paused"  # starts no request, keeps its sites
    STOPPING = "stopping"  # finishes what is in hand, takes nothing up
    STOPPED = "stopped"  # ended by itself
    DEAD = "dead"  # its process is gone or its lease is over: others take its sites over


class Command(StrEnum):
    """What a machine is told to do, from the mildest to the strongest."""

    RUN = "run"
    PAUSE = "pause"  # start no request; keep the lease and the sites
    STOP = "stop"  # end cleanly: finish what is in hand within the deadline, save it, give the sites back
    DRAIN = "drain"  # take no more sites up, give those it has back, and end; the others go on
    REMOVE = "remove"  # end at once; its lease is not prolonged any more, so that it is dead soon even if it hangs


ENDING = (Command.STOP, Command.DRAIN, Command.REMOVE)


@dataclass(frozen=True, slots=True)
class Orders:
    """What a heartbeat brings back.

    `settings` hold over the machine's own (key -> value as in Settings). A `revision` other than the last one says that
    seeds or settings were changed: look again. `machines` counts those that live now, this one among them. `now` is
    the time by the database's clock.
    """

    alive: bool  # False: it was declared dead, others may own its sites; nothing that it holds is its own any more
    command: Command
    settings: Mapping[str, Any]
    revision: int
    machines: int
    now: Millis
