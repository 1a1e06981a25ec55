"""`scrawler verify`: whether the archive holds what the database says, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.losses import WHAT_TO_DO, lost_text
from scrawler.cli.options import with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.cli.tables import print_rows
from scrawler.core.records.verifying import Finding
from scrawler.errors import RecordsLostError
from scrawler.model.records import LossState
from scrawler.settings import Settings
from scrawler.store.crawls import Crawls
from scrawler.store.losses import LostSum
from scrawler.units import counted, human_bytes
from scrawler.upkeep import Upkeep, Verified

_NOT_OURS = "other programs wrote there: restore these files, or move them away and `run --retry lost`"
_COLUMNS = ("file", "offset", "length", "problem", "url")


@click.command()
@click.option("--json", "written", flag_value="json", default=None, help="Write JSON, a row a line.")
@with_settings("pages_dir")
def verify(settings: Settings, written: str | None) -> None:
    """Read all WARC files of this host and compare each record with its row, both ways.

    Listed is what is gone (a row whose record is not there, or is another one), what is damaged between records,
    records with neither row nor orphan, bytes that are no record, and files that cannot be read. What was accepted by
    `run --accept-losses` is passed by. Files that are being written are read as far as they are committed. With
    anything found the exit code is 7, also where nobody reads the list to its end.
    """
    found = Verified(0, 0, 0)
    with crawl_database(settings) as database:
        upkeep = Upkeep(settings, database, Crawls(database).open(settings.name, settings.scope))
        with ProgressLine() as line:

            def show(done: Verified) -> None:
                nonlocal found
                found = done
                line.show(_progress(done))

            rows = _rows(upkeep.verify(show))
            try:
                print_rows(rows, _COLUMNS, written)
            except BrokenPipeError:  # the reader has seen enough of the list; what is found still counts
                deque(rows, maxlen=0)
        lost = upkeep.losses.totals().open
        click.echo(_said(found), err=True)
        upkeep.losses.mark_told(found.lossy)  # the user has just read of them
    if found.gone or found.unknown or found.unreadable:
        raise RecordsLostError(_what_is_wrong(found, lost))


def _rows(findings: Iterator[Finding]) -> Iterator[dict[str, Any]]:
    return (finding._asdict() | {"problem": finding.problem.value} for finding in findings)


def _progress(done: Verified) -> str:
    share = f"{done.verified:,} of {counted(done.files, 'file')}, {human_bytes(done.read)} of {human_bytes(done.bytes)}"
    return f"verified {share}: {counted(done.whole, 'record')} as the database says, {done.gone:,} gone"


def _said(found: Verified) -> str:
    text = f"{counted(found.files, 'file')} of this host verified: {counted(found.whole, 'record is', 'records are')}"
    text += f" as the database says, {counted(found.gone, 'is', 'are')} gone"
    text += f", {counted(found.unknown, 'place is', 'places are')} not known to it"
    text += f"; {counted(found.accepted, 'more is', 'more are')} {LossState.ACCEPTED}" if found.accepted else ""
    elsewhere = f"; the files of {counted(found.elsewhere, 'machine')} are on other hosts"
    return text + elsewhere if found.elsewhere else text


def _what_is_wrong(found: Verified, lost: LostSum) -> str:
    if found.gone:
        return f"{LossState.GONE}: {lost_text(lost)}; {WHAT_TO_DO}"
    places = counted(found.unknown, "place of the archive is", "places of the archive are")
    if not found.unknown:
        return f"{counted(found.unreadable, 'file')} cannot be read"
    return f"{places} not known to the database; {_NOT_OURS}"
