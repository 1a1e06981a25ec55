"""What an experiment has to know of a crawler in order to run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Task:
    """What a crawler has to do: the party of each seed of a file with one URL a line.

    `folder` is fresh, and the current folder of its command. `gentle`: no more than one request at a time to a site,
    where the crawler has a setting for that; `delay`: so many seconds between two requests to a site, likewise.
    """

    folder: Path
    seeds: Path
    gentle: bool = False
    delay: float = 0.0

    def urls(self) -> list[str]:
        """Return the seeds."""
        return self.seeds.read_text().split()


@dataclass(frozen=True, slots=True)
class Habits:
    """What a crawler does beside fetching pages, in a few words each, for a table."""

    works_as: str  # processes and threads
    robots: str
    at_a_time: str  # requests to one site
    keeps: str  # what is on disk afterwards
    resumes: str  # what is left of the work when it is killed


class Peer(ABC):
    """One crawler with fixed settings."""

    name: str
    settings: str  # in words, with the reasons
    habits: Habits
    slow: bool = False  # is given one round, because it takes many minutes
    slow_to_start: bool = False  # takes minutes on the smallest web too, and is left out where there are none
    exits: frozenset[int] = frozenset({0})  # exit codes of a crawl that went well

    def why_not(self) -> str | None:
        """Tell why it can't run on this machine; None: it can."""
        return None

    def install(self) -> None:
        """Fetch what it needs, where that takes no root; afterwards `why_not` tells whether it worked."""
        return

    def prepare(self, task: Task) -> None:
        """Write configuration, import seeds: what is not measured. Raises ClickException."""
        return

    @abstractmethod
    def command(self, task: Task) -> list[str]:
        """Return the command that crawls, and ends when nothing is left."""

    def environment(self, task: Task) -> Mapping[str, str]:
        """Return further environment variables for the command."""
        return {}
