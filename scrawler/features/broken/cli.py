"""`scrawler broken`: links that lead nowhere, and the pages on which they stand."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.losses import unread_error
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import print_rows, printable
from scrawler.features.broken.checked import SeedsChecked
from scrawler.features.broken.links import (
    BrokenLink,
    Unread,
    Wanted,
    add_pages,
    broken_fragments,
    broken_links,
    mistaken_links,
    note_references,
)
from scrawler.features.broken.references import PageReferences, References, in_words
from scrawler.features.report.html import html_page
from scrawler.insight.sections import Report, Section, Table
from scrawler.settings import Settings, crawl_title, of_archive
from scrawler.units import counted

if TYPE_CHECKING:
    from scrawler.features.broken.external import Checked

_COLUMNS = ("url", "reason", "status", "detail", "seed", "depth", "referrer", "pages")
_FORMS = ("text", "csv", "json", "html")
_SHOWN = 20  # pages that text names of those that lead to one URL
_SHOWN_IN_HTML = 10  # the same on a page
_MOST_ROWS = 1_000  # URLs of one kind on a page, which a browser has to lay out
_FOUND_ANY = 1  # exit code
# What the crawl that asks may do is the user's to say, whatever the database has of the last run.
_ASKING = ("proxy", "netrc", "cookie_file", "ca_file", "insecure", "allow_private", "allow_addresses", "resolve")
_FILE, _EXTERNAL = "own file", "external URL"  # what is asked for
_WHAT_TO_DO = {"private-address": "private-address (with --allow-private it is)"}
_UNCHECKED = "unchecked"  # the reason that is told of what could not be checked


@click.command()
@click.option("--seed", type=FILLED, metavar="URL", help="Only what was asked for for this seed.")
@click.option("--fragments", is_flag=True, help="Check also that pages have the places (#...) to which links lead.")
@click.option("--check-files", is_flag=True, help="Ask for files, images, styles and scripts of the site as well.")
@click.option("--external", is_flag=True, help="Ask for each external URL once as well, within robots.txt.")
@click.option("--strict", is_flag=True, help="Exit code 1 also where something was not looked at.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS, case_sensitive=False),
    default="text",
    show_default=True,
    help="How to write them.",
)
@with_settings(*of_archive(), *_ASKING)
def broken(
    settings: Settings,
    seed: str | None,
    fragments: bool,
    check_files: bool,
    external: bool,
    strict: bool,
    form: str,
) -> None:
    """List the URLs that failed, by reason, with the page that linked to each first.

    Where the crawl kept out-links (`run --outlinks`), all pages that lead to each are told. What robots.txt forbids,
    and what the crawl itself refuses, is not broken; what is no URL, or has a mistyped scheme, is. A crawl of pages
    asks for no files, images, styles and scripts: how many there are is told in a line. With --check-files those of the
    site are asked for, with --external what other sites have, by a crawl of its own that follows no link, with the
    settings of the last run; of each answer the head alone is read. Exit code 1 if anything is broken, or could not be
    checked, as an external URL, or a seed whose site was not crawled, and with --strict if anything was not looked at;
    0 if nothing is; 7 if --fragments met records that are gone.
    """
    if (external or check_files) and seed:
        flag = "--external" if external else "--check-files"
        raise click.UsageError(f"{flag} asks for the links of all seeds: leave out --seed")
    with opened(settings, OpenedCrawl) as crawl, ExitStack() as closed:
        one = None if seed is None else crawl.seed(seed, "--seed").seed
        ends = crawl.status().seeds if one is None else {one.state: {one.end_reason: 1}}
        check = _Check(
            crawl,
            one.id if one else None,
            SeedsChecked.of(ends),
            closed.enter_context(closing(References())),
            closed.enter_context(closing(Wanted())) if fragments else None,
        )
        check.read()
        if check_files or external:
            check.ask(check_files, external)
        check.count_unseen(check_files, external)
        _write(check, form)
    if fragments and check.unread.records:
        raise unread_error(check.unread.records)
    if check.broken or check.unchecked or check.seeds.unchecked or (strict and check.unseen):
        raise click.exceptions.Exit(_FOUND_ANY)


@dataclass(slots=True)
class _Check:
    """What is checked, and, once all of `links` is read, how much was found."""

    crawl: OpenedCrawl
    seed_id: int | None
    seeds: SeedsChecked
    references: References
    wanted: Wanted | None  # places in pages; None: they are not looked for
    asked: dict[str, Checked] = field(default_factory=dict)  # what was asked for now, by its name
    unread: Unread = field(default_factory=Unread)
    broken: int = 0
    unseen: str = ""  # what was not looked at, in words

    @property
    def unchecked(self) -> list[BrokenLink]:
        """The URLs that could not be checked."""
        return [link for one in self.asked.values() for link in one.unchecked]

    def read(self) -> None:
        """Read what the pages of the crawl refer to."""
        crawl = self.crawl
        pages = PageReferences(crawl.last_settings(), crawl.stored.scope, self.references)
        with crawl.reader() as reader:
            note_references(crawl.database, reader, pages, self.unread, self.seed_id, self.wanted)
        self.references.drop_asked(crawl.database)

    def ask(self, files: bool, external: bool) -> None:
        """Ask for what the crawl did not ask for."""
        from scrawler.features.broken.external import (  # a machine and all of its parts: used here alone
            Wish,
            check_elsewhere,
        )

        found = check_elsewhere(self.crawl, Wish(self.references, files, external, self.wanted))
        if found.files is not None:
            self.asked[_FILE] = found.files
        if found.external is not None:
            self.asked[_EXTERNAL] = found.external

    def count_unseen(self, files: bool, external: bool) -> None:
        """Put in words what nobody has looked at, and by which option that is done."""
        parts = []
        numbers = self.references.numbers(inside=True)
        if numbers and not files:
            parts.append(f"{in_words(numbers)} of the site (--check-files)")
        numbers = self.references.numbers(inside=False)
        if numbers and not external:
            parts.append(f"{in_words(numbers)} of other sites (--external)")
        if self.wanted is not None and not external:
            pages = len(self.wanted.elsewhere(self.crawl.database))
            parts += [f"places in {counted(pages, 'page')} of other sites (--external)"] if pages else []
        if self.unread.records:
            parts.append(f"{counted(self.unread.records, 'page')} whose records are gone")
        self.unseen = ", ".join(parts)

    def links(self) -> Iterator[BrokenLink]:
        """Yield what is broken, then what could not be checked, with all pages that are known to lead there."""
        database = self.crawl.database
        with self.crawl.reader() as reader:
            links = broken_links(database, self.seed_id)
            broken = sorted((link for one in self.asked.values() for link in one.broken), key=_kind)
            if self.crawl.keeps_outlinks:
                whole = [*links, *broken]
                add_pages(database, reader, [*whole, *self.unchecked], reader.prefixes)
                links, broken = iter(whole), []
            yield from self._counted(links)
            yield from self._counted(iter(broken))
            yield from self._counted(mistaken_links(self.references))
            if self.wanted is not None:
                yield from self._counted(broken_fragments(database, reader, self.wanted, self.seed_id))
        yield from (
            replace(link, reason=_UNCHECKED, detail=f"{link.reason}: {link.detail}" if link.detail else link.reason)
            for link in self.unchecked
        )

    def _counted(self, links: Iterator[BrokenLink]) -> Iterator[BrokenLink]:
        for link in links:
            self.broken += 1
            yield link

    def totals(self) -> dict[str, str]:
        """Return what is to be said of all URLs that were asked for, by name; nothing where none was."""
        said = {f"{name}s": f"{of.total:,}: {_came_to(of)}" for name, of in self.asked.items() if of.total}
        if self.unchecked:
            reasons = sorted(Counter(link.reason for link in self.unchecked).items())
            said["could not be checked"] = ", ".join(f"{number:,} {reason}" for reason, number in reasons)
        if self.unseen:
            said["not looked at"] = self.unseen
        return said


def _came_to(of: Checked) -> str:
    parts = [f"{of.fine:,} fine", f"{len(of.broken) - of.places:,} broken"]
    parts += [f"{counted(of.places, 'place')} missing"] if of.places else []
    parts += [f"{len(of.unchecked):,} could not be checked"] if of.unchecked else []
    parts += [f"{number:,} not asked: {_WHAT_TO_DO.get(why, why)}" for why, number in sorted(of.not_asked.items())]
    return ", ".join(parts)


def _write(check: _Check, form: str) -> None:
    if form == "html":
        sys.stdout.writelines(html_page(_report(check)))
        for line in check.seeds.lines():
            click.echo(line, err=True)
        if check.unseen:
            click.echo(f"not looked at: {check.unseen}", err=True)
        return
    if form == "text":
        _print(check.links())
        click.echo(f"{counted(check.broken, 'broken URL')}" if check.broken else "no broken URL")
    else:
        print_rows((link.values() for link in check.links()), _COLUMNS, form)
    for line in _told(check):
        click.echo(line, err=form != "text")


def _told(check: _Check) -> Iterator[str]:
    """Yield lines about what was not checked, and about all URLs that were asked for."""
    yield from check.seeds.lines()
    for name, of in check.asked.items():
        if of.total:
            yield f"{counted(of.total, name)}: {_came_to(of)}"
    if check.unchecked:
        name = _EXTERNAL if _FILE not in check.asked else "URL"
        reasons = check.totals()["could not be checked"]
        yield f"{counted(len(check.unchecked), name)} could not be checked ({reasons}): that is no sign that they work"
    if check.unseen:
        yield f"not looked at: {check.unseen}"


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
