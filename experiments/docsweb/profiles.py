"""Hold two crawls of the same sites against each other: the default parts, and the classic ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from experiments.docsweb.compare import Finding
from scrawler.extract.lexbor import LexborExtractor
from scrawler.features.classic.reference import Html5libExtractor

PROFILES = ("default", "classic")

# Keys in words -> a value in words; two crawls are equal where these are.
Account = Mapping[str, str]

_HTML = "fetched, status 200, text/html"
_PAGES = "SELECT url, result || ', status ' || status || ', ' || content_type FROM page"
_CANDIDATES = (
    "SELECT candidate.url || ' of seed ' || seed.url, 'found on ' || count || ' pages'"
    " FROM candidate JOIN seed ON seed.id = candidate.seed_id"
)
_VERDICTS = (
    "SELECT 'links of seed ' || url || ' with verdict ' || json_each.key, json_each.value"
    " FROM seed, json_each(seed.verdicts)"
)


@dataclass(frozen=True, slots=True)
class Accounts:
    """What one crawl made of the sites."""

    pages: Account  # every URL with a final result
    candidates: Account  # by the seed that found them
    links: Account  # counts by seed and verdict: these differ as well where a link more leads to a page known anyway


def read_accounts(database: Path) -> Accounts:
    """Read the accounts of a crawl from its SQLite database."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        queries = (_PAGES, _CANDIDATES, _VERDICTS)
        tables = [{str(key): str(value) for key, value in connection.execute(query)} for query in queries]
    return Accounts(*tables)


def compare_profiles(default: Accounts, classic: Accounts) -> list[Finding]:
    """Return what differs; a finding without examples is an equality."""
    return [
        *_compare("pages", default.pages, classic.pages),
        *_compare("candidate seeds", default.candidates, classic.candidates),
        *_compare("counts of links", default.links, classic.links),
    ]


def _compare(what: str, default: Account, classic: Account) -> Iterator[Finding]:
    yield Finding(f"{what} of the default profile alone", sorted(default.keys() - classic.keys()))
    yield Finding(f"{what} of the classic profile alone", sorted(classic.keys() - default.keys()))
    both = sorted(default.keys() & classic.keys())
    differ = [f"{key}: {default[key]}, classic: {classic[key]}" for key in both if default[key] != classic[key]]
    yield Finding(f"{what} that both have, but not alike", differ)


def html_pages(accounts: Accounts) -> list[str]:
    """Return the HTML pages of a crawl."""
    return sorted(url for url, said in accounts.pages.items() if said == _HTML)


def differing_pages(urls: Iterable[str]) -> Iterator[str]:
    """Fetch pages anew, and tell of each in which the two parsers see different links which these are."""
    lexbor, html5lib = LexborExtractor(), Html5libExtractor()
    for url in urls:
        with urlopen(url) as answer:
            body, content_type = answer.read(), answer.headers.get("Content-Type", "")
        ours, theirs = lexbor.links(body, url, content_type), html5lib.links(body, url, content_type)
        if (ours.base, ours.hrefs) != (theirs.base, theirs.hrefs):
            yield f"{url}: {_told(ours.hrefs, theirs.hrefs)} {ours.note} {theirs.note}".rstrip()


def _told(ours: Sequence[str], theirs: Sequence[str]) -> str:
    alone = [sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))]
    return f"{len(ours)} and {len(theirs)} links; Lexbor alone {alone[0]}, html5lib alone {alone[1]}"
