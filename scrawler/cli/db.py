"""`scrawler db`: make a database, bring it to this version's schema, show the schema."""

from __future__ import annotations

import click

from scrawler.api.bare import BareCrawl
from scrawler.cli.database import opened
from scrawler.cli.options import with_settings
from scrawler.settings import Settings
from scrawler.store.engines.engines import dialect_of
from scrawler.store.schema.migrations import schema_text
from scrawler.store.upkeep.upgrade import upgrade_database


@click.group()
def db() -> None:
    """Make, upgrade or describe the database."""


@db.command()
@with_settings("name", "scope")
def init(settings: Settings) -> None:
    """Make the database where there is none; one that is there stays as it is."""
    with opened(settings, BareCrawl, create=True) as crawl:
        stored = crawl.stored
        click.echo(f"{crawl.database.where} holds the crawl {stored.name!r} with scope {stored.scope}")


@db.command()
@with_settings()
def upgrade(settings: Settings) -> None:
    """Bring the database to the schema of this version."""
    applied = upgrade_database(settings.db)
    click.echo(f"migrations applied: {', '.join(map(str, applied))}" if applied else "the schema is up to date")


@db.command()
@click.option(
    "--dialect",
    type=click.Choice(["mysql", "postgresql", "sqlite"]),
    help="For which database. [default: that of --db]",
)
@with_settings()
def schema(settings: Settings, dialect: str | None) -> None:
    """Print the schema as it stands in sql/, for a DBA to read and load."""
    click.echo(schema_text(dialect or dialect_of(settings.db)), nl=False)
