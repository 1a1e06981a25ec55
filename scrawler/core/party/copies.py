"""What reads the records to which revisit records would refer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from scrawler.model.terms import Millis
from scrawler.model.visits import KnownVisit


class Copies(Protocol):
    """Reads the records to which revisit records would refer: files, and a database. Nobody has the turn meanwhile."""

    def expect(self, url: str, others: Mapping[str, KnownVisit]) -> None:
        """Be told of which URL's record is asked next, and which pages are visited soon."""

    def holds(self, url: str, digest: bytes, body: bytes) -> bool:
        """Tell whether a record of a URL holds this very payload: it was read just now."""

    def held_since(self, url: str, digest: bytes, body: bytes) -> Millis | None:
        """Return the time of a record of a URL that holds this very payload, as it was read just now; None: none."""

    def is_gone(self, url: str, digest: bytes) -> bool:
        """Tell whether the records of a URL that hold a payload should be on this host, and none can be read."""


class NoCopies:
    """Nothing is known of older copies: each payload is archived."""

    def expect(self, url: str, others: Mapping[str, KnownVisit]) -> None:
        """Do nothing about it."""

    def holds(self, url: str, digest: bytes, body: bytes) -> bool:
        """Say that none was read."""
        return False

    def held_since(self, url: str, digest: bytes, body: bytes) -> Millis | None:
        """Say that none was read."""
        return None

    def is_gone(self, url: str, digest: bytes) -> bool:
        """Say that none is known to be gone."""
        return False


NO_COPIES = NoCopies()
