"""`scrawler plan`: when a crawl would end, and what bounds it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

import click

from scrawler.api.bare import BareCrawl
from scrawler.assembly.parts import product_token
from scrawler.cli.database import opened
from scrawler.cli.options import InGroups, Whole, with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.cli.tables import print_pairs, printable
from scrawler.errors import DatabaseUrlError, InputError
from scrawler.features.plan.inputs import Gatherer, Limits, own_rules
from scrawler.features.plan.plan import Alone, Plan, make_plan
from scrawler.features.plan.progress import Bound
from scrawler.features.plan.rules import CPU_PER_REQUEST, DATABASE_ROWS, plan_rules
from scrawler.features.plan.sizes import AssumedSizes
from scrawler.model.scope import Scope
from scrawler.model.sizes import SizedSite
from scrawler.model.terms import url_hash
from scrawler.seeds.files import open_input, read_as
from scrawler.seeds.formats import read_entries
from scrawler.seeds.importer import judged_batches
from scrawler.seeds.json_text import json_line
from scrawler.settings import SETTING_NAMES, Settings
from scrawler.store.reading.sizes import Sizes
from scrawler.units import counted, human_seconds, parse_seconds
from scrawler.urls.steps import make_steps

_profile = ("profile",) if "profile" in SETTING_NAMES else ()  # of the feature classic
_SETTINGS = (
    *("machines", "threads", "seeds_per_thread", "distribution", "delay", "per_site", "delay_factor", "delay_cap"),
    *("max_crawl_delay", "robots", "max_pages", "scope", *_profile, "downloader", "extractor"),
    *("name", "input_dir", "max_url_length", "normalise", "product_token", "user_agent"),
)
_BOUNDS = {
    Bound.PROCESSOR: "the processor, which has no time left,",
    Bound.DATABASE: "the database, which takes no more rows,",
    Bound.THREADS: "threads, for each downloads one page at a time,",
    Bound.PLACES: "places, for all threads hold as many seeds as they may,",
    Bound.POLITENESS: "politeness",
}
_SAME = 0.01  # a change of the time by a smaller share makes no difference


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = parse_seconds(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a time such as 0.5, 600ms or 2s") from error
    assert isinstance(seconds, int | float)
    return float(seconds)


def _some_seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    seconds = _seconds(context, parameter, value)
    if seconds == 0:
        raise click.BadParameter(f"{value!r} is not a time above 0")
    return seconds


@click.command("plan", cls=InGroups)
@click.argument("seeds_file", required=False)
@click.option("--from", "earlier", metavar="URL", help="Database of an earlier crawl, for sizes and response times.")
@click.option(
    "--pages-per-site",
    "sizes",
    metavar="N",
    help="Pages of sites that are not known, or pareto:N: on the average, few sites with very many. "
    "[default: as the sites of --from, else pareto:40]",
)
@click.option(
    "--response-time",
    "response",
    metavar="TIME",
    callback=_some_seconds,
    help="Of sites of which it is not known. [default: the median of those of --from, else 0.5s]",
)
@click.option(
    "--cpu-per-page",
    "cpu",
    metavar="TIME",
    callback=_seconds,
    help="Of one core. [default: as measured, "
    + ", ".join(f"{1000 * seconds:g}ms for {name}" for name, seconds in CPU_PER_REQUEST.items())
    + "]",
)
@click.option("--cores", type=click.IntRange(1, 10_000), help="For all machines. [default: those of this computer]")
@click.option(
    "--database-rows",
    type=Whole(1),
    default=int(DATABASE_ROWS),
    show_default=True,
    help="Rows a second that the database takes.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object; times in seconds.")
@with_settings(*_SETTINGS, db=False)
def plan(
    settings: Settings,
    seeds_file: str | None,
    earlier: str | None,
    sizes: str | None,
    response: float | None,
    cpu: float | None,
    cores: int | None,
    database_rows: int,
    as_json: bool,
) -> None:
    """Predict when a crawl of SEEDS_FILE ends, and what bounds it.

    Without SEEDS_FILE the seeds are those of the database that --from names. Sizes and response times come from there;
    what it does not know is assumed, and told. Nothing is asked of any site, and nothing is written.
    """
    if seeds_file is None and earlier is None:
        raise click.UsageError("give a file of seeds, or --from DATABASE, or both")
    assumed = None if sizes is None else AssumedSizes.parse(sizes)
    limits = Limits(product_token(settings), settings.max_crawl_delay, settings.max_pages)
    rules = plan_rules(
        settings, cores=cores or len(os.sched_getaffinity(0)), cpu_per_request=cpu, database_rows=database_rows
    )
    with ProgressLine() as line:
        scope, known = (settings.scope, []) if earlier is None else _known(settings, earlier)
        gatherer = Gatherer(known, limits, assumed, response, own_rules(settings, limits.product_token))
        inputs = gatherer.all_known() if seeds_file is None else gatherer.sites(_wanted(settings, seeds_file, scope))
        if not inputs.sites:
            raise InputError(f"{seeds_file or earlier}: no seeds in it")
        made = make_plan(inputs, rules, line.show)
    if as_json:
        click.echo(json_line(made.as_json()))
    else:
        print_pairs(
            f"{counted(made.seeds, 'seed')} of {counted(made.sites, 'site')}: {_with_range(made)}", dict(_lines(made))
        )


def _known(settings: Settings, url: str) -> tuple[Scope, list[SizedSite]]:
    try:
        with opened(settings.model_copy(update={"db": url}), BareCrawl) as earlier:
            return earlier.stored.scope, list(Sizes(earlier.database).sites())
    except DatabaseUrlError as error:
        raise DatabaseUrlError(f"--from: {error}") from error


def _wanted(settings: Settings, file: str, scope: Scope) -> Mapping[str, int]:
    """Count the seeds of a file by site, in the order in which machines claim sites: by batches, then by hash."""
    found: Counter[str] = Counter()
    urls: set[bytes] = set()
    invalid: list[int] = []  # numbers of invalid lines
    with open_input(file, settings.input_dir) as stream:
        judged = judged_batches(
            read_entries(stream, read_as(file), file),
            scope,
            settings.max_url_length,
            make_steps(settings.normalise),
            lambda entry: invalid.append(entry.line),
        )
        for batch, _ in judged:
            found.update(dict.fromkeys(sorted({one.site_key for one in batch}, key=url_hash), 0))
            for one in batch:
                before = len(urls)
                urls.add(url_hash(one.url))
                found[one.site_key] += len(urls) - before
    if invalid:
        lines = counted(len(invalid), "line is", "lines are")
        click.echo(f"scrawler: warning: {file}: {lines} invalid, and left out", err=True)
    return found


def _with_range(made: Plan) -> str:
    if made.high - made.low <= _SAME * made.seconds:
        return human_seconds(made.seconds)
    low, high = human_seconds(made.low), human_seconds(made.high)
    return f"{human_seconds(made.seconds)} ({low} to {high} with half or twice the assumed sizes)"


def _lines(made: Plan) -> Iterator[tuple[str, str]]:
    rate = made.pages / made.seconds if made.seconds else 0.0
    yield "pages", f"{made.pages:,} ({rate:,.1f}/s), with {counted(made.requests, 'request')}"
    bounds = [f"{_BOUNDS[bound]} {share:.0%} of the time" for bound, share in made.bounds.items() if share >= _SAME]
    yield "bound by", "; ".join(bounds) or _BOUNDS[made.bound]
    if 0 < made.tail_at < made.seconds:
        yield (
            "the end",
            f"from {human_seconds(made.tail_at)} on only politeness holds the last {counted(made.tail_seeds, 'seed')}",
        )
    first, *others = made.largest
    more = ", as the whole crawl: neither threads nor machines shorten it" if made.alone else ""
    yield (
        "longest alone",
        f"{_alone(first)}, {counted(first.requests, 'request')}, one each {human_seconds(first.between)}{more}",
    )
    if others:
        yield "then", "; ".join(map(_alone, others))
    yield "seeds done", ", ".join(f"{share:.0%} after {human_seconds(at)}" for share, at in made.done.items())
    yield (
        "places in use",
        f"{' '.join(f'{held:,}' for held in made.held)} of {made.places:,}, at each tenth of the time",
    )
    yield "with", "; ".join(f"{one.what}: {_change_text(one.seconds, made)}" for one in made.changes)
    if made.assumed:
        yield "assumed", "; ".join(made.assumed)


def _alone(one: Alone) -> str:
    return f"{printable(one.site)} {human_seconds(one.seconds)}"


def _change_text(seconds: float, made: Plan) -> str:
    return "no change" if abs(seconds - made.seconds) <= _SAME * made.seconds else human_seconds(seconds)
