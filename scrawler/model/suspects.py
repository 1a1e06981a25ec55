"""URLs that stood in a machine's hands when it died: from its successor to the store, and back."""

from __future__ import annotations

from typing import NamedTuple

SUSPECTED, CONDEMNED = 1, 2  # blame of a death; a URL whose blame adds up to CONDEMNED is not asked for again


class SuspectRow(NamedTuple):
    """A URL that stood in a slot of a machine when that died (see core/blame/deaths.py)."""

    site_id: int
    url_hash: bytes
    machine_id: int
    url: str
    blame: int
    detail: str  # what the process died of
