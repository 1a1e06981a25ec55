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
from scrawler.crawl.verifying import Finding
from scrawler.errors import RecordsLostError
from scrawler.settings import Settings
from scrawler.store.crawls import Crawls
from scrawler.store.losses import LostSum
from scrawler.units import human_bytes
from scrawler.upkeep import Upkeep, Verified

_NOT_OURS = "other programs wrote there: restore these files, or move them away and `run --retry lost`"
_COLUMNS = ("file", "offset", "length", "problem", "url")


@click.command()
@click.option("--json", "written", flag_value="json", default=None, help="Write JSON, a row a line.")
@with_settings("pages_dir")
def verify(settings: Settings, written: str | None) -> None:
    """Read all WARC files of this host and compare each record with its row, both ways.

    Listed is what is gone (a row whose record is not there, or is another one), records of answers with neither row
    nor orphan, and bytes that are no record. What was accepted by `run --accept-losses` is passed by. Files that are
    being written are read as far as they are committed. With anything found the exit code is 7, also where nobody reads
    the list to its end.
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
        upkeep.losses.mark_told(found.lossy)  # now that they stand there
    if found.gone or found.unknown:
        raise RecordsLostError(_what_is_wrong(found, lost))


def _rows(findings: Iterator[Finding]) -> Iterator[dict[str, Any]]:
    return (finding._asdict() | {"problem": finding.problem.value} for finding in findings)


def _progress(done: Verified) -> str:
    share = f"{done.verified:,} of {done.files:,} files, {human_bytes(done.read)} of {human_bytes(done.bytes)}"
    return f"verified {share}: {done.whole:,} records as the database says, {done.gone:,} gone"


def _said(found: Verified) -> str:
    text = f"{found.files:,} files of this host verified: {found.whole:,} records are as the database says"
    text += f", {found.gone:,} are gone, {found.unknown:,} places are not known to it"
    text += f"; {found.accepted:,} more are gone, which was accepted" if found.accepted else ""
    return text + (f"; the files of {found.elsewhere:,} machines are on other hosts" if found.elsewhere else "")


def _what_is_wrong(found: Verified, lost: LostSum) -> str:
    if found.gone:
        return f"gone from the archive: {lost_text(lost)}; {WHAT_TO_DO}"
    return f"{found.unknown:,} places of the archive are not known to the database; {_NOT_OURS}"
