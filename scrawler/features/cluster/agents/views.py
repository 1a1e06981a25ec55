"""Who lives, as one agent sees it, and whose a site is then.

A view is made of names and capacities alone, so that two agents that see the same have the same map. Nobody tells
another one who lives: each has its own failure detector, by time-outs (paper 001, section 3.1.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b

from scrawler.features.cluster.partition.ring import Ring
from scrawler.model.terms import url_hash


class View:
    """The agents that live (name -> capacity), of which there is one at least. It never changes."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self.weights = dict(sorted(weights.items()))

    @cached_property
    def version(self) -> str:
        """The same for all agents that see the same."""
        text = " ".join(f"{name}:{weight}" for name, weight in self.weights.items())
        return blake2b(text.encode(), digest_size=8).hexdigest()

    @cached_property
    def _ring(self) -> Ring:
        return Ring(self.weights)

    def owner(self, site_key: str) -> str:
        """Return the name of the agent whose replica on the circle is nearest to a site."""
        return self._ring.nearest(int.from_bytes(url_hash(site_key)[:8], "big"))

    def shares(self) -> dict[str, float]:
        """Return what part of all possible sites each agent owns."""
        return self._ring.shares()

    def __contains__(self, name: object) -> bool:
        return name in self.weights

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.weights == other.weights

    def __hash__(self) -> int:
        return hash(self.version)

    def __repr__(self) -> str:
        return f"View({self.weights})"


class Detector:
    """The failure detector of one agent; times are seconds of the boot clock.

    A member of whom nothing was heard for `suspect_after` is suspected: it keeps its sites. After `dead_after` it is
    dead: its sites are its heirs', until it is heard again. Members are believed to live when they are first named.
    """

    def __init__(self, name: str, suspect_after: float, dead_after: float, now: float) -> None:
        self.name = name
        self._suspect_after = suspect_after
        self._dead_after = dead_after
        self._heard: dict[str, float] = {}
        self._looked = now
        self._wall = 0.0

    def name_members(self, names: Iterable[str], now: float) -> None:
        """Take in who the members are by now."""
        wanted = {*names} - {self.name}
        self._heard = {name: self._heard.get(name, now) for name in wanted}

    def heard(self, name: str, now: float) -> None:
        """Note a sign of life."""
        if name in self._heard:
            self._heard[name] = now

    def look(self, now: float, wall: float = 0.0) -> float:
        """Note that this agent is awake; return for how long it slept, 0 where that was too short to count.

        An agent that slept does not take the others for dead, and has to hear them first. `wall` is the time of day,
        which has leapt on where a whole machine was paused with its clocks; 0: nobody knows it.
        """
        silent = now - self._looked
        leapt = wall - self._wall if self._wall else 0.0
        self._looked, self._wall = now, wall
        if max(silent, leapt) < self._suspect_after:
            return 0.0
        self._heard = {name: at + silent for name, at in self._heard.items()}
        return max(silent, leapt)

    def silence(self, name: str, now: float) -> float:
        """Return for how long nothing was heard of a member."""
        return 0.0 if name == self.name else now - self._heard.get(name, now)

    def suspected(self, now: float) -> frozenset[str]:
        """Return who has been silent for long, those who are dead among them."""
        return frozenset(name for name, at in self._heard.items() if now - at > self._suspect_after)

    def dead(self, now: float) -> frozenset[str]:
        """Return who has been silent for too long."""
        return frozenset(name for name, at in self._heard.items() if now - at > self._dead_after)
