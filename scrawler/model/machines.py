"""Machines and what they are told: from the users through the store to each heartbeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

from scrawler.model.terms import Millis

BEAT_EVERY: Millis = 2_000  # a machine has a heartbeat so often
LEASE: Millis = 15_000  # a machine is believed to live for so long after a heartbeat, by the database's clock


class MachineState(StrEnum):
    """Life of a machine: the first three say of themselves that they live, the others own nothing for long."""

    RUNNING = "running"
    PAUSED = "paused"  # it starts no request, and keeps its sites
    STOPPING = "stopping"  # it finishes what is in hand, and takes nothing up
    STOPPED = "stopped"  # it has ended by itself
    DEAD = "dead"  # its process is gone or its lease is over: others take its sites over


class Command(StrEnum):
    """What a machine is told to do, from the mildest to the strongest."""

    RUN = "run"
    PAUSE = "pause"  # start no request; keep the lease and the sites
    STOP = "stop"  # end cleanly: finish what is in hand within the deadline, save it, give the sites back
    DRAIN = "drain"  # take no more sites up, give those it has back, and end; the others go on
    REMOVE = "remove"  # end at once; its lease is not prolonged any more, so that it is dead soon even if it hangs


ENDING = (Command.STOP, Command.DRAIN, Command.REMOVE)


class LivingMachine(NamedTuple):
    """A machine that lives, as the others know it."""

    id: int
    capacity: int  # seeds that it can hold; 0: it has not told yet
    agent: str = ""  # its identifier, which it keeps when it is started again; empty: a program before schema 6
    weight: int = 1  # how much of the crawl it takes, compared with the others
    ends: bool = False  # it finishes what it has, and takes nothing up

    @property
    def identifier(self) -> str:
        """What places it on the circle of a consistent partition."""
        return self.agent or f"#{self.id}"


@dataclass(frozen=True)
class Living:
    """The machines that live now, by id."""

    machines: tuple[LivingMachine, ...] = ()

    def __len__(self) -> int:
        return len(self.machines)

    def seats_elsewhere(self, mine: int, machines: int) -> int:
        """Return how many seeds the others of so many machines can hold, where this one can hold `mine`.

        Who has not told yet is taken to hold as many.
        """
        told = [one.capacity for one in self.machines if one.capacity]
        return max(0, sum(told) + (machines - len(told) - 1) * mine)

    def owning(self) -> tuple[LivingMachine, ...]:
        """Return those that take sites up."""
        return tuple(one for one in self.machines if not one.ends)

    def weights(self) -> dict[int, int]:
        """Return the weights of those that take sites up, by id."""
        return {one.id: one.weight for one in self.owning()}

    @cached_property
    def version(self) -> int:
        """A number that is the same for whoever sees the same machines in the same state; 0: none."""
        text = " ".join(f"{one.id}:{one.capacity}:{one.agent}:{one.weight}:{one.ends:d}" for one in self.machines)
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") if text else 0


@dataclass(frozen=True, slots=True)
class Orders:
    """What a heartbeat brings back.

    `settings` hold over the machine's own (key -> value as in Settings). A `revision` other than the last one says that
    seeds or settings were changed: look again. `living` are the machines that live now, this one among them. `now` is
    the time by the database's clock, `shares` the version of what machines have noted of servers, `free` whether there
    are sites that nobody owns, `errands` whether a machine wants something of a host that another one has in work.
    """

    alive: bool  # False: it was declared dead, and others may own all that it holds
    command: Command
    settings: Mapping[str, Any]
    revision: int
    living: Living
    now: Millis
    shares: int = 0
    free: bool = False
    errands: bool = False
