"""Records of the archive, and what it has lost: from the WARC files to the index and to the store."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from scrawler.model.terms import Millis


class CdxRow(NamedTuple):
    """A response or revisit record, as the index beside its WARC file has it; `mime` is without parameters."""

    url: str
    date_ms: Millis
    mime: str
    status: int
    digest: bytes
    length: int
    offset: int
    file: str
    revisit: int  # 1 for a revisit record, 0 for another one


class LossKind(StrEnum):
    """How a WARC file lost records that page rows refer to."""

    MISSING = "missing"  # the file is not in its folder
    CUT = "cut"  # the file is shorter than it was
    DAMAGED = "damaged"  # where the record was there is none, or another one


class LossState(StrEnum):
    """What the user has said of records that are gone, as all commands tell it."""

    GONE = "gone from the archive"
    ACCEPTED = "gone and accepted"


UNCOUNTED = -1  # revisits of a loss: they are counted later, which takes longer


class Loss(NamedTuple):
    """A WARC file that does not hold any more what page rows say."""

    warc_file: str
    kind: LossKind
    records: int  # response and revisit records that are gone
    revisits: int  # records in other files that refer to payloads which stood in these alone
    accepted: bool = False

    @property
    def state(self) -> LossState:
        """Whether the user wants them back."""
        return LossState.ACCEPTED if self.accepted else LossState.GONE
