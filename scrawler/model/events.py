"""What happens in a crawl, for observers: callbacks, a log, figures. All of it is read from committed rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from scrawler.model.seeds import EndReason


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has happened, whichever machine did it; its text is one line. `at` is by the database's clock.

    Where an event says `site`, that is the site's key: host or registrable domain, by the crawl's scope. `machine` is
    the name of a machine, as `scrawler machines` lists it; empty: none has to do with it any more.
    """

    at: datetime  # UTC


@dataclass(frozen=True, slots=True)
class SeedBegun(Event):
    """A machine has begun to work on a seed for the first time."""

    seed: str  # its URL, as imported
    site: str = ""
    machine: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed} begun"


@dataclass(frozen=True, slots=True)
class SeedEnded(Event):
    """A seed is done."""

    seed: str
    reason: EndReason
    detail: str  # what more there is to say of the reason
    pages: int  # fetched for it
    site: str = ""
    machine: str = ""

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"seed {self.seed} ended: {self.reason.value}{detail}, {self.pages:,} pages"


@dataclass(frozen=True, slots=True)
class SiteResting(Event):
    """A site is left alone for a while, because it asked for that, or did not answer."""

    site: str
    until: datetime
    machine: str = ""

    def __str__(self) -> str:
        return f"site {self.site} rests until {self.until:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class TrapCapped(Event):
    """A pattern of URLs is not followed any more, for it brings nothing new."""

    seed: str
    pattern: str
    evidence: str  # why, in words
    site: str = ""
    machine: str = ""

    def __str__(self) -> str:
        return f"trap at {self.seed}: {self.pattern} is capped, {self.evidence}"


@dataclass(frozen=True, slots=True)
class MachineJoined(Event):
    """A machine takes part in the crawl."""

    machine: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"machine {self.machine} joined (process {self.pid} of {self.host})"


@dataclass(frozen=True, slots=True)
class MachineEnded(Event):
    """A machine has ended by itself: no seed is left, or it was asked to stop."""

    machine: str

    def __str__(self) -> str:
        return f"machine {self.machine} ended"


@dataclass(frozen=True, slots=True)
class MachineDied(Event):
    """A machine is gone, or was silent for too long: the others take its sites over."""

    machine: str

    def __str__(self) -> str:
        return f"machine {self.machine} died"


@dataclass(frozen=True, slots=True)
class Checkpoint(Event):
    """A machine has committed what it did; of several since the last look only the last is told."""

    machine: str
    number: int  # how many it has committed
    pages: int  # fetched and committed by it so far
    bytes: int
    errors: int

    def __str__(self) -> str:
        return f"machine {self.machine} committed checkpoint {self.number:,}: {self.pages:,} pages in all"
