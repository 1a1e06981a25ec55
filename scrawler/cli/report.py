"""`scrawler report`: what came of one seed, or of the whole crawl."""

from __future__ import annotations

from pathlib import Path

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.keeping import keep_clear
from scrawler.cli.options import FILLED, FileName, with_settings
from scrawler.cli.tables import json_line, print_pairs, print_rows, printable
from scrawler.errors import InputError
from scrawler.insight.html import html_page
from scrawler.insight.report import make_report
from scrawler.insight.sections import Report, Table, label, shown
from scrawler.seeds.outputs import open_output
from scrawler.settings import Settings
from scrawler.store.crawls import Crawls
from scrawler.store.engine import Database
from scrawler.store.seeds import Seeds, SeedView
from scrawler.urls.normalise import seed_url
from scrawler.urls.steps import make_steps


@click.command()
@click.argument("seed", required=False, type=FILLED)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object: sizes in bytes, times in milliseconds.")
@click.option(
    "--html",
    type=FileName(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write an HTML page with plots; it needs no script and nothing from elsewhere.",
)
@with_settings()
def report(settings: Settings, seed: str | None, as_json: bool, html: Path | None) -> None:
    """Report on SEED, or on the whole crawl.

    Pages, bytes, results, statuses, content types and sizes, depths, site sizes, links in and out, refused links and
    why, duplicates, traps, waits and push-backs. On the whole crawl it takes a second or two a million pages.
    """
    if as_json and html:
        raise click.UsageError("--json and --html are two reports: give one of them")
    with crawl_database(settings) as database:
        if html:
            keep_clear(database, settings, html)
        view = None if seed is None else _seed(database, settings, seed)
        made = make_report(database, Crawls(database).open(settings.name, settings.scope), view)
    if as_json:
        click.echo(json_line(made.as_json()))
    elif html:
        _write(made, html)
    else:
        _print(made)


def _seed(database: Database, settings: Settings, text: str) -> SeedView:
    url, problem = seed_url(text)
    if problem:
        raise InputError(f"SEED {text!r}: {problem}")
    seeds = Seeds(database)
    view = seeds.get(url) or seeds.get(seed_url(text, steps=make_steps(settings.normalise)).url)
    if view is None:
        raise InputError(f"{url} is no seed of this crawl; `scrawler seeds` lists them")
    return view


def _write(made: Report, file: Path) -> None:
    with open_output(str(file)) as out:
        out.writelines(html_page(made))
    click.echo(f"wrote the report on {made.title} to {file}", err=True)


def _print(made: Report) -> None:
    click.echo(printable(made.title))
    for section in made.sections:
        tables = list(section.filled)
        if section.values:
            click.echo()
            print_pairs(
                section.title,
                {label(name): printable(shown(name, value)) for name, value in section.values.items()},
            )
        for table in tables:
            click.echo(f"\n{section.title}: {table.title}")
            _print_table(table)


def _print_table(table: Table) -> None:
    names = [label(name) for name in table.columns]
    rows = (
        {label(name): shown(name, value) for name, value in zip(table.columns, row, strict=True)} for row in table.rows
    )
    print_rows(rows, names, None)
