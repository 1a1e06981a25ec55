"""Rows that visits again add to what is committed: their kinds."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.row_kinds import RowKind
from scrawler.model.terms import Millis
from scrawler.model.visits import UrlState


class SiteRates(NamedTuple):
    """What visits have shown of a site's rates of change: `site.rates`."""

    site_id: int
    rates: bytes


class CellRow(NamedTuple):
    """How many pages more a cell of `revisit_demand` has, of all sites, and of this one if it has its own budget."""

    site_id: int
    cell: int
    pages: int
    own_budget: bool


class UrlChange(NamedTuple):
    """A row of the table `url_change`."""

    at: Millis
    seed_id: int
    url_hash: bytes
    url: str
    kind: str  # the value of a ChangeKind
    visit: int
    detail: str  # where it has moved
    distance: int = -1  # of 64 bits, by which the simhashes of old and new text differ; -1: not known


class PublishedRow(NamedTuple):
    """A URL as a ResourceSync list of its server names it."""

    seed_id: int
    url_hash: bytes
    changed_at: Millis  # 0 where the list does not say it
    gone: int  # 1: the last change was its deletion
    source: str  # URL of the list


class PublisherRow(NamedTuple):
    """What the change lists of a seed's site are worth."""

    seed_id: int
    complete_since: Millis  # they have told of all changes since then; 0: of none
    read_at: Millis  # when the last of them was read
    hits: int  # visits that found of a URL what they say
    misses: int


def _added(before: CellRow, more: CellRow) -> CellRow:
    return more._replace(pages=before.pages + more.pages)


def _newest(before: PublishedRow, more: PublishedRow) -> PublishedRow:
    return more if before.changed_at <= more.changed_at else before


URL_STATE = RowKind("scrawler.store.schema.tables:url_state", UrlState._fields, key=2)
URL_CHANGE = RowKind("scrawler.features.revisit.store.tables:url_change", UrlChange._fields, key=0)
SITE_RATES = RowKind("scrawler.store.schema.tables:site", SiteRates._fields, key=1)
CELLS = RowKind("scrawler.features.revisit.store.tables:revisit_demand", CellRow._fields, key=2, of_two=_added)
PUBLISHED = RowKind("scrawler.features.revisit.store.tables:published_url", PublishedRow._fields, key=2, of_two=_newest)
PUBLISHER = RowKind("scrawler.features.revisit.store.tables:publisher", PublisherRow._fields, key=1)
