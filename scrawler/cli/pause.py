"""`scrawler pause`: machines start no request until they are resumed."""

from __future__ import annotations

import click

from scrawler.cli.control import crawl_control, machine_option, obeying
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
    with crawl_control(settings) as control:
        machines = control.pause(names)
    head = "paused" if names else "the crawl is paused until `scrawler resume`"
    click.echo(f"{head}; {obeying(machines, 'the next ones start paused')}")
