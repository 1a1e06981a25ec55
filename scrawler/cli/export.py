"""`scrawler export`: seeds and candidate seeds out of the database."""

from __future__ import annotations

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.keeping import keep_clear
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import seed_filters
from scrawler.model.seeds import EndReason, SeedState
from scrawler.seeds.exporter import Selection, export_urls
from scrawler.seeds.files import STANDARD, Format, written_as
from scrawler.seeds.outputs import open_output
from scrawler.settings import Settings
from scrawler.store.candidates import Candidates
from scrawler.store.crawls import Crawls
from scrawler.store.pages import Pages
from scrawler.store.seeds import Seeds
from scrawler.units import counted


@click.command()
@click.argument("file", required=False, type=FILLED)
@click.option(
    "--format",
    "written",
    type=click.Choice([written.value for written in Format], case_sensitive=False),
    help="How to write the file. [default: by its name]",
)
@click.option("--pages", is_flag=True, help="Add the internal URLs, each with its final result.")
@seed_filters
@with_settings("output_dir")
def export(
    settings: Settings,
    file: str | None,
    written: str | None,
    pages: bool,
    state: SeedState | None,
    end_reason: EndReason | None,
) -> None:
    """Export seeds and candidate seeds.

    Every seed and every candidate seed goes to FILE, which is a seed file again; by default it is <crawl>.txt in
    output_urls/. FILE ends in .txt, .csv or .jsonl, and .gz or .zst after it if it is to be packed; "-" is standard
    output. With --state or --end-reason only the seeds that have it are exported, for example for a second round:
    --end-reason max-pages.
    """
    write_export(settings, file, Selection(state, end_reason, pages), Format(written) if written else None)


def write_export(
    settings: Settings, file: str | None = None, selection: Selection | None = None, written: Format | None = None
) -> None:
    """Export to `file` (default: by the crawl's name) and say how much."""
    with crawl_database(settings) as database:
        crawl = Crawls(database).open(settings.name, settings.scope)
        name = file or str(settings.output_dir / f"{crawl.name}.txt")
        kind = written or written_as(name)
        keep_clear(database, settings, name)
        stores = Seeds(database), Candidates(database), Pages(database)
        with open_output(name) as out:
            counts = export_urls(*stores, selection or Selection(), out, kind)
    place = "standard output" if name == STANDARD else name
    pages = f", {counted(counts.pages, 'page')}" if selection and selection.pages else ""
    written_urls = f"{counted(counts.seeds, 'seed')}, {counted(counts.candidates, 'candidate seed')}{pages}"
    click.echo(f"exported {written_urls} to {place}", err=True)
