"""What the commands that control a running crawl have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.model.machines import BEAT_EVERY
from scrawler.settings import Settings
from scrawler.store.claims.control import Control
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.overview import MachineView
from scrawler.store.claims.starts import Start, Starts
from scrawler.store.engines.engine import Database
from scrawler.units import counted, format_seconds, human_seconds

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
    with _opened(settings) as database:
        yield Control(database)


def tell_machines(settings: Settings, order: Callable[[Control], list[str]], nobody: str) -> tuple[list[str], str]:
    """Give an order; return the machines that it concerns, and a sentence on who obeys: `nobody` if there is none.

    Where none runs, those that are being started obey.
    """
    with _opened(settings) as database:
        start = Starts(database).newest()
        machines = order(Control(database))
        if machines:
            return machines, f"{', '.join(machines)} {'obeys' if len(machines) == 1 else 'obey'} {SOON}"
        starting = starting_text(start, Machines(database).machines())
    return [], f"{starting}, and will obey" if starting else f"no machine runs now, {nobody}"


def starting_text(start: Start | None, there: Collection[MachineView]) -> str:
    """Say how many machines are being started, and for how long; empty if all are there, or nobody starts any."""
    missing = 0 if start is None else start.missing(there)
    if start is None or missing == 0:
        return ""
    return f"{counted(missing, 'machine is', 'machines are')} being started, for {human_seconds(start.age_ms / 1000)}"


@contextmanager
def _opened(settings: Settings) -> Iterator[Database]:
    with opened(settings, BareCrawl) as crawl:
        _ = crawl.stored  # made, where nothing was imported yet: orders stand in its row
        yield crawl.database
