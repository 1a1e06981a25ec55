"""All tables of the schema: the crawler's, and those that its features declare in their rooms."""

from __future__ import annotations

from importlib import import_module

from sqlalchemy import Table

from scrawler.feature import features
from scrawler.store.schema import tables as of_the_crawler


def all_tables() -> list[Table]:
    """Return the tables in the order of sql/: the crawler's come first, then those of each feature that is there."""
    modules = [of_the_crawler, *(import_module(feature.tables) for feature in features() if feature.tables)]
    return [one for module in modules for one in vars(module).values() if isinstance(one, Table)]
