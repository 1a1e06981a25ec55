"""`scrawler seeds choose|skip|unskip|remove|promote`: which seeds next."""

from __future__ import annotations

from typing import Any

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, FileName, Number, Whole, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.dates import iso_date
from scrawler.errors import ScrawlerError
from scrawler.features.choose import library
from scrawler.features.choose.choosing import Chosen
from scrawler.features.choose.library import BY
from scrawler.features.choose.picking import Picked, Picking, Promotion
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.seeds.files import written_as
from scrawler.seeds.promoter import ANY_HOPS
from scrawler.seeds.table_files import Column, Kind, open_table
from scrawler.settings import Settings
from scrawler.store.claims.seeds import Seeds
from scrawler.units import counted

_CHOSEN = ("rank", "url", "domain", "score", "part", "whole")
_NAMES = {  # of what a score is made of
    "yield": ("new_pages", "requests"),
    "change": ("changes", "visits"),
    "rank": ("linking_seeds", "links"),
    "unseen": ("linking_seeds", "links"),
}
_PROMOTION = ("batch", "promoted_at", "seeds", "begun", "undone_at", "what")
_NAMED = click.argument("given", metavar="URL|FILE...", nargs=-1, type=FILLED)


@click.command("choose")
@click.option("--by", type=click.Choice(BY), default="yield", show_default=True, help="What makes a seed a good one.")
@click.option("--top", type=Whole(1), required=True, metavar="N", help="How many seeds at most.")
@click.option("--per-domain", type=Whole(1), metavar="N", help="Seeds of a registrable domain at most. [default: any]")
@click.option(
    "--at-least",
    type=Number(0),
    default=0.0,
    show_default=True,
    metavar="SCORE",
    help="Leave out those with a lower score.",
)
@click.option(
    "--write", type=FileName(), metavar="FILE", help="Write them to a seed file: .txt, .csv, .jsonl, .parquet."
)
@click.option(
    "--next",
    "take_next",
    is_flag=True,
    help="Let the next run crawl them: seeds begin another round, candidate seeds become seeds (a batch).",
)
@format_options
@with_settings("boundary", "rank")
def choose_command(
    settings: Settings,
    by: str,
    top: int,
    per_domain: int | None,
    at_least: float,
    write: str | None,
    take_next: bool,
    written: str | None,
) -> None:
    """Choose the seeds that are worth another round, or candidate seeds that are worth a first one.

    Scores, the best first: `yield` is the share of requests that brought a new page, `change` the share of visits after
    the first that found a change, both from 0 to 1 and as the least that is likely (Wilson, 95 %), so that few requests
    count for little; `rank` the number that --rank FILE gives the seed's URL or, without a file, how many other seeds'
    parties link to it; `unseen` chooses candidate seeds, by how many seeds' parties link to them. Seeds that are not
    done, or skipped, are left out.
    """
    rank = RevisitSettings.of(settings).rank
    with opened(settings, BareCrawl) as crawl:
        found = library.choose(crawl, by, top, per_domain=per_domain, at_least=at_least, rank=rank)
        if write:
            _write(crawl, write, found, _NAMES[by])
        if take_next and found:
            number = library.take_next(crawl, found)
            click.echo(f"{counted(number, 'seed is', 'seeds are')} for the next run: `scrawler run`", err=True)
    if written or not (write or take_next):
        part, whole = _NAMES[by]
        columns = *_CHOSEN[:4], *(() if by == "rank" and rank else (part, whole))
        print_rows((_row(one, part, whole) for one in found), columns, written)


def _row(one: Chosen, part: str, whole: str) -> dict[str, Any]:
    row = {**one._asdict(), part: one.part, whole: one.whole}
    return row | {"score": round(one.score, 4)}


def _write(crawl: BareCrawl, name: str, found: list[Chosen], parts: tuple[str, str]) -> None:
    from scrawler.api.keeping import keep_clear  # it is much to load

    keep_clear(crawl.database, crawl.settings, name)
    numbers = (Column("rank", Kind.NUMBER), Column("score", Kind.REAL), *(Column(part, Kind.NUMBER) for part in parts))
    with open_table(name, written_as(name), (Column("url"), *numbers)) as out:
        out.write([(one.url, one.rank, one.score, one.part, one.whole) for one in found])
    click.echo(f"wrote {counted(len(found), 'seed')} to {name}", err=True)


@click.command("skip")
@_NAMED
@format_options
@with_settings("input_dir")
def skip_command(settings: Settings, given: tuple[str, ...], written: str | None) -> None:
    """Let no machine, round or retry take up these seeds, of which some may be in files; without any, list them.

    One that was not done ends as `skipped`. `unskip` takes it back, and then it goes on where it was.
    """
    with opened(settings, BareCrawl) as crawl:
        if not given:
            views = Seeds(crawl.database).by_ids(Picking(crawl.database).skipped())
            rows = ({"url": view.seed.url, **view.standing} for view in views.values())
            print_rows(rows, ("url", "state", "end_reason"), written)
            return
        done = library.skip(crawl, given)
    _tell(done, "skipped", "skipped already")


