"""How the copying of a host stands."""

from __future__ import annotations

import socket
from dataclasses import asdict
from typing import Any

from scrawler.api.bare import BareCrawl
from scrawler.api.standing import Standing
from scrawler.dates import iso_date
from scrawler.features.copies.note import CopiesNote, note_file, read_note
from scrawler.store.claims.machines import Machines
from scrawler.units import counted, human_bytes


def copies(crawl: BareCrawl) -> CopiesNote | None:
    """Return how the copying of this host's WARC files stood when it was last told; None where none was copied."""
    folders = {crawl.settings.pages_dir, *Machines(crawl.database).folders(socket.gethostname()).values()}
    prefix = crawl.stored.files_prefix
    notes = [note for folder in folders if (note := read_note(note_file(folder, prefix))) is not None]
    return max(notes, key=lambda note: note.at, default=None)


def standing(crawl: BareCrawl) -> Standing:
    """Return what `scrawler status` tells of copies."""
    note = copies(crawl)
    return Standing({"copies": _copies_values(note)}, _copies_text(note))


def _copies_values(note: CopiesNote | None) -> dict[str, Any] | None:
    if note is None:
        return None
    copies = note.copies
    failed_at = iso_date(copies.failed_at) if copies.failed_at else None
    return {"to": note.to, "at": iso_date(note.at)} | asdict(copies) | {"failed_at": failed_at}


def _copies_text(note: CopiesNote | None) -> dict[str, str]:
    if note is None:
        return {}
    copies = note.copies
    text = f"{counted(copies.files, 'WARC file')}, {human_bytes(copies.bytes)}, by the last command, to {note.to}"
    if copies.waiting:
        text += f"; {counted(copies.waiting, 'WARC file')} of {human_bytes(copies.waiting_bytes)} not copied yet"
    if copies.last_error:
        state = "" if copies.problem else ", it has gone on since"
        text += f"; last error, {iso_date(copies.failed_at)}{state}: {copies.last_error}"
    return {"copied": text}
