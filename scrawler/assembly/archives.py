"""What keeps the pages of one machine."""

from __future__ import annotations

import platform
from collections.abc import Callable

from scrawler import __version__
from scrawler.archive.archive import Archive
from scrawler.assembly.parts import maker
from scrawler.settings import PART_KINDS, Settings

_OWN = PART_KINDS["archive"].own  # others may know nothing of secrets


def make_archive(settings: Settings, prefix: str) -> Archive:
    """Make what keeps the pages of one machine."""
    info = {
        "software": f"SCrawler/{__version__} (Python {platform.python_version()})",
        "robots": "obey" if settings.robots else "ignore",
        "operator": settings.user_agent,
    }
    if settings.insecure:
        info["certificates"] = "not checked"
    private = {"private": True} if settings.archive_secrets and settings.archive in _OWN else {}
    make: Callable[..., Archive] = maker("archive", settings)
    return make(
        settings.pages_dir,
        prefix,
        info=info,
        max_file_bytes=settings.warc_size,
        fsync=settings.fsync,
        block_digests=settings.block_digests,
        **private,
    )
