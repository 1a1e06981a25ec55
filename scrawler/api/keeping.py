"""Which files of a crawl no output may be written over."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scrawler.archive import cdxj, locks
from scrawler.archive.repair import DAMAGED
from scrawler.core.blame import slots
from scrawler.core.records import records
from scrawler.errors import SettingsError
from scrawler.settings import Settings
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database

# These names are looked for in any folder: the settings of this command need not name that of the pages.
_ARCHIVED = (records.WARC, ".warc", ".cdxj", slots.SUFFIX)
_SET_ASIDE = records.WARC + DAMAGED  # a number may follow
_BESIDE_ARCHIVED = (locks.SUFFIX, cdxj.UNFINISHED)


def keep_clear(database: Database, settings: Settings, file: str | Path, config: Path | None = None) -> None:
    """Let nothing be written over a file that the crawl needs, its settings in `config` among them.

    Raises SettingsError.
    """
    if whose := _needed(database, settings, Path(file), config):
        raise SettingsError(f"{file} is {whose}: write to another file")


def _needed(database: Database, settings: Settings, file: Path, config: Path | None) -> str:
    """Say what the crawl needs a file for, by whatever name or link; empty if it does not."""
    if database.is_at(file):
        return "the crawl's database"
    real = Path(os.path.realpath(file))
    in_archive = real.parent == Path(os.path.realpath(settings.pages_dir))
    if _is_archived(real.name) or (in_archive and real.name.lower().endswith(_BESIDE_ARCHIVED)):
        return "a file of an archive by its name"
    if not file.exists():
        return ""
    there = file.stat()
    if any(os.path.samestat(there, one) for one in _archive(database, settings)):
        return "a file of the archive by another name"
    if config is not None and config.exists() and file.samefile(config):
        return "the file of the settings"
    return ""


def _is_archived(name: str) -> bool:
    name = name.lower()
    return name.endswith(_ARCHIVED) or _SET_ASIDE in name


def _archive(database: Database, settings: Settings) -> Iterator[os.stat_result]:
    """Yield which files are in the folders in which machines of this host have kept pages."""
    folders = {settings.pages_dir, *Machines(database).folders(socket.gethostname()).values()}
    for folder in folders:
        names: list[str] = []
        with suppress(OSError):  # a folder may be elsewhere, or closed to us
            names = os.listdir(folder)
        for name in names:
            if _is_archived(name) or name.lower().endswith(_BESIDE_ARCHIVED):
                with suppress(OSError):  # locks are removed by whoever is done with them
                    yield (folder / name).stat()
