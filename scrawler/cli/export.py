"""`scrawler export`: seeds and candidate seeds out of the database."""

from __future__ import annotations

import click

from scrawler.api.seeding import SeededCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import seed_filters
from scrawler.model.seeds import EndReason, SeedState
from scrawler.seeds.exporter import UrlKind
from scrawler.seeds.files import STANDARD, Format
from scrawler.settings import Settings
from scrawler.units import counted


@click.command()
@click.argument("file", required=False, type=FILLED)
@click.option(
    "--format",
    "written",
    type=click.Choice([written.value for written in Format], case_sensitive=False),
    help="How to write the file. [default: by its name]",
)
@click.option("--pages", is_flag=True, help="Add the internal URLs, each with all that is known of it.")
@click.option(
    "--only",
    type=click.Choice([kind.value for kind in UrlKind], case_sensitive=False),
    help="Nothing but URLs of this kind.",
)
@click.option(
    "--merge",
    multiple=True,
    type=FILLED,
    metavar="DB",
    help="Database of another agent of the crawl, whose URLs are written as well, each once. [may be repeated]",
)
@click.option(
    "--agents",
    type=FILLED,
    metavar="FILE",
    help="The list of agents: all of them are written, each URL once. It names the databases that --merge does not.",
)
@seed_filters
@with_settings("output_dir")
def export(
    settings: Settings,
    file: str | None,
    written: str | None,
    pages: bool,
    only: str | None,
    merge: tuple[str, ...],
    agents: str | None,
    state: SeedState | None,
    end_reason: EndReason | None,
) -> None:
    """Export seeds and candidate seeds.

    Every seed and every candidate seed goes to FILE, which is a seed file again; by default it is <crawl>.txt in
    output_urls/. FILE ends in .txt, .csv or .jsonl, and .gz or .zst after it if it is to be packed, or in .parquet;
    "-" is standard output. With --state or --end-reason only the seeds that have it are exported, for example for a
    second round: --end-reason max-pages.
    """
    with opened(settings, SeededCrawl) as crawl:
        write_export(crawl, file, pages, state, end_reason, written, only, merge=merge, agents=agents)


def write_export(
    crawl: SeededCrawl,
    file: str | None = None,
    pages: bool = False,
    state: SeedState | None = None,
    end_reason: EndReason | None = None,
    written: str | None = None,
    only: str | None = None,
    quiet: bool = False,
    merge: tuple[str, ...] = (),
    agents: str | None = None,
) -> None:
    """Export to `file` (default: by the crawl's name) and, unless `quiet`, say how much."""
    name = file or crawl.export_file
    counts = crawl.export(
        name, pages=pages, state=state, end_reason=end_reason, format=written, only=only, merge=merge, agents=agents
    )
    if quiet:
        return
    place = "standard output" if name == STANDARD else name
    of_kinds = {
        UrlKind.SEED.value: counted(counts.seeds, "seed"),
        UrlKind.CANDIDATE.value: counted(counts.candidates, "candidate seed"),
        UrlKind.PAGE.value: counted(counts.pages, "page"),
    }
    told = [text for kind, text in of_kinds.items() if kind == only or (not only and (pages or kind != UrlKind.PAGE))]
    click.echo(f"exported {', '.join(told)} to {place}", err=True)
