"""`scrawler partition show`: who crawls which site; `set`: another way; `overlap`: what was fetched more than once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TextIO

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.control import SOON, crawl_control
from scrawler.cli.database import crawl_database, opened
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import format_options, print_pairs, print_rows
from scrawler.errors import SettingsError
from scrawler.features.cluster.partition.maps import owner_map, slots_of
from scrawler.features.cluster.store.overlap import Overlap
from scrawler.features.cluster.store.partitions import SlotTables
from scrawler.insight.sections import label
from scrawler.model.partitions import PartitionKind
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.seeds.json_text import json_line
from scrawler.settings import Settings
from scrawler.store.claims.control import Control
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database
from scrawler.store.sums.guests import guests
from scrawler.urls.normalise import normalise

_COLUMNS = ("machine", "agent", "capacity", "share", "slots", "sites")


@click.group()
def partition() -> None:
    """Show, or change, who crawls which site."""


@partition.command()
@format_options
@with_settings("partition")
def show(settings: Settings, written: str | None) -> None:
    """Show what part of all sites each machine owns now, and how many it holds.

    The way is the one that is set for all machines, else that of the settings here, else the one that the machine was
    started with that came last: others may have been started with others.
    """
    with crawl_database(settings) as database:
        kind = PartitionKind(Control(database).orders().settings.get("partition") or _unset(settings, database))
        rows = _shares(database, kind)
        version = SlotTables(database).version(kind) if slots_of(kind) else 0
    if written:
        print_rows(rows, _COLUMNS, written)
        return
    click.echo(f"partition: {kind.value}" + (f", version {version:,} of its table" if version else ""))
    if rows:
        shown = ({**row, "share": "any" if row["share"] is None else f"{row['share']:.1%}"} for row in rows)
        print_rows(shown, _COLUMNS if slots_of(kind) else [one for one in _COLUMNS if one != "slots"], None)
    else:
        click.echo("no machine runs")


def _unset(settings: Settings, database: Database) -> str:
    """Return the way where none is set for all machines."""
    here = settings.partition
    return here if here is not PartitionKind.INDEPENDENT else Crawls(database).started_with("partition") or here


@partition.command("set")
@click.argument("kind", type=click.Choice([one.value for one in PartitionKind if one is not PartitionKind.NONE]))
@with_settings()
def set_kind(settings: Settings, kind: str) -> None:
    """Divide sites in this way from now on, on all machines, over what they were started with.

    What a machine has in work that is another one's from now on goes back to the database, and from there to its owner.
    `scrawler set partition=` takes it back.
    """
    with opened(settings, BareCrawl) as crawl:
        scope = crawl.stored.scope
    if kind == PartitionKind.SUBSITE and scope is not Scope.HOST:
        raise SettingsError(f"partition subsite divides the hosts of a domain; the scope of the crawl is {scope.value}")
    with crawl_control(settings) as control:
        control.set({"partition": kind})
    click.echo(f"partition: {kind}; machines that run take it over {SOON}, later ones start with it")


@partition.command()
@click.argument("databases", metavar="DB...", nargs=-1, type=FILLED, required=True)
@click.option(
    "--expected",
    type=click.File("r"),
    help="A file of URLs, one a line: tells what share of them was found.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@with_settings(db=False)
def overlap(settings: Settings, databases: tuple[str, ...], expected: TextIO | None, as_json: bool) -> None:
    """Count what crawls with databases of their own (--partition none) have fetched more than once.

    One database counts as well: what guests of mode cross-over have fetched beside the owners. It tells the measures
    of Cho and Garcia-Molina: the overlap, (pages - different pages) / different pages; URLs sent a page; with
    --expected the coverage, the share of these URLs that was fetched; and how evenly machines have worked: what the
    one with the most pages, or bytes, has over the mean. A hash of each URL is held in memory.
    """
    found, by_guests = Overlap(), []
    for url in databases:
        with crawl_database(settings.model_copy(update={"db": url})) as database:
            found.add(database)
            by_guests.append(guests(database))
    told = {"pages": found.pages, "different": found.different, "overlap": round(found.share, 4)}
    told |= {"guest_pages": sum(one.pages for one in by_guests), "guest_overlap": sum(one.overlap for one in by_guests)}
    told |= {"sent": found.sent, "sent_a_page": round(found.sent_a_page, 4), "machines": found.machines}
    told |= {"busiest_pages": round(found.busiest_pages, 4), "busiest_bytes": round(found.busiest_bytes, 4)}
    if expected is not None:
        told["coverage"] = round(found.coverage(_hashes(expected)), 4)
    if as_json:
        click.echo(json_line({"databases": dict(zip(databases, found.of_each, strict=True)), **told}))
        return
    of_each = {url: f"{pages:,}" for url, pages in zip(databases, found.of_each, strict=True)}
    print_pairs("pages fetched", of_each)
    print_pairs("together", {label(name): f"{value:,}" for name, value in told.items()})


def _hashes(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield the hashes by which the URLs of a list are known."""
    for line in lines:
        if words := line.strip():
            yield url_hash(normalise(words).url)


def _shares(database: Database, kind: PartitionKind) -> list[dict[str, Any]]:
    machines = Machines(database)
    living = machines.living()
    views = {one.id: one for one in machines.machines()}
    table = SlotTables(database).read(kind).slots
    owners = owner_map(kind, living, table)
    shares = owners.shares()
    return [
        {
            "machine": views[one.id].name,
            "agent": one.identifier,
            "capacity": one.weight,
            "share": None if owners.is_open else round(shares.get(one.id, 0.0), 4),
            "slots": table.count(one.id),
            "sites": views[one.id].sites,
        }
        for one in living.machines
        if one.id in views
    ]
