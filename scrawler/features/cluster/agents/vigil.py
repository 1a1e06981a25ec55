"""What an agent does that slept: it asks no host for anything before it knows how the others stand.

Others take an agent for dead whose process is stopped, whose computer sleeps, or whose virtual machine is paused, and
crawl its sites. It cannot tell from its own clock whether they did: it asks them, and what they said before counts for
nothing, though it may be read only now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Vigil:
    """Whom an agent that slept has not heard since; times are seconds of the boot clock."""

    def __init__(self) -> None:
        self.on = False
        self.wave = 0  # the number by which others are asked: below 0, unlike a census
        self.missing: set[str] = set()
        self.told_at = 0.0  # when the user was told last
        self._heard = False
        self._ends_at = 0.0

    def begin(self, others: Iterable[str], now: float, ends_at: float) -> None:
        """Begin to wait for others; `ends_at` is when it ends although nobody was heard, inf: never."""
        self.on = True
        self.wave -= 1
        self.missing = set(others)
        self.told_at = now
        self._heard = False
        self._ends_at = ends_at

    def name_members(self, others: Collection[str]) -> None:
        """Wait for nobody any more who is no member."""
        self.missing.intersection_update(others)
        self._heard = self._heard or not others

    def note(self, name: str, wave: int) -> bool:
        """Take an answer in; return whether it is to what was asked since the agent slept."""
        if not self.on or wave != self.wave:
            return False
        self.missing.discard(name)
        self._heard = True
        return True

    def is_over(self, living: Collection[str], now: float) -> bool:
        """Tell whether all of those that live were heard, and there is at least one of them."""
        return self.missing.isdisjoint(living) and (self._heard or now >= self._ends_at)
