"""`scrawler set`: settings that all machines take over while they run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from scrawler.cli.completion import live_keys
from scrawler.cli.control import SOON, crawl_control
from scrawler.cli.options import with_settings
from scrawler.cli.tables import print_pairs
from scrawler.errors import SettingsError
from scrawler.seeds.json_text import json_line
from scrawler.settings import Settings, check_by_host, live_settings, live_text, parse_host, parse_setting


@click.command(
    "set",
    epilog=f"These can be set: {', '.join(live_settings())}. The others need a restart.",
)
@click.argument("assignments", metavar="[KEY=VALUE]...", nargs=-1, shell_complete=live_keys)
@click.option("--json", "as_json", is_flag=True, help="Write all that is set as one JSON object.")
@with_settings()
def set_live(settings: Settings, assignments: tuple[str, ...], as_json: bool) -> None:
    """Set settings of all machines while they run; without arguments, list what is set.

    delay=2 max_pages=500 threads=30 hold over the settings files, variables and flags of every machine, those that
    come later among them, until they are taken back: KEY= takes one back. What a file says of a host goes on to hold
    for that one; HOST:KEY=VALUE, such as '*.example.org:delay=5s', is set for it alone.
    """
    values, tables = _parsed(assignments)
    with crawl_control(settings) as control:
        stored = control.set(values, tables) if assignments else control.orders().settings
    if as_json:
        click.echo(json_line(dict(stored)))
        return
    if assignments:
        click.echo(f"machines that run take it over {SOON}, later ones start with it", err=True)
    if stored:
        print_pairs("set for all machines", live_text(stored))
    else:
        click.echo("nothing is set: every machine has its own settings")


def _parsed(assignments: Iterable[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return what is set for all, and for single hosts. Raises SettingsError."""
    values: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        host, colon, key = name.rpartition(":")
        key = key.strip().replace("-", "_")
        if not equals:
            raise SettingsError(f"{assignment!r} is no KEY=VALUE, such as delay=2")
        if colon and not host.strip():
            raise SettingsError(f"{assignment!r} names no host before its colon; for all hosts, leave that out")
        table = tables.setdefault(parse_host(host.strip()), {}) if host else values
        if key in table:
            raise SettingsError(f"{key} is given twice")
        table[key] = parse_setting(key, text)
        if host:
            check_by_host(key)
    return values, tables
