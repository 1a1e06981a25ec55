"""What is known of a party whose URLs are visited again."""

from __future__ import annotations

from scrawler.model.row_kinds import Row, RowKind
from scrawler.revisit.due import RevisitPolicy


class PartyVisits:
    """How the URLs of a party become due again, and how their texts are compared."""

    __slots__ = ("near", "policy")

    def __init__(self, policy: RevisitPolicy, near: int | None) -> None:
        """`near` is by how many bits of their simhash texts may differ; None: bytes are compared."""
        self.policy = policy
        self.near = near

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add no rows: what visits find stands with the party."""

    def owns(self, url: str) -> bool:
        """Return False: URLs are those of the crawler."""
        return False
