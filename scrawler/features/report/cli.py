"""`scrawler report`: what came of one seed, or of the whole crawl."""

from __future__ import annotations

from pathlib import Path

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, FileName, with_settings
from scrawler.cli.tables import print_pairs, print_rows, printable, with_dates
from scrawler.errors import escaped
from scrawler.insight.sections import Report, Table, shown
from scrawler.seeds.json_text import json_line
from scrawler.settings import Settings


@click.command()
@click.argument("seed", required=False, type=FILLED)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write one JSON object: sizes in bytes, durations in milliseconds, times in ISO 8601.",
)
@click.option(
    "--html",
    type=FileName(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write an HTML page with plots; it needs no script and nothing from elsewhere.",
)
@click.option("--since", type=FILLED, metavar="TIME", help="Only visits since then: 2026-11-23, or how long ago: 7d.")
@with_settings()
def report(settings: Settings, seed: str | None, as_json: bool, html: Path | None, since: str | None) -> None:
    """Report on SEED, or on the whole crawl.

    Pages, bytes, results, statuses, content types and sizes, depths, site sizes, links in and out, refused links and
    why, duplicates, traps, waits and push-backs. On the whole crawl it takes a second or two a million pages.
    """
    if as_json and html:
        raise click.UsageError("--json and --html are two reports: give one of them")
    from scrawler.features.report import library  # what makes reports is much to load

    with opened(settings, OpenedCrawl) as crawl:
        made = library.report(crawl, seed, html, since)
    if as_json:
        click.echo(json_line(with_dates(made.as_json())))
    elif html:
        click.echo(f"wrote the report on {escaped(made.title)} to {html}", err=True)
    else:
        _print(made)


def _print(made: Report) -> None:
    click.echo(escaped(made.title))
    for section in made.sections:
        tables = list(section.filled)
        if section.told:
            click.echo()
            print_pairs(
                section.title,
                {section.label(name): printable(shown(name, value)) for name, value in section.told.items()},
            )
        for table in tables:
            click.echo(f"\n{section.title}: {table.title}")
            _print_table(table)


def _print_table(table: Table) -> None:
    names = [table.label(name) for name in table.columns]
    rows = (
        {table.label(name): shown(name, value) for name, value in zip(table.columns, row, strict=True)}
        for row in table.rows
    )
    print_rows(rows, names, None)
