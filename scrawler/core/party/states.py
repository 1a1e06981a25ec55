"""What steps know of a party, or of a site: a state for each step that has one, which checkpoints make durable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from scrawler.model.row_kinds import Row, RowKind, Rows


class PartyState(Protocol):
    """What a step knows of one party. It is whole whenever the turn is free: a checkpoint may take its rows then."""

    @property
    def weight(self) -> int:
        """Rows that wait for a checkpoint, about."""
        ...

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add the rows that have changed since they were last taken."""

    def owns(self, url: str) -> bool:
        """Tell whether the step has made this URL, and bounds how many there are: no trap holds it then."""


class SiteState(Protocol):
    """What a step knows of one site; its rows go with those of a party."""

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add the rows that have changed since they were last taken."""

    def close(self) -> None:
        """Give back what the site shares with others: it is let go of."""


def rows_of(states: Iterable[Any]) -> Rows:
    """Take the rows of states; None stands for a step without one."""
    rows: dict[RowKind, tuple[Row, ...]] = {}
    for state in states:
        if state is not None:
            state.take_rows(rows)
    return tuple(rows.items())
