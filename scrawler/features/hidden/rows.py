"""The rows of search forms and their queries."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.row_kinds import RowKind


class SearchRow(NamedTuple):
    """What the search forms of a party were asked so far, and what is known of them and of the terms of its pages."""

    seed_id: int
    queries: int
    results: int
    found: int
    ended: str  # why no more is asked: budget, repeats, no-terms, failing, refused; empty: it goes on
    data: bytes


class SearchQueryRow(NamedTuple):
    """A query of a search form, and what its answer has brought so far."""

    seed_id: int
    url_hash: bytes
    number: int
    term: str
    form: str  # its action and field
    answers: int  # pages
    results: int
    found: int  # URLs that these have listed first


SEARCH = RowKind("scrawler.features.hidden.tables:search", SearchRow._fields, key=1)
SEARCH_QUERY = RowKind("scrawler.features.hidden.tables:search_query", SearchQueryRow._fields, key=2)
