"""`scrawler stop`: machines end cleanly."""

from __future__ import annotations

import click

from scrawler.cli.control import machine_option, tell_machines
from scrawler.cli.options import with_settings
from scrawler.settings import Settings


@click.command()
@machine_option
@with_settings()
def stop(settings: Settings, names: tuple[str, ...] | None) -> None:
    """Stop the crawl, or some machines, cleanly.

    What is in hand is finished and saved; the next `scrawler run` goes on from there.
    """
    machines, said = tell_machines(settings, lambda control: control.stop(names), "there is nothing to stop")
    click.echo(f"stopping; {said}" if machines else said)
