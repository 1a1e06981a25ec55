"""`scrawler plugins`: the parts that settings can choose, ours and those of other packages."""

from __future__ import annotations

import click

from scrawler.cli.tables import format_options, print_rows
from scrawler.plugins import Part, parts
from scrawler.settings import PART_KINDS

_COLUMNS = ("setting", "name", "package", "reference", "group", "interface")
_FOR_PEOPLE = ("setting", "name", "package", "reference")


@click.command()
@format_options
def plugins(written: str | None) -> None:
    """List the parts that settings can choose, and which package brings each.

    Other packages bring parts by entry points; the groups and interfaces are told with --json.
    """
    rows = [_row(part) for kind in PART_KINDS.values() for part in parts(kind)]
    print_rows(rows, _COLUMNS if written else _FOR_PEOPLE, written)


def _row(part: Part) -> dict[str, str]:
    return {
        "setting": part.kind.setting,
        "name": part.name,
        "package": part.package,
        "reference": part.reference,
        "group": part.kind.group,
        "interface": part.kind.interface,
    }
