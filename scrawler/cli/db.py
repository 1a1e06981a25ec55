"""`scrawler db`: make a database, bring it to this version's schema, show the schema."""

from __future__ import annotations

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.options import with_settings
from scrawler.settings import Settings
from scrawler.store.crawls import Crawls
from scrawler.store.migrations import schema_text
from scrawler.store.upgrade import upgrade_database


@click.group()
def db() -> None:
    """Make, upgrade or describe the database."""


@db.command()
@with_settings("name", "scope")
def init(settings: Settings) -> None:
    """Make the database where there is none; one that is there stays as it is."""
    with crawl_database(settings, create=True) as database:
        crawl = Crawls(database).open(settings.name, settings.scope)
        click.echo(f"{database.where} holds the crawl {crawl.name!r} with scope {crawl.scope}")


@db.command()
@with_settings()
def upgrade(settings: Settings) -> None:
    """Bring the database to the schema of this version."""
    applied = upgrade_database(settings.db)
    click.echo(f"migrations applied: {', '.join(map(str, applied))}" if applied else "the schema is up to date")


@db.command()
@click.option("--dialect", type=click.Choice(["mysql", "sqlite"]), help="For which database. [default: that of --db]")
@with_settings()
def schema(settings: Settings, dialect: str | None) -> None:
    """Print the schema as it stands in sql/, for a DBA to read and load."""
    click.echo(schema_text(dialect or ("sqlite" if settings.db.startswith("sqlite") else "mysql")), nl=False)
