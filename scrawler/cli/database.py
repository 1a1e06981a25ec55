"""How a command opens the crawl's database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import click

from scrawler.settings import Settings
from scrawler.store.engine import Database, Waiting, open_database


@contextmanager
def crawl_database(settings: Settings, *, create: bool = False) -> Iterator[Database]:
    """Open the database of the settings for one command; only with `create` is one made where there is none."""
    waiting = Waiting(give_up_after=settings.database_patience, say=partial(click.echo, err=True))
    database = open_database(settings.db, create=create, waiting=waiting)
    try:
        yield database
    finally:
        database.close()
