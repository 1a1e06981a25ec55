"""`scrawler import`: a seed file into the database."""

from __future__ import annotations

from pathlib import Path

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.keeping import keep_clear
from scrawler.cli.options import FILLED, FileName, with_settings
from scrawler.cli.progress import ProgressLine, import_text
from scrawler.errors import InputError, SettingsError
from scrawler.seeds.files import Format, is_input, open_input, read_as
from scrawler.seeds.formats import read_entries
from scrawler.seeds.importer import ImportCounts, import_seeds
from scrawler.seeds.rejects import open_rejects
from scrawler.settings import Settings
from scrawler.store.crawls import Crawls
from scrawler.store.seeds import Seeds
from scrawler.urls.steps import make_steps


@click.command("import")
@click.argument("file", type=FILLED)
@click.option(
    "--format",
    "written",
    type=click.Choice([written.value for written in Format], case_sensitive=False),
    help="How the file is written. [default: by its name; else txt]",
)
@click.option(
    "--rejects",
    type=FileName(dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write all invalid lines to this file: number, reason, text, separated by tabs; "-" is standard output.',
)
@with_settings("name", "input_dir", "max_url_length", "normalise")
def import_seeds_command(settings: Settings, file: str, written: str | None, rejects: Path | None) -> None:
    """Import the seeds of FILE.

    FILE is txt (a URL a line, # comments), CSV or JSONL with a column `url`, plain or packed by gzip or zstd; "-" is
    standard input. A bare name is looked up here, then in input_urls/, then among the samples. What is
    imported already changes nothing.
    """
    if rejects and is_input(rejects, file, settings.input_dir):
        raise SettingsError(f"--rejects {rejects} is the seed file itself, and would be overwritten")
    read = Format(written) if written else read_as(file)
    with open_input(file, settings.input_dir) as stream, crawl_database(settings, create=True) as database:
        crawls = Crawls(database)
        crawl = crawls.open(settings.name, settings.scope)
        if "name" in settings.model_fields_set and crawl.name != settings.name:
            crawls.rename(settings.name)
        seeds = Seeds(database)
        if rejects:
            keep_clear(database, settings, rejects)
        with ProgressLine() as line, open_rejects(rejects, line.message) as report:
            counts = import_seeds(
                read_entries(stream, read, file),
                seeds.add,
                writers=seeds.writers,
                scope=crawl.scope,
                max_url_length=settings.max_url_length,
                steps=make_steps(settings.normalise),
                on_invalid=report,
                on_batch=lambda counts: line.show(import_text(counts)),
            )
    click.echo(import_text(counts), err=True)
    _check_any(counts, file)


def _check_any(counts: ImportCounts, file: str) -> None:
    if counts.entries == 0:
        raise InputError(f"{file}: no seeds in it")
    if counts.entries == counts.invalid:
        which = "its only line is" if counts.invalid == 1 else f"all {counts.invalid:,} lines are"
        raise InputError(f"{file}: no usable seed in it, {which} invalid")
