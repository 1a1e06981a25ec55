"""The room: a table, a step that fills it, a command that reads it, and a line of `scrawler why`."""

import re

import click
from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table, func, select
from sqlalchemy.dialects.mysql import VARBINARY
from sqlalchemy.schema import CreateTable

from scrawler.cli.database import crawl_database
from scrawler.cli.options import with_settings
from scrawler.insight.answer import Fact
from scrawler.model.row_kinds import RowKind
from scrawler.store.upkeep.features import has_rows_of

PAGES = Table(
    "languages_page",
    MetaData(),
    Column("seed_id", BigInteger, primary_key=True, autoincrement=False),
    Column("url_hash", LargeBinary().with_variant(VARBINARY(16), "mysql"), primary_key=True),
    Column("language", String(35), nullable=False),
)
ROWS = RowKind("scrawler_languages_room:PAGES", ("seed_id", "url_hash", "language"), key=2)
LANG = re.compile(rb"""<html\b[^>]*?\slang\s*=\s*["']?([A-Za-z0-9-]{1,35})""", re.IGNORECASE)


class Found:
    """What a party has found since its last checkpoint."""

    def __init__(self):
        self.rows = ()

    def take_rows(self, into):
        if self.rows:
            into[ROWS], self.rows = self.rows, ()

    def owns(self, url):
        return False

    @property
    def weight(self):
        return len(self.rows)


class LanguageStep:
    wants = frozenset()

    def party_state(self, site, party):
        return Found()

    def read(self, flight, response, page):
        said = LANG.search(page.links.page[:4096]) if page.links is not None else None
        page.found[self.at] = said[1].decode().lower() if said is not None else ""

    def finish(self, flight, row, response, page):
        if page is not None and page.found and page.found[self.at]:
            flight.party.state_of(self.at).rows += ((row.seed_id, row.url_hash, page.found[self.at]),)
        return row


def build(building):
    building.steps.append(LanguageStep())


def upgrade(connection, version):
    connection.execute(CreateTable(PAGES, if_not_exists=True))


def facts(database, hashes):
    if has_rows_of(database, "languages"):
        for row in database.rows(select(PAGES.c.language).where(PAGES.c.url_hash.in_(hashes)).limit(1)):
            yield Fact("language", (f"it says that it is in {row.language}",), {"language": row.language})


@click.command()
@with_settings()
def languages(settings):
    """Count the pages of each language."""
    pages = func.count().label("pages")
    query = select(PAGES.c.language, pages).group_by(PAGES.c.language).order_by(pages.desc(), PAGES.c.language)
    with crawl_database(settings) as database:
        for row in database.rows(query) if has_rows_of(database, "languages") else ():
            click.echo(f"{row.pages}\t{row.language}")
