"""`scrawler corpus`: the texts of a crawl."""

from __future__ import annotations

from itertools import islice

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.losses import unread_error
from scrawler.cli.options import ARCHIVE, FILLED, Whole, with_settings
from scrawler.errors import SettingsError
from scrawler.features.texts.corpus import COLUMNS, CorpusCounts, Finder
from scrawler.features.texts.corpus import corpus as corpus_rows
from scrawler.seeds.files import STANDARD, Format, written_as
from scrawler.seeds.table_files import open_table
from scrawler.settings import Settings, of_archive
from scrawler.units import counted

_WRITTEN = 20  # rows held in memory at a time: a text may be long
_FORMATS = (Format.JSONL, Format.PARQUET)


@click.command()
@click.argument("file", type=FILLED)
@click.option("--seed", type=FILLED, metavar="URL", help="Only the pages that were fetched for this seed.")
@click.option("--min-length", type=Whole(0), default=0, show_default=True, help="Shortest main text, in characters.")
@click.option("--one-of-each", is_flag=True, help="Of pages that say nearly the same only the first one.")
@click.option(
    "--format",
    "written",
    type=click.Choice([written.value for written in _FORMATS], case_sensitive=False),
    help="How to write the file. [default: by its name]",
)
@click.option(
    "--main-text",
    "finder",
    type=click.Choice([one.value for one in Finder]),
    default=Finder.RESILIPARSE.value,
    show_default=True,
    help="What finds main texts: trafilatura is better on articles, and ten times as slow.",
)
@ARCHIVE
@with_settings(*of_archive())
def corpus(
    settings: Settings,
    file: str,
    seed: str | None,
    min_length: int,
    one_of_each: bool,
    written: str | None,
    finder: str,
    archive: str | None,
) -> None:
    """Write the texts of all pages to FILE, a row a page.

    A row has the page's URL, its seed, its title, language and main text, the date when it was fetched, the digest of
    its payload, and the number of the first page that says nearly the same. FILE ends in .jsonl, with .gz or .zst after
    it if it is to be packed, or in .parquet; "-" is standard output. It needs resiliparse, for Parquet also pyarrow:
    pip install 'seed-scrawler[corpus]'. Pages whose records are gone are told at the end, with exit code 7.
    """
    kind = _kind(file, written)
    counts = CorpusCounts()
    with opened(settings, OpenedCrawl) as crawl:
        crawl.keep_clear(file)
        seed_id = None if seed is None else crawl.seed(seed, "--seed").seed.id
        with crawl.reader(archive) as reader, open_table(file, kind, COLUMNS) as out:
            rows = corpus_rows(
                crawl.database,
                reader,
                counts,
                seed_id=seed_id,
                min_length=min_length,
                one_of_each=one_of_each,
                finder=Finder(finder),
            )
            while batch := list(islice(rows, _WRITTEN)):
                out.write(batch)
    place = "standard output" if file == STANDARD else file
    click.echo(f"wrote {counted(counts.rows, 'page')} to {place}{_left_out(counts)}", err=True)
    if counts.lost:
        raise unread_error(counts.lost)


def _kind(file: str, written: str | None) -> Format:
    if written:
        return Format(written)
    try:
        kind = Format.JSONL if file == STANDARD else written_as(file)
    except SettingsError:
        kind = None
    if kind not in _FORMATS:
        raise SettingsError(f"{file}: a corpus is written as .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    return kind


def _left_out(counts: CorpusCounts) -> str:
    parts = (
        (counts.short, "too short"),
        (counts.copies, "near copies"),
        (counts.without_text, "without a text"),
        (counts.slow, "whose texts take more than page_time"),
    )
    left_out = [f"{number:,} {words}" for number, words in parts if number]
    left_out += [f"{counted(counts.pdfs, 'PDF')}, which are not read"] if counts.pdfs else []
    said = f"; left out: {', '.join(left_out)}" if left_out else ""
    cut = f"; of {counted(counts.cut, 'page')} only the first 16 MiB, or million tags, were read" if counts.cut else ""
    return said + cut
