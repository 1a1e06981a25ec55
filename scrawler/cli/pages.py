"""`scrawler pages`: what came of each URL of a party."""

from __future__ import annotations

from typing import Any

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.errors import InputError
from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow
from scrawler.settings import Settings
from scrawler.store.pages import Pages
from scrawler.store.seeds import Seeds
from scrawler.urls.normalise import seed_url
from scrawler.urls.steps import make_steps

_FOR_PEOPLE = ("depth", "result", "status", "length", "attempts", "url", "detail")
_ALL = (
    *("url", "depth", "result", "status", "content_type", "length", "digest", "attempts", "fetched_at", "elapsed_ms"),
    *("warc_file", "warc_offset", "warc_length", "revisit", "detail"),
    *("flags", "canonical"),
)


@click.command()
@click.option("--seed", required=True, type=FILLED, metavar="URL", help="The seed for which the pages were fetched.")
@format_options
@with_settings()
def pages(settings: Settings, seed: str, written: str | None) -> None:
    """List what came of a seed's URLs."""
    url, problem = seed_url(seed)
    if problem:
        raise InputError(f"--seed {seed!r}: {problem}")
    with crawl_database(settings) as database:
        if Seeds(database).get(url) is None:
            url = seed_url(seed, steps=make_steps(settings.normalise)).url  # as the import spells it
        if Seeds(database).get(url) is None:
            raise InputError(f"{url} is no seed of this crawl; `scrawler seeds` lists them")
        rows = (_row(page, canonical) for page, canonical in Pages(database).with_canonical(url))
        print_rows(rows, _ALL if written else _FOR_PEOPLE, written)


def _row(page: PageRow, canonical: str) -> dict[str, Any]:
    flags = [flag.name.lower().replace("_", "-") for flag in PageFlag(page.flags) if flag.name]
    return page._asdict() | {"digest": page.digest.hex(), "flags": " ".join(flags), "canonical": canonical}
