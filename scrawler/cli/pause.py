"""`scrawler pause`: machines start no request until they are resumed."""

from __future__ import annotations

import click

from scrawler.cli.control import machine_option, tell_machines
from scrawler.cli.options import with_settings
from scrawler.settings import Settings


@click.command()
@machine_option
@with_settings()
def pause(settings: Settings, names: tuple[str, ...] | None) -> None:
    """Pause the crawl, or some machines.

    A paused machine starts no request and keeps its sites. A paused crawl stays paused until `scrawler resume`:
    machines that come later start paused.
    """
    _, said = tell_machines(settings, lambda control: control.pause(names), "the next ones start paused")
    head = "paused" if names else "the crawl is paused until `scrawler resume`"
    click.echo(f"{head}; {said}")
