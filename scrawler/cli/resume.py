"""`scrawler resume`: what was paused goes on."""

from __future__ import annotations

import click

from scrawler.cli.control import crawl_control, machine_option, obeying
from scrawler.cli.options import with_settings
from scrawler.settings import Settings


@click.command()
@machine_option
@with_settings()
def resume(settings: Settings, names: tuple[str, ...] | None) -> None:
    """Let the crawl go on, or some machines.

    Without --machine this resumes the crawl and every machine that was paused.
    """
    with crawl_control(settings) as control:
        machines = control.resume(names)
    head = "resumed" if names else "the crawl is not paused any more"
    click.echo(f"{head}; {obeying(machines, '`scrawler run` starts one')}")
