"""`scrawler rank`: what URLs weigh by the links to them, for visits that share a budget."""

from __future__ import annotations

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.losses import unread_error
from scrawler.cli.options import ARCHIVE, FILLED, with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.features.texts.in_degree import Ranked
from scrawler.features.texts.library import rank as write_ranks
from scrawler.seeds.files import STANDARD
from scrawler.settings import Settings, of_archive
from scrawler.units import counted


@click.command()
@click.argument("file", type=FILLED)
@ARCHIVE
@with_settings(*of_archive())
def rank(settings: Settings, file: str, archive: str | None) -> None:
    """Write to FILE what each fetched URL weighs by the number of pages that link to it.

    `run --rank FILE` and `seeds choose --by rank --rank FILE` read it. A line is a URL and 1 + ln(1 + n), where n pages
    of the crawl link to it: each page counts once, by its last visit that was answered, and none for itself. Links are
    all that the crawl kept of pages (`run --outlinks`), redirects and what is embedded among them. "-" is standard
    output. Exit code 9 if the crawl kept none; pages whose records are gone are told at the end, with exit code 7.
    """
    with opened(settings, OpenedCrawl) as crawl, ProgressLine() as line:
        done = write_ranks(crawl, file, archive=archive, on_progress=lambda ranked: line.show(_progress(ranked)))
    place = "standard output" if file == STANDARD else file
    told = f"wrote {counted(done.urls, 'URL')} to {place}, to which {counted(done.links, 'link')} of "
    click.echo(f"{told}{done.linking:,} of {counted(done.pages, 'page')} lead{_left_out(done)}", err=True)
    if done.lost:
        raise unread_error(done.lost)


def _progress(done: Ranked) -> str:
    return f"{counted(done.urls, 'URL')}, out-links of {counted(done.linking, 'page')} read"


def _left_out(done: Ranked) -> str:
    if not done.left_out:
        return ""
    return f"; left out: {counted(done.left_out, 'URL')} with the fewest links, more than a file of ranks may have"
