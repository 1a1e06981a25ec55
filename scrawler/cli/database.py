"""How a command opens the crawl of its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.keeping import config_file
from scrawler.cli.lines import one_line
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database

AnyCrawl = TypeVar("AnyCrawl", bound=BareCrawl)


def _shown(line: str) -> None:
    click.echo(one_line(line), err=True)


@contextmanager
def opened(
    settings: Settings, kind: type[AnyCrawl], *, create: bool = False, say: Callable[[str], None] = _shown
) -> Iterator[AnyCrawl]:
    """Open the crawl for one command; only with `create` is one made where there is none.

    Its `kind` is the one that can do what the command wants, and no more: a `Crawl`, which can do all, loads all.
    """
    with kind(settings=settings, create=create, config=config_file(), say=say) as crawl:
        yield crawl


@contextmanager
def crawl_database(settings: Settings, *, create: bool = False) -> Iterator[Database]:
    """Open the database of the settings, for a command that wants no more of its crawl."""
    with opened(settings, BareCrawl, create=create) as crawl:
        yield crawl.database
