"""What the commands that control a running crawl have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from scrawler.cli.database import crawl_database
from scrawler.model import BEAT_EVERY
from scrawler.settings import Settings
from scrawler.store.control import Control
from scrawler.store.crawls import Crawls
from scrawler.units import format_seconds

SOON = f"with the next heartbeat, within {format_seconds(BEAT_EVERY / 1000)}"


def machine_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --machine; it gets `names`, None where none are given."""
    option = click.option(
        "--machine",
        "names",
        metavar="NAME",
        multiple=True,
        callback=lambda context, parameter, value: value or None,
        help="Only this machine, as `scrawler machines` names it. [may be repeated]",
    )
    return option(command)


@contextmanager
def crawl_control(settings: Settings) -> Iterator[Control]:
    """Open the control of the crawl in the database of the settings."""
    with crawl_database(settings) as database:
        Crawls(database).open(settings.name, settings.scope)
        yield Control(database)


def obeying(machines: Sequence[str], nobody: str) -> str:
    """Say which machines obey and when, or what it means that none runs."""
    if not machines:
        return f"no machine runs now, {nobody}"
    return f"{', '.join(machines)} {'obeys' if len(machines) == 1 else 'obey'} {SOON}"
