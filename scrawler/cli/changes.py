"""`scrawler changes`: what visits have found changed; `scrawler diff`: how."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from xml.sax.saxutils import escape

import click

from scrawler.api.visits import Change, VisitedCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import format_options, print_rows, printable
from scrawler.dates import iso_date
from scrawler.model.visits import ChangeKind
from scrawler.settings import Settings

_COLUMNS = ("found_at", "kind", "url", "detail", "visit", "seed")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line feeds
_KINDS = ", ".join(kind.value for kind in ChangeKind)


@click.command()
@click.option("--since", type=FILLED, metavar="TIME", help="Only later visits: 2026-11-23, or how long ago: 7d.")
@click.option("--seed", type=FILLED, metavar="URL", help="Only what was visited for this seed.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND,...", help=f"Only these changes: {_KINDS}.")
@click.option("--atom", is_flag=True, help="Write an Atom feed.")
@format_options
@with_settings()
def changes(
    settings: Settings, since: str | None, seed: str | None, kinds: tuple[str, ...], atom: bool, written: str | None
) -> None:
    """List what visits after the first have found: pages that are new, changed, gone, back or moved."""
    if atom and written:
        raise click.UsageError(f"atom and {written} are different forms: give one of them")
    with opened(settings, VisitedCrawl) as crawl:
        found = crawl.changes(since, seed, kinds)
        if atom:
            _write_feed(found, crawl.stored.name)
        else:
            print_rows(map(_row, found), _COLUMNS, written)


def _row(change: Change) -> dict[str, object]:
    return {
        "found_at": iso_date(int(change.at.timestamp() * 1000)),
        "kind": change.kind.value,
        "url": change.url,
        "detail": change.detail,
        "visit": change.visit,
        "seed": change.seed,
    }


def _write_feed(found: Iterable[Change], crawl: str) -> None:
    """Write Atom (RFC 4287); the feed is as old as its last entry, which stands at its end."""
    listed = list(found)
    updated = iso_date(int(listed[-1].at.timestamp() * 1000)) if listed else "1970-01-01T00:00:00Z"
    name = _xml(crawl)
    out = sys.stdout.write
    out('<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n')
    out(f"<id>urn:scrawler:{name}</id>\n<title>Changes of crawl {name}</title>\n<updated>{updated}</updated>\n")
    out("<author><name>SCrawler</name></author>\n")
    for one in listed:
        at, url = iso_date(int(one.at.timestamp() * 1000)), _xml(one.url)
        detail = f" to {_xml(one.detail)}" if one.detail else ""
        out(
            f"<entry><id>{url}#visit-{one.visit}-{one.kind.value}</id><title>{one.kind.value}: {url}{detail}</title>"
            f'<updated>{at}</updated><link href="{url}"/><category term="{one.kind.value}"/></entry>\n'
        )
    out("</feed>\n")


def _xml(text: str) -> str:
    return escape(printable(text), {'"': "&quot;"})


@click.command("diff")
@click.argument("url", type=FILLED)
@click.argument("first", type=click.IntRange(0), required=False)
@click.argument("second", type=click.IntRange(0), required=False)
@click.option("--body", is_flag=True, help="Compare the decoded bodies, not the text that a reader sees.")
@with_settings("pages_dir", "archive_to")
def diff_command(settings: Settings, url: str, first: int | None, second: int | None, body: bool) -> None:
    """Show what changed of URL between two visits, as a unified diff.

    Visits are counted from 0, as `scrawler why URL` has them. With one number it is compared with the newest visit;
    with none, the last visit that found another payload is compared with the one before it. No site is asked. A URL
    that has no two visits is exit code 9, a record that is gone 7.
    """
    with opened(settings, VisitedCrawl) as crawl:
        text = crawl.diff(url, first, second, body)
    if text:  # no page is to control a terminal
        click.echo(_CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text))
