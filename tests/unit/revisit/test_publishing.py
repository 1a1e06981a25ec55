"""Which lists of ResourceSync are asked for, and where a page names them."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

import pytest

from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import Entry
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.extract.sitemaps import Listed, Sitemap, read_sitemap
from scrawler.features.revisit.kinds import PublisherRow
from scrawler.features.revisit.lists import ListsStep, PublishedLists
from scrawler.features.revisit.publishing import (
    CAPABILITY_LIST,
    CHANGE_LIST,
    holds_pages,
    is_followed,
    named_on,
    names_lists,
)
from scrawler.features.revisit.states import PartyLists
from scrawler.features.revisit.store.known import KnownVisits
from scrawler.features.revisit.told import Told
from scrawler.fetch.downloader import Request, Response
from scrawler.model.lanes import SITEMAP
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.store.engines.engine import open_database
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

HOME = "http://h.org/"

HEAD = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"'


def read(text: str) -> Sitemap:
    found = read_sitemap(text.encode(), "", "application/xml")
    assert found is not None
    return found


def test_a_change_list_is_read() -> None:
    found = read(
        f'<urlset {HEAD}><rs:ln rel="up" href="http://a/c.xml"/>'
        '<rs:md capability="changelist" from="2024-01-01T00:00:00Z"/>'
        '<url><loc>http://a/1</loc><lastmod>2024-01-02</lastmod><rs:md change="updated" datetime="2024-01-03"/></url>'
        '<url><loc>http://a/2</loc><rs:md change="deleted" datetime="2024-01-04T00:00:00Z"/></url>'
        "<url><loc>http://a/3</loc></url></urlset>"
    )
    assert (found.capability, found.since, found.is_index) == ("changelist", 1_704_067_200_000, False)
    assert found.listed == [
        Listed("http://a/1", 1_704_240_000_000, "", "updated"), Listed("http://a/2", 1_704_326_400_000, "", "deleted"),
        Listed("http://a/3", 0),
    ]  # fmt: skip
    assert not names_lists(found)
    assert holds_pages(found)


def test_a_capability_list_names_lists_and_no_packages() -> None:
    names = ("resourcelist", "changelist", "resourcedump", "changedump", "resourcelist-archive", "")
    entries = "".join(f'<url><loc>http://a/{name}</loc><rs:md capability="{name}"/></url>' for name in names)
    found = read(f'<urlset {HEAD}><rs:md capability="capabilitylist"/>{entries}</urlset>')
    assert names_lists(found)
    assert [one.capability for one in found.listed if is_followed(found, one)] == ["resourcelist", "changelist"]


@pytest.mark.parametrize("capability", ["resourcedump", "changedump", "resourcedump-manifest", "changelist-archive"])
def test_packages_and_archives_hold_no_pages(capability: str) -> None:
    for root in ("urlset", "sitemapindex"):
        assert not holds_pages(read(f'<{root} {HEAD}><rs:md capability="{capability}"/></{root}>'))


def test_what_is_no_list_of_resourcesync_says_nothing_of_itself() -> None:
    found = read(f"<urlset {HEAD}><url><loc>http://a/</loc><md>x</md></url></urlset>")
    assert (found.capability, found.since, found.listed) == ("", 0, [Listed("http://a/", 0)])


def test_metadata_is_of_its_own_entry_alone() -> None:
    found = read(
        f'<urlset {HEAD}><url><rs:md change="deleted"/></url><url><loc>http://a/1</loc></url>'
        '<url><loc>http://a/2</loc><x><rs:md change="deleted"/></x></url></urlset>'
    )
    assert [one.change for one in found.listed] == ["", ""]


def page(body: bytes, **headers: str) -> Response:
    request = Request("http://a/", "", None)
    return Response(request, Result.FETCHED, 200, headers={"content-type": "text/html", **headers}, body=body)


@pytest.mark.parametrize(
    ("element", "found"),
    [
        ('<link rel="resourcesync" href="/c.xml">', ["/c.xml"]),
        ("<LINK HREF='/c.xml?a=1&amp;b' REL=ResourceSync>", ["/c.xml?a=1&b"]),
        ("<link href=/c.xml rel=resourcesync/>", ["/c.xml"]),
        ('<link rel="stylesheet" href="/resourcesync.css">', []),
        ('<link rel="resourcesync">', []),
        ('<a rel="resourcesync" href="/c.xml">', []),
        ('<link rel="resourcesync" href="/1"><link rel="resourcesync" href="/2">', ["/1", "/2"]),
    ],
)
def test_links_on_a_page(element: str, found: list[str]) -> None:
    body = f"<html><head>{element}</head><body>hello".encode()
    assert list(named_on(page(body))) == found
    assert list(named_on(page(gzip.compress(body), **{"content-encoding": "gzip"}))) == found


def test_a_link_header() -> None:
    link = '</c.xml>; rel="resourcesync", </x>; rel=canonical'
    assert list(named_on(page(b"<p>", link=link))) == ["/c.xml"]


def test_a_page_that_names_thousands_names_ten() -> None:
    body = b"".join(b'<link rel="resourcesync" href="/%d">' % number for number in range(1_000))
    assert len(list(named_on(page(body)))) == 10


def test_no_more_than_the_beginning_of_a_page_is_looked_at() -> None:
    late = b"<p>" + b"x" * (64 << 10) + b'<link rel="resourcesync" href="/c.xml">'
    assert list(named_on(page(late))) == []
    bomb = gzip.compress(b"\0" * (100 << 20))
    assert list(named_on(page(bomb, **{"content-encoding": "gzip"}))) == []


def test_a_package_that_is_not_asked_for_leaves_no_gap_in_what_change_lists_tell(tmp_path: Path) -> None:
    """Only a list that would be asked for can be passed by; what is told begins behind it then."""
    hour, now = 3_600_000, 3_600_000_000
    told = Told(PublisherRow(1, 0, 0, 0, 0), hour, before=now)
    rules, scope = crawl_rules(), scope_of(HOME, Scope.HOST)
    with closing(open_database(f"sqlite:///{tmp_path}/crawl.db", create=True)) as database:
        step = ListsStep(rules, KnownVisits(database))
    party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    step.at = 0
    party.keep_state(step.at, PartyLists(1, told))
    site = SiteContext(1, "h.org", 1, ExactSeen(MemoryBudget(1000)), False, parties=[party])
    lane = party.lane(SITEMAP)
    entry = Entry(HOME + "capabilities.xml", 1, 0)
    lane.append_entry(entry)
    flight = PageFlight(site, party, lane, lane.take(), entry, Origin(HOME[:-1], "h.org"))
    names = [
        Listed(HOME + "old_dump.xml", 0, capability="changedump", until=now - 10 * hour),
        Listed(HOME + "changes.xml", 0, capability=CHANGE_LIST),
    ]
    named = Sitemap(False, names, capability=CAPABILITY_LIST)
    assert PublishedLists(step).named_in(flight, named, names) == [HOME + "changes.xml"]
    told.note_list(now - 50 * hour, now)
    assert told.row.complete_since == now - 50 * hour
