"""`scrawler changes`: what visits have found changed; `scrawler diff`: how."""

from __future__ import annotations

import sys

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.lines import for_terminal
from scrawler.cli.options import FILLED, Whole, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.dates import iso_date
from scrawler.features.revisit import library
from scrawler.features.revisit.library import Change
from scrawler.model.visits import ChangeKind
from scrawler.settings import Settings, of_archive

_COLUMNS = ("found_at", "kind", "url", "detail", "distance", "visit", "seed")
_KINDS = ", ".join(kind.value for kind in ChangeKind)


@click.command()
@click.option("--since", type=FILLED, metavar="TIME", help="Only later visits: 2026-11-23, or how long ago: 7d.")
@click.option("--seed", type=FILLED, metavar="URL", help="Only what was visited for this seed.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND,...", help=f"Only these changes: {_KINDS}.")
@click.option("--atom", is_flag=True, help="Write an Atom feed, of the newest 1,000.")
@format_options
@with_settings()
def changes(
    settings: Settings, since: str | None, seed: str | None, kinds: tuple[str, ...], atom: bool, written: str | None
) -> None:
    """List what visits after the first have found: pages that are new, changed, failing, gone, back or moved.

    `distance` says by how much the text has changed: by how many of 64 bits of its simhash. Texts that differ in a few
    words have a distance of a few bits, those that have nothing in common one of about 32.
    """
    if atom and written:
        raise click.UsageError(f"atom and {written} are different forms: give one of them")
    with opened(settings, OpenedCrawl) as crawl:
        if atom:
            for line in library.feed(crawl, since, seed, kinds):
                sys.stdout.write(line + "\n")
        else:
            print_rows(map(_row, library.changes(crawl, since, seed, kinds)), _COLUMNS, written)


def _row(change: Change) -> dict[str, object]:
    return {
        "found_at": iso_date(int(change.at.timestamp() * 1000)),
        "kind": change.kind.value,
        "url": change.url,
        "detail": change.detail,
        "distance": change.distance,
        "visit": change.visit,
        "seed": change.seed,
    }


@click.command("diff")
@click.argument("url", type=FILLED)
@click.argument("first", type=Whole(0), required=False)
@click.argument("second", type=Whole(0), required=False)
@click.option("--body", is_flag=True, help="Compare the decoded bodies, not the text that a reader sees.")
@click.option("--bytes", "in_bytes", is_flag=True, help="With --body: write it in the page's own charset, for patch.")
@with_settings(*of_archive())
def diff_command(
    settings: Settings, url: str, first: int | None, second: int | None, body: bool, in_bytes: bool
) -> None:
    """Show what changed of URL between two visits, as a unified diff.

    Visits are counted from 0, as `scrawler why URL` has them. With one number it is compared with the newest visit;
    with none, the last visit that found another payload is compared with the one before it. No site is asked. A URL
    that has no two visits is exit code 9, a record that is gone 7. Bodies are read in the charset of their page and
    written in UTF-8; in a file or a pipe `patch` takes the diff, of a page in another charset that of --bytes.
    """
    if in_bytes and not body:
        raise click.UsageError("--bytes is for --body")
    with opened(settings, OpenedCrawl) as crawl:
        if in_bytes:
            click.echo(library.diff_bytes(crawl, url, first, second), nl=False)
            return
        text = library.diff(crawl, url, first, second, body)
    if text:
        click.echo(_shown(text, body).encode("utf-8", "surrogateescape"))


def _shown(text: str, body: bool) -> str:
    """Return a diff as it is written: no page is to control a terminal, and for patch nothing may be changed."""
    if body and not sys.stdout.isatty():
        return text
    return for_terminal(text)
