"""`scrawler import`: a seed file into the database."""

from __future__ import annotations

from pathlib import Path

import click

from scrawler.api.seeding import SeededCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, FileName, with_settings
from scrawler.cli.progress import ProgressLine, import_text
from scrawler.errors import SettingsError
from scrawler.seeds.files import READ, Format, is_input, open_input, read_as
from scrawler.seeds.formats import read_entries
from scrawler.seeds.importer import check_usable
from scrawler.seeds.rejects import open_rejects
from scrawler.settings import Settings


@click.command("import")
@click.argument("file", type=FILLED)
@click.option(
    "--format",
    "written",
    type=click.Choice([written.value for written in READ], case_sensitive=False),
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

    FILE is txt (a URL a line, # comments), CSV or JSONL with a column `url`, whose further columns are kept, plain or
    packed by gzip or zstd; "-" is standard input. A bare name is looked up here, then in input_urls/, then among the
    samples. What is imported already changes nothing.
    """
    if rejects and is_input(rejects, file, settings.input_dir):
        raise SettingsError(f"--rejects {rejects} is the seed file itself, and would be overwritten")
    read = Format(written) if written else read_as(file)
    with open_input(file, settings.input_dir) as stream, opened(settings, SeededCrawl, create=True) as crawl:
        if rejects:
            crawl.keep_clear(rejects)
        with ProgressLine() as line, open_rejects(rejects, line.message) as report:
            counts = crawl.add_entries(
                read_entries(stream, read, file),
                on_invalid=report,
                on_batch=lambda counts: line.show(import_text(counts)),
            )
    click.echo(import_text(counts), err=True)
    check_usable(counts, file)
