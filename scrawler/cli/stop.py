"""`scrawler stop`: machines end cleanly."""

from __future__ import annotations

import click

from scrawler.cli.control import crawl_control, machine_option, obeying
from scrawler.cli.options import with_settings
from scrawler.settings import Settings


@click.command()
@machine_option
@with_settings()
def stop(settings: Settings, names: tuple[str, ...] | None) -> None:
    """Stop the crawl, or some machines, cleanly.

    What is in hand is finished and saved; the next `scrawler run` goes on from there.
    """
    with crawl_control(settings) as control:
        machines = control.stop(names)
    click.echo(f"{'stopping; ' if machines else ''}{obeying(machines, 'there is nothing to stop')}")
