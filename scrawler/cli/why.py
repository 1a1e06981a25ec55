"""`scrawler why`: what the crawl knows of one URL."""

from __future__ import annotations

import click

from scrawler.api.opened import OpenedCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import FILLED, with_settings
from scrawler.cli.tables import with_dates
from scrawler.seeds.json_text import json_line
from scrawler.settings import Settings, of_archive


@click.command("why")
@click.argument("url", type=FILLED)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@with_settings(*of_archive())
def why_command(settings: Settings, url: str, as_json: bool) -> None:
    """Say why URL was fetched or not.

    Any URL has an answer: what came of it, at which place of which seed's list it waits, which limit, robots.txt line
    or rule kept it out, which seeds found it as a candidate, or that no crawled page links to it. It is read from the
    database; no machine needs to run.
    """
    with opened(settings, OpenedCrawl) as crawl:
        answer = crawl.why(url)
    if as_json:
        click.echo(json_line(with_dates(answer.as_json())))
    else:
        click.echo(str(answer))
