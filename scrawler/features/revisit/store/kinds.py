"""Rows that visits again add to what is committed: their kinds."""

from __future__ import annotations

from scrawler.model.row_kinds import RowKind
from scrawler.model.visits import UrlChange, UrlState
from scrawler.tuples.classes import NamedTuple


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


def _added(before: CellRow, more: CellRow) -> CellRow:
    return more._replace(pages=before.pages + more.pages)


URL_STATE = RowKind("scrawler.store.tables:url_state", UrlState._fields, key=2)
URL_CHANGE = RowKind("scrawler.store.tables:url_change", UrlChange._fields, key=0)
SITE_RATES = RowKind("scrawler.store.tables:site", SiteRates._fields, key=1)
CELLS = RowKind("scrawler.store.tables:revisit_demand", CellRow._fields, key=2, of_two=_added)
