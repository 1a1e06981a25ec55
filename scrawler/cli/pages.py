"""`scrawler pages`: what came of each URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.model.results import PageFlag, Result
from scrawler.settings import Settings
from scrawler.store.reading.page_lists import SORTED_BY, PageFilter, PageLists, PageView

_FOR_PEOPLE = ("depth", "result", "status", "length", "attempts", "url", "detail")
_ALL = (
    *("url", "depth", "result", "status", "content_type", "length", "digest", "attempts", "fetched_at", "elapsed_ms"),
    *("warc_file", "warc_offset", "warc_length", "revisit", "detail"),
    *("flags", "canonical", "seed", "referrer"),
)
_STATUS = re.compile(r"(\d{3})(?:-(\d{3}))?|(\d)xx", re.ASCII)
_TYPE = re.compile(r"[^\s/*]+/(?:\*|[^\s/*]*)")
_RESULTS = tuple(result.value for result in Result)


def page_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --result, --status and --type; each may be repeated, or name several, with commas."""
    options = (
        click.option(
            "--result",
            "results",
            multiple=True,
            metavar="RESULT,...",
            callback=_read_results,
            help="Only these results.",
        ),
        click.option(
            "--status",
            "statuses",
            multiple=True,
            metavar="STATUS,...",
            callback=_read_statuses,
            help="Only answers with this HTTP status: 404, 4xx, 500-503; 0 is none.",
        ),
        click.option(
            "--type",
            "types",
            multiple=True,
            metavar="TYPE,...",
            callback=_read_types,
            help="Only these media types: text/html, image/*.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _words(values: Iterable[str]) -> list[str]:
    return [word.strip().lower() for value in values for word in value.split(",")]


def _read_results(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    words = _words(values)
    for word in words:
        if word not in _RESULTS:
            raise click.BadParameter(f"{word!r} is no result, which are {', '.join(_RESULTS)}", context, parameter)
    return tuple(words)


def _read_statuses(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[int, int], ...]:
    return tuple(_range(word, context, parameter) for word in _words(values))


def _range(word: str, context: click.Context, parameter: click.Parameter) -> tuple[int, int]:
    match = _STATUS.fullmatch(word)
    if word == "0":
        return 0, 0
    if match is None:
        raise click.BadParameter(f"{word!r} is no HTTP status, as 404, 4xx or 500-503 are", context, parameter)
    low, high, hundreds = match.groups()
    if hundreds:
        return 100 * int(hundreds), 100 * int(hundreds) + 99
    if high and int(high) < int(low):
        raise click.BadParameter(f"{word!r} ends below its begin", context, parameter)
    return int(low), int(high or low)


def _read_types(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    words = _words(values)
    for word in words:
        if not _TYPE.fullmatch(word):
            raise click.BadParameter(f"{word!r} is no media type, as text/html or image/* are", context, parameter)
    return tuple(word.removesuffix("*") for word in words)


def _read_sort(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and value.removeprefix("-") not in SORTED_BY:
        raise click.BadParameter(f"{value!r} is none of {', '.join(SORTED_BY)}", context, parameter)
    return value


@click.command()
@click.option("--seed", type=FILLED, metavar="URL", help="Only the pages that were fetched for this seed.")
@page_filters
@click.option(
    "--sort",
    metavar="[-]COLUMN",
    callback=_read_sort,
    help=f"In this order, with - the other way round: {', '.join(SORTED_BY)}. [default: as they were committed]",
)
@format_options
@with_settings()
def pages(
    settings: Settings,
    seed: str | None,
    results: tuple[str, ...],
    statuses: tuple[tuple[int, int], ...],
    types: tuple[str, ...],
    sort: str | None,
    written: str | None,
) -> None:
    """List what came of URLs: of all, or of those that are asked for."""
    order = sort or ""
    with opened(settings, BareCrawl) as crawl:
        wanted = PageFilter(
            seed_id=None if seed is None else crawl.seed(seed, "--seed").seed.id,
            results=results,
            statuses=statuses,
            types=types,
            sort=order.removeprefix("-"),
            descending=order.startswith("-"),
        )
        rows = map(page_values, PageLists(crawl.database).all(wanted))
        print_rows(rows, _ALL if written else _FOR_PEOPLE, written)


def page_values(view: PageView) -> dict[str, Any]:
    """Return what is listed of a page, by name."""
    page = view.page
    flags = [flag.name.lower().replace("_", "-") for flag in PageFlag(page.flags) if flag.name]
    urls = {"seed": view.seed, "referrer": view.referrer, "canonical": view.canonical}
    return page._asdict() | {"digest": page.digest.hex(), "flags": " ".join(flags)} | urls
