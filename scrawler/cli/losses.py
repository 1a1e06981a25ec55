"""How it is told that records are gone from the archive."""

from __future__ import annotations

from scrawler.store.losses import LostSum

WHAT_TO_DO = "`scrawler verify` lists them, `run --retry lost` fetches them again, `run --accept-losses` lets them be"


def lost_text(lost: LostSum) -> str:
    """Say how much is gone."""
    text = f"{lost.records:,} records of {lost.files:,} WARC {'file' if lost.files == 1 else 'files'}"
    return f"{text}, and payloads to which {lost.revisits:,} others refer" if lost.revisits else text
