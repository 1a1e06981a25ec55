"""`scrawler resume`: what was paused goes on."""

from __future__ import annotations

import click

from scrawler.cli.control import machine_option, tell_machines
from scrawler.cli.options import with_settings
from scrawler.settings import Settings


@click.command()
@machine_option
@with_settings()
def resume(settings: Settings, names: tuple[str, ...] | None) -> None:
    """Let the crawl go on, or some machines.

    Without --machine this resumes the crawl and every machine that was paused.
    """
    _, said = tell_machines(settings, lambda control: control.resume(names), "`scrawler run` starts one")
    head = "resumed" if names else "the crawl is not paused any more"
    click.echo(f"{head}; {said}")
