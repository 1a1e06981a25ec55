"""`scrawler verify`: whether the archive holds what the database says, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.cli.losses import WHAT_TO_DO, lost_text
from scrawler.cli.options import ARCHIVE, with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.cli.tables import print_rows
from scrawler.core.records.verifying import Finding, Problem
from scrawler.errors import RecordsLostError, SettingsError, StoreError
from scrawler.model.records import LossState
from scrawler.settings import Settings, of_archive
from scrawler.store.engines.engine import Database
from scrawler.store.lists.losses import LostSum
from scrawler.store.lists.vain import count_let_be
from scrawler.units import counted, human_bytes
from scrawler.upkeep import Upkeep, Verified, lost_payloads

_NOT_OURS = "other programs wrote there: restore these files, or move them away and `run --retry lost`"
_COLUMNS = ("file", "offset", "length", "problem", "url")


@click.command()
@click.option("--json", "written", flag_value="json", default=None, help="Write JSON, a row a line.")
@ARCHIVE
@with_settings(*of_archive())
def verify(settings: Settings, written: str | None, archive: str | None) -> None:
    """Read all WARC files of this host and compare each record with its row, both ways.

    Listed is what is gone (a row whose record is not there, or is another one), what is damaged between records,
    records with neither row nor orphan, bytes that are no record, and files that cannot be read. So are pages whose
    payload should be in the archive of an earlier crawl (--dedup-from) on this host, and is not, or is damaged: these
    records are read as well. What was accepted by
    `run --accept-losses` is passed by. Files that are being written are read as far as they are committed. With
    anything found the exit code is 7, also where nobody reads the list to its end.

    A file that is not here, and was copied to --archive-to, is read from there. With --archive the copies of all hosts'
    files are read, and nothing else; files that are not copied there yet are exit code 7 as well.
    """
    found = Verified(0, 0, 0)
    with opened(settings, BareCrawl) as crawl:
        upkeep = Upkeep(settings, crawl.database, crawl.stored)
        with ProgressLine() as line:

            def show(done: Verified) -> None:
                nonlocal found
                found = done
                line.show(_progress(done))

            if archive:
                findings = upkeep.verify_copies(archive, show)
            else:
                findings = chain(upkeep.verify(show), _vain(settings, crawl.database, lambda: found, line))
            rows = _rows(findings)
            try:
                print_rows(rows, _COLUMNS, written)
            except BrokenPipeError:  # the reader has seen enough of the list; what is found still counts
                deque(rows, maxlen=0)
        lost = upkeep.losses.totals().open
        click.echo(_copies_said(found, archive) if archive else _said(found), err=True)
        upkeep.losses.mark_told(found.lossy)  # the user has just read of them
    if archive and (found.gone or found.unknown):
        raise RecordsLostError(f"the copies in {archive} are not what the database says: {_wrong_places(found)}")
    if archive and found.uncopied:
        raise RecordsLostError(f"{_uncopied(found)} to {archive}: `scrawler archive-copy` copies what is finished")
    if found.gone or found.unknown or found.unreadable or found.vain:
        raise RecordsLostError(_what_is_wrong(found, lost))


def _vain(
    settings: Settings, database: Database, done: Callable[[], Verified], line: ProgressLine
) -> Iterator[Finding]:
    """Yield the pages whose payloads are gone from the archives of earlier crawls, and count them."""
    looked_at = 0

    def show() -> None:
        nonlocal looked_at
        looked_at += 1
        line.show(f"{_progress(done())}; {counted(looked_at, 'reference')} followed")

    try:
        for page in lost_payloads(settings, database, show):
            done().vain += 1
            yield Finding(page.warc_file, page.warc_offset, page.warc_length, Problem.VAIN, page.url)
        done().accepted += count_let_be(database)
    except (StoreError, SettingsError) as error:
        raise RecordsLostError(f"what an earlier crawl has archived cannot be read: {error}") from error


def _rows(findings: Iterator[Finding]) -> Iterator[dict[str, Any]]:
    return (finding._asdict() | {"problem": finding.problem.value} for finding in findings)


def _progress(done: Verified) -> str:
    share = f"{done.verified:,} of {counted(done.files, 'file')}, {human_bytes(done.read)} of {human_bytes(done.bytes)}"
    return f"verified {share}: {counted(done.whole, 'record')} as the database says, {done.gone:,} gone"


def _said(found: Verified) -> str:
    text = f"{counted(found.files, 'file')} of this host verified: {counted(found.whole, 'record is', 'records are')}"
    text += f" as the database says, {counted(found.gone, 'is', 'are')} gone"
    text += f", {counted(found.unknown, 'place is', 'places are')} not known to it"
    text += f"; {_vain_said(found)}" if found.vain else ""
    text += f"; {counted(found.accepted, 'more is', 'more are')} {LossState.ACCEPTED}" if found.accepted else ""
    elsewhere = f"; the files of {counted(found.elsewhere, 'machine')} are on other hosts"
    return text + elsewhere if found.elsewhere else text


def _copies_said(found: Verified, archive: str) -> str:
    text = f"copies of {counted(found.files, 'file')} in {archive} verified: "
    text += f"{counted(found.whole, 'record is', 'records are')} as the database says, {_wrong_places(found)}"
    return f"{text}; {_uncopied(found)} there yet" if found.uncopied else text


def _uncopied(found: Verified) -> str:
    return f"{counted(found.uncopied, 'file is', 'files are')} not copied"


def _wrong_places(found: Verified) -> str:
    places = counted(found.unknown, "place is", "places are")
    return f"{counted(found.gone, 'is', 'are')} gone, {places} not known to it"


def _vain_said(found: Verified) -> str:
    return f"{counted(found.vain, 'more refers', 'more refer')} to what is gone from the archives of earlier crawls"


def _what_is_wrong(found: Verified, lost: LostSum) -> str:
    if found.gone:
        return f"{LossState.GONE}: {lost_text(lost)}; {WHAT_TO_DO}"
    if found.vain:
        return f"{counted(found.vain, 'record')} {_vain_said(found).split(' ', 2)[2]}; {WHAT_TO_DO}"
    places = counted(found.unknown, "place of the archive is", "places of the archive are")
    if not found.unknown:
        return f"{counted(found.unreadable, 'file')} cannot be read"
    return f"{places} not known to the database; {_NOT_OURS}"
