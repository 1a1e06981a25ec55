"""`scrawler wacz`: a crawl as one file, for players of archives."""

from __future__ import annotations

import os
from pathlib import Path

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.lines import one_line
from scrawler.cli.losses import unread_error
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.errors import SettingsError
from scrawler.features.texts.library import pack
from scrawler.features.texts.packing import Packed
from scrawler.settings import Settings, of_archive
from scrawler.units import counted, human_bytes


@click.command()
@click.argument("file", type=FILLED)
@click.option("--text", "texts", is_flag=True, help="List pages with their texts, for full-text search in the player.")
@with_settings(*of_archive())
def wacz(settings: Settings, file: str, texts: bool) -> None:
    """Pack the crawl into FILE.wacz, for replayweb.page.

    It holds the WARC files, their index and a list of all HTML pages with their titles (WACZ 1.1.1), and takes as much
    room as the WARC files do. Only files that are finished are packed: while machines crawl, what they write now is
    left out, and told. Pages whose records are gone are told at the end, with exit code 7. What an earlier crawl has
    archived (--dedup-from) is not packed, which is told as well: a player needs a package of that crawl, too.
    """
    if not file.lower().endswith(".wacz"):
        raise SettingsError(f"{file}: the name of the file has to end in .wacz, by which players know it")
    with opened(settings, OpenedCrawl) as crawl, ProgressLine() as line:
        done = pack(crawl, file, texts=texts, on_progress=lambda packed: line.show(_progress(packed)))
    click.echo(f"packed {_progress(done)} into {os.fspath(Path(file))}{_left_out(done)}", err=True)
    if done.earlier:
        click.echo(one_line(_elsewhere(done)), err=True)
    if done.lost:
        raise unread_error(done.lost)


def _progress(done: Packed) -> str:
    return f"{counted(done.files, 'WARC file')} of {human_bytes(done.bytes)}, {counted(done.pages, 'page')}"


def _elsewhere(done: Packed) -> str:
    where = f", {done.earlier_crawl}" if done.earlier_crawl else ""
    return (
        f"the bodies of {counted(done.earlier, 'answer')} stand in the archive of an earlier crawl{where}, and are not"
        " packed: a player shows them with a package of that crawl beside this one"
    )


def _left_out(done: Packed) -> str:
    parts = ((done.unfinished, "not finished"), (done.missing, "not here"))
    said = ", ".join(
        f"{counted(number, 'WARC file')} that {'is' if number == 1 else 'are'} {why}" for number, why in parts if number
    )
    return f"; left out: {said}" if said else ""
