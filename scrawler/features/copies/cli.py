"""`scrawler archive-copy`: what is finished of the archive goes elsewhere."""

from __future__ import annotations

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.features.copies.copying import copies_text, copy_rest, remote_of
from scrawler.model.copies import Copies
from scrawler.settings import Settings
from scrawler.units import counted, human_bytes


@click.command("archive-copy")
@with_settings("pages_dir", "archive_to")
def archive_copy(settings: Settings) -> None:
    """Copy the WARC files of this host that are finished to --archive-to, with their indexes.

    What is there already, whole, is passed by; what was cut short, by a kill for one, is copied again. A place that is
    away is tried again for a minute. With anything that could not be copied the exit code is 5. It needs fsspec, for
    s3:// also s3fs: pip install 'seed-scrawler[remote]'. Keys come from the environment, for S3 AWS_ACCESS_KEY_ID and
    so on.
    """
    remote = remote_of(settings)
    with opened(settings, BareCrawl) as crawl:
        _ = crawl.database  # refuse what is no crawl before anything is asked for
    remote.check()
    copies = Copies()
    with ProgressLine() as line:
        copy_rest(settings, copies, say=line.message, on_change=lambda: line.show(copies_text(copies)))
    click.echo(f"copied {counted(copies.files, 'WARC file')}, {human_bytes(copies.bytes)}, to {remote.url}", err=True)
