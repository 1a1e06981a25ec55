"""`scrawler cat`: a page out of the archive."""

from __future__ import annotations

import sys

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.lines import for_terminal, one_line
from scrawler.cli.options import ARCHIVE, FILLED, with_settings
from scrawler.errors import ScrawlerError
from scrawler.insight.answer import utc
from scrawler.settings import Settings, of_archive

_CUT = "it has more than 16 MiB, or a million tags: this is the text of its beginning"


@click.command()
@click.argument("url", type=FILLED)
@click.option("--headers", "what", flag_value="headers", help="Write the status line and header fields of the answer.")
@click.option("--raw", "what", flag_value="raw", help="Write the WARC record, with its own header.")
@click.option("--rendered", "what", flag_value="rendered", help="Write the document that a browser made of it.")
@click.option("--text", "what", flag_value="text", help="Write the text that a reader sees, in UTF-8.")
@click.option("--markdown", "what", flag_value="markdown", help="Write the page as Markdown, without its navigation.")
@ARCHIVE
@with_settings(*of_archive())
def cat(settings: Settings, url: str, what: str | None, archive: str | None) -> None:
    """Write the body of URL as a browser would get it.

    It is read from the archive, its transfer and content codings undone; no machine needs to run, and no site is asked.
    Of a page that came again with the same bytes, the first record has the body; of one that is gone by now, or fails,
    what the last visit got that has brought it, and a line on standard error says so. What cannot be decoded whole is
    written as far as it goes, with exit code 1. A URL that the crawl has not fetched is exit code 9, a record that is
    gone 7. Of a page that was shown in a browser, --text and --markdown are those of the document that this made.
    Markdown needs html-to-markdown: pip install 'seed-scrawler[markdown]'. On a terminal, characters that would control
    it are shown as escapes; a pipe or a file gets the bytes.
    """
    with opened(settings, OpenedCrawl) as crawl:
        content = crawl.content(url, archive)
    if (newest := content.newest) is not None:
        status = f" {newest.status}" if newest.status else ""
        told = f"the last visit, of {utc(newest.fetched_at)}, met {newest.result}{status}"
        click.echo(
            one_line(f"{content.page.url}: {told}; this is what came at {utc(content.page.fetched_at)}"), err=True
        )
    if what in ("text", "markdown") and content.is_cut:
        click.echo(one_line(f"{content.page.url}: {_CUT}"), err=True)
    if what == "headers":
        _write(content.head)
    elif what == "raw":
        _write(content.record)
    elif what == "rendered":
        _write(content.shown())
    elif what == "text":
        _write(content.text().encode("utf-8", "replace") + b"\n")
    elif what == "markdown":
        _write(content.markdown().encode("utf-8", "replace") + b"\n")
    else:
        body, note = content.decoded()
        _write(body)
        if note:
            raise ScrawlerError(f"{content.page.url}: only {len(body):,} bytes of its body could be decoded ({note})")


def _write(data: bytes) -> None:
    """Write to standard output; what comes from the web is not to control a terminal."""
    if sys.stdout.isatty():
        text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        data = for_terminal(text).encode("utf-8")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
