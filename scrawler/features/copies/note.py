"""What a host's copier last said of itself, in a file of the folder of its WARC files: for other commands, as `status`.

It tells of one host, as the copying is of one host. What cannot be written is not worth an error.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from scrawler.model.copies import Copies
from scrawler.model.terms import Millis

_NAME = "copies.json"


@dataclass(frozen=True, slots=True)
class CopiesNote:
    """How the copying stood, and when."""

    to: str  # URL of the folder
    at: Millis
    copies: Copies


def note_file(folder: Path, prefix: str) -> Path:
    """Return where that of a crawl stands; `prefix` is that of all its machines."""
    return folder / f"{prefix.removesuffix('m')}{_NAME}"


def write_note(file: Path, to: str, copies: Copies) -> None:
    """Write how the copying stands now."""
    values = {"to": to, "at": time.time_ns() // 1_000_000, "copies": asdict(copies)}
    new = file.with_name(f"{file.name}.new")
    with suppress(OSError):
        new.write_text(json.dumps(values))
        os.replace(new, file)


def read_note(file: Path) -> CopiesNote | None:
    """Return what was written last; None where there is none that can be read."""
    try:
        values = json.loads(file.read_text())
        return CopiesNote(str(values["to"]), int(values["at"]), Copies(**values["copies"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
