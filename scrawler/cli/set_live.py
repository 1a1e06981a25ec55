"""`scrawler set`: settings that all machines take over while they run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from scrawler.cli.control import SOON, crawl_control
from scrawler.cli.options import with_settings
from scrawler.cli.tables import json_line, print_pairs
from scrawler.errors import SettingsError
from scrawler.settings import Settings, live_settings, parse_setting, setting_text


@click.command(
    "set",
    epilog=f"These can be set: {', '.join(live_settings())}. The others need a restart.",
)
@click.argument("assignments", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Write all that is set as one JSON object.")
@with_settings()
def set_live(settings: Settings, assignments: tuple[str, ...], as_json: bool) -> None:
    """Set settings of all machines while they run; without arguments, list what is set.

    delay=2 max_pages=500 threads=30 hold over the settings files, variables and flags of every machine, those that
    come later among them, until they are taken back: KEY= takes one back.
    """
    values = _parsed(assignments)
    with crawl_control(settings) as control:
        stored = control.set(values) if values else control.orders().settings
    if as_json:
        click.echo(json_line(dict(stored)))
        return
    if values:
        click.echo(f"machines that run take it over {SOON}, later ones start with it", err=True)
    if stored:
        print_pairs("set for all machines", {key: setting_text(key, value) for key, value in stored.items()})
    else:
        click.echo("nothing is set: every machine has its own settings")


def _parsed(assignments: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise SettingsError(f"{assignment!r} is no KEY=VALUE, such as delay=2")
        if key in values:
            raise SettingsError(f"{key} is given twice")
        values[key] = parse_setting(key, text)
    return values
