"""`scrawler broken`: links that lead nowhere, and the pages on which they stand."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.losses import unread_error
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import print_rows, printable
from scrawler.insight.broken import BrokenLink, Unread, add_pages, broken_fragments, broken_links
from scrawler.insight.checked import SeedsChecked
from scrawler.insight.html import html_page
from scrawler.insight.sections import Report, Section, Table
from scrawler.settings import Settings, crawl_title
from scrawler.tuples.classes import dataclass
from scrawler.units import counted

if TYPE_CHECKING:
    from scrawler.api.external import Checked

_COLUMNS = ("url", "reason", "status", "detail", "seed", "depth", "referrer", "pages")
_FORMS = ("text", "csv", "json", "html")
_SHOWN = 20  # pages that text names of those that lead to one URL
_SHOWN_IN_HTML = 10  # the same on a page
_MOST_ROWS = 1_000  # URLs of one kind on a page, which a browser has to lay out
_FOUND_ANY = 1  # exit code
_UNCHECKED = "unchecked"  # the reason that is told of what could not be checked


@click.command()
@click.option("--seed", type=FILLED, metavar="URL", help="Only what was asked for for this seed.")
@click.option("--fragments", is_flag=True, help="Check also that pages have the places (#...) to which links lead.")
@click.option("--external", is_flag=True, help="Ask for each external URL once as well, within robots.txt.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS, case_sensitive=False),
    default="text",
    show_default=True,
    help="How to write them.",
)
@with_settings("pages_dir")
def broken(settings: Settings, seed: str | None, fragments: bool, external: bool, form: str) -> None:
    """List the URLs that failed, by reason, with the page that linked to each first.

    Where the crawl kept out-links (`run --outlinks`), all pages that lead to each are told. What robots.txt forbids,
    and what the crawl itself refuses, is not broken. With --external other sites are asked, by a crawl of its own that
    follows no link, with the settings of the last run. Exit code 1 if anything is broken, or could not be checked, as
    an external URL, or a seed whose site was not crawled; 0 if nothing is; 7 if --fragments met records that are gone.
    """
    if external and seed:
        raise click.UsageError("--external asks for the links of all seeds: leave out --seed")
    with opened(settings, OpenedCrawl) as crawl:
        one = None if seed is None else crawl.seed(seed, "--seed").seed
        ends = crawl.status().seeds if one is None else {one.state: {one.end_reason: 1}}
        seeds = SeedsChecked.of(ends)
        check = _Check(crawl, one.id if one else None, fragments, seeds, _checked(crawl) if external else None)
        _write(check, form)
    if check.unread.records:
        raise unread_error(check.unread.records)
    if check.broken or check.unchecked or seeds.unchecked:
        raise click.exceptions.Exit(_FOUND_ANY)


def _checked(crawl: OpenedCrawl) -> Checked:
    from scrawler.api.external import check_externals  # a machine and all of its parts, which are used here alone

    return check_externals(crawl)


@dataclass(slots=True)
class _Check:
    """What is checked, and, once all of `links` is read, how much was found."""

    crawl: OpenedCrawl
    seed_id: int | None
    fragments: bool
    seeds: SeedsChecked
    externals: Checked | None  # None: they are not asked for
    unread: Unread = field(default_factory=Unread)
    broken: int = 0

    @property
    def unchecked(self) -> list[BrokenLink]:
        """The external URLs that could not be checked."""
        return self.externals.unchecked if self.externals else []

    def links(self) -> Iterator[BrokenLink]:
        """Yield what is broken, then what could not be checked, with all pages that are known to lead there."""
        database, externals = self.crawl.database, self.externals
        with self.crawl.reader() as reader:
            links = broken_links(database, self.seed_id)
            broken = sorted(externals.broken, key=_kind) if externals else []
            if self.crawl.keeps_outlinks:
                whole = [*links, *broken]
                add_pages(database, reader, [*whole, *self.unchecked], reader.prefixes)
                links, broken = iter(whole), []
            yield from self._counted(links)
            yield from self._counted(iter(broken))
            if self.fragments:
                yield from self._counted(broken_fragments(database, reader, self.unread, self.seed_id))
        yield from (
            replace(link, reason=_UNCHECKED, detail=f"{link.reason}: {link.detail}" if link.detail else link.reason)
            for link in self.unchecked
        )

    def _counted(self, links: Iterator[BrokenLink]) -> Iterator[BrokenLink]:
        for link in links:
            self.broken += 1
            yield link

    def totals(self) -> dict[str, str]:
        """Return what is to be said of all external URLs, by name; nothing where they are not asked for."""
        of = self.externals
        if of is None or not of.total:
            return {}
        parts = [f"{of.fine:,} fine", f"{len(of.broken):,} broken"]
        parts += [f"{len(of.unchecked):,} could not be checked"] if of.unchecked else []
        parts += [f"{number:,} not asked: {why}" for why, number in sorted(of.not_asked.items())]
        said = {"external URLs": f"{of.total:,}: {', '.join(parts)}"}
        if of.unchecked:
            reasons = sorted(Counter(link.reason for link in of.unchecked).items())
            said["could not be checked"] = ", ".join(f"{number:,} {reason}" for reason, number in reasons)
        return said


def _write(check: _Check, form: str) -> None:
    if form == "html":
        sys.stdout.writelines(html_page(_report(check)))
        for line in check.seeds.lines():
            click.echo(line, err=True)
        return
    if form == "text":
        _print(check.links())
        click.echo(f"{counted(check.broken, 'broken URL')}" if check.broken else "no broken URL")
    else:
        print_rows((link.values() for link in check.links()), _COLUMNS, form)
    for line in _told(check):
        click.echo(line, err=form != "text")


def _told(check: _Check) -> Iterator[str]:
    """Yield lines about what was not checked, and about all external URLs."""
    yield from check.seeds.lines()
    said = check.totals()
    if said:
        number, rest = said["external URLs"].split(":", 1)
        yield f"{number} external {'URL' if number == '1' else 'URLs'}:{rest}"
    if check.unchecked:
        number = counted(len(check.unchecked), "external URL")
        yield f"{number} could not be checked ({said['could not be checked']}): that is no sign that they work"


def _kind(link: BrokenLink) -> str:
    return f"{link.reason} {link.status}" if link.reason == "http-error" else link.reason


def _print(links: Iterable[BrokenLink]) -> None:
    for kind, some in groupby(links, _kind):
        click.echo(kind)
        for link in some:
            click.echo(f"  {printable(link.url)}" + (f" ({printable(link.detail)})" if link.detail else ""))
            for page in link.pages[:_SHOWN]:
                click.echo(f"    on {printable(page)}")
            if not link.pages:
                click.echo("    a seed" if link.url == link.seed else "    on a page that is not known")
            if len(link.pages) > _SHOWN:
                click.echo(f"    and {len(link.pages) - _SHOWN:,} more")


def _report(check: _Check) -> Report:
    tables = []
    for kind, some in groupby(check.links(), _kind):
        rows = [
            (link.url, link.detail, "\n".join(link.pages[:_SHOWN_IN_HTML]), len(link.pages))
            for link in islice(some, _MOST_ROWS)
        ]
        more = sum(1 for _ in some)
        cut = f", of which {_MOST_ROWS:,} are here; --format csv has all" if more else ""
        title = f"{kind}: {counted(len(rows) + more, 'URL')}{cut}"
        tables.append(Table(kind.replace(" ", "-"), title, ("url", "detail", "pages", "links"), rows))
    values = {"broken URLs": check.broken, **check.seeds.totals(), **check.totals()}
    sections = (Section("broken", "Broken links", values, tuple(tables)),)
    return Report(f"Broken links of {crawl_title(check.crawl.stored.name)}", check.crawl.database.now(), sections)
