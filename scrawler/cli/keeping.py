"""Which files of a crawl no output of a command may be written over."""

from __future__ import annotations

from pathlib import Path

import click

from scrawler.settings import CONFIG_FILE


def config_file() -> Path:
    """Return the file from which the command that runs has its settings, if it is there."""
    given: Path | None = click.get_current_context().params.get("config")
    return given or Path(CONFIG_FILE)