@click.command("unskip")
@click.argument("given", metavar="URL|FILE...", nargs=-1, required=True, type=FILLED)
@with_settings("input_dir")
def unskip_command(settings: Settings, given: tuple[str, ...]) -> None:
    """Take a skip back: seeds that were not done go on where they were, with the next run."""
    with opened(settings, BareCrawl) as crawl:
        done = library.unskip(crawl, given)
    _tell(done, "not skipped any more", "not skipped")


@click.command("remove")
@click.argument("given", metavar="URL|FILE...", nargs=-1, required=True, type=FILLED)
@click.option("--with-pages", is_flag=True, help="Remove those as well for which pages were fetched.")
@with_settings("input_dir")
def remove_command(settings: Settings, given: tuple[str, ...], with_pages: bool) -> None:
    """Remove seeds of the crawl, and all that is known for them.

    Records of their pages stay in the archive, but no row tells of them any more. A seed stays whose list other seeds
    of its site need; skip it.
    """
    with opened(settings, BareCrawl) as crawl:
        done = library.remove(crawl, given, with_pages)
    why = "other seeds of their sites need what they have listed" if with_pages else "have pages: --with-pages, or skip"
    _tell(done, "removed", "were none any more", why)


@click.command("promote")
@click.option(
    "--within",
    type=Whole(1),
    default=ANY_HOPS,
    help="Only those at most this many sites away. [default: however far]",
)
@click.option("--like", metavar="PATTERN", help="Only URLs like this SQL pattern: % is any text, _ any character.")
@click.option("--min-count", type=Whole(1), default=1, show_default=True, help="Only those found at least this often.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say how many there would be.")
@click.option(
    "--undo", type=click.IntRange(1, 2**31 - 1), metavar="BATCH", help="Take a promotion back, but for begun seeds."
)
@click.option("--batches", is_flag=True, help="List the promotions there were.")
@format_options
@with_settings("boundary")
def promote_command(
    settings: Settings,
    within: int,
    like: str | None,
    min_count: int,
    dry_run: bool,
    undo: int | None,
    batches: bool,
    written: str | None,
) -> None:
    """Make seeds of candidate seeds that are inside the boundary; the next run crawls them.

    Each promotion has a number, its batch: --undo makes candidates of its seeds again, but for those that a machine has
    taken up meanwhile; these stay.
    """
    if batches + dry_run + (undo is not None) > 1:
        raise click.UsageError("--batches, --dry-run and --undo are different things: give one of them")
    with opened(settings, BareCrawl) as crawl:
        if batches:
            print_rows((_promotion(one, written) for one in library.promotions(crawl)), _PROMOTION, written)
            return
        if undo is not None:
            done = library.undo_promotion(crawl, undo)
            _tell(done, "candidates again", "candidates already", "were begun: `seeds skip`, or `seeds remove`")
            return
        promoted, batch = library.promote(crawl, within=within, like=like, min_count=min_count, dry_run=dry_run)
    if dry_run:
        click.echo(f"{counted(promoted.new, 'candidate seed')} would be promoted; nothing was changed")
    else:
        now = counted(promoted.new, "candidate seed is a seed", "candidate seeds are seeds")
        click.echo(f"{now} now, as batch {batch}" if batch else f"{now} now")
    if promoted.outside:
        stay = counted(promoted.outside, "other stays", "others stay")
        click.echo(f"{stay} outside the boundary ({settings.boundary})")


def _promotion(one: Promotion, written: str | None) -> dict[str, Any]:
    """Return a promotion as a row, for people with its times and filters in words."""
    filters = {name: value for name, value in one.what.items() if value is not None}
    row = one._asdict() | {"what": filters}
    if written is None:
        row["promoted_at"] = iso_date(one.promoted_at)
        row["undone_at"] = "" if one.undone_at is None else iso_date(one.undone_at)
    if written != "json":
        row["what"] = ", ".join(f"{name} {value}" for name, value in filters.items())
    return row


def _tell(done: Picked, what: str, already: str, kept: str = "") -> None:
    """Say what became of seeds. Raises ScrawlerError where some were left."""
    words = [f"{counted(done.done, 'seed')} {what}"]
    if done.already:
        words.append(f"{done.already:,} {already}")
    click.echo(", ".join(words))
    left = []
    if done.in_work:
        left.append(
            f"{counted(done.in_work, 'seed')} left: a machine has the site in work; stop it, or try again later"
        )
    if done.kept:
        left.append(f"{counted(done.kept, 'seed')} left: {kept}")
    if left:
        raise ScrawlerError("; ".join(left))
