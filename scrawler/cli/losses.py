"""How it is told that records are gone from the archive."""

from __future__ import annotations

from scrawler.errors import RecordsLostError
from scrawler.store.lists.losses import LostSum
from scrawler.units import counted

WHAT_TO_DO = "`scrawler verify` lists them, `run --retry lost` fetches them again, `run --accept-losses` lets them be"


def lost_text(lost: LostSum) -> str:
    """Say how much is gone."""
    text = f"{counted(lost.records, 'record')} of {counted(lost.files, 'WARC file')}"
    referring = counted(lost.revisits, "other refers", "others refer")
    return f"{text}, and payloads to which {referring}" if lost.revisits else text


def unread_error(records: int) -> RecordsLostError:
    """Return the error of a command that has done what it could without these records."""
    pages = counted(records, "page")
    verb = "was" if records == 1 else "were"
    return RecordsLostError(
        f"{pages} {verb} left out, whose records are gone from the archive, or damaged; `scrawler verify` lists them"
    )
