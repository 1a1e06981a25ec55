"""Every URL has an answer, from the database alone: what came of it, or what kept it out."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import html5lib
import pytest

from scrawler.errors import SettingsError
from scrawler.features.report.html import html_page
from scrawler.features.report.report import make_report
from scrawler.insight.answer import CANDIDATE, LEFT_OUT, NOT_SEEN, REFUSED, WAITING, Answer
from scrawler.insight.why import why
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, Visit, answer

Serve = Callable[..., RawServer]

ROBOTS = "User-agent: *\nDisallow: /closed\nSitemap: {}/map.xml\nSitemap: {}/map.xml\n"
LONG = "/" + "y" * 3_000
HOSTILE_TYPE = "text/&lt-script'"  # what no token may hold is no media type
PICTURES = tuple(f"/{number}.jpg" for number in range(30))
LINKS = (
    "/a",
    "/closed/x",
    "mailto:me@x",
    "http://[",
    "/missing",
    "/r",
    LONG,
    "/odd",
    "/second",
    "/said",
    "/doc",
    *PICTURES,
)
SAID = "<meta name=robots content=noindex><link rel=canonical href=/a><a href=/shy rel=nofollow>x</a><img src={}/i.png>"


def asker(crawl: Crawl, **settings: object) -> Callable[[str], Answer]:
    """Ask as the command does, with settings of which the crawl knew nothing."""

    def ask(text: str) -> Answer:
        database = open_database(crawl.url)
        try:
            return why(database, crawl.settings(**settings), Scope.HOST, text)
        finally:
            database.close()

    return ask


def told(found: Answer) -> str:
    return "\n".join(line for fact in found.facts for line in fact.lines)


def kinds(found: Answer) -> list[str]:
    return [fact.kind for fact in found.facts]


def a_site(other: str) -> dict[str, Any]:
    return {
        "/map.xml": answer(b"<urlset><url><loc>/mapped</loc></url></urlset>", "200 OK", "Content-Type: text/xml"),
        "/mapped": page("mapped"),
        "/": page("start", links=(*LINKS, f"{other}/ext", f"{other}/ext")),
        "/a": page("a", links=("/deep1", "/")),
        "/deep1": page("deep", links=("/deep2",)),
        "/r": redirect("/a"),
        "/said": page(SAID.format(other)),
        "/doc": answer(b"%PDF", "200 OK", "Content-Type: application/pdf"),
        "/odd": answer(b"odd", "200 OK", f"Content-Type: {HOSTILE_TYPE}"),
        "/second": page("second", links=(f"{other}/ext",)),
    }


@pytest.fixture
def crawled(crawl_on_both: Crawl, serve: Serve) -> tuple[Crawl, str, str]:
    """A crawl of a small site with two seeds, and a seed whose server is gone."""
    gone = serve(by_path({}))
    gone.stop()
    replies = a_site(other := gone.url(""))
    site = serve(by_path(replies))
    replies["/robots.txt"] = answer(ROBOTS.format(other, site.url("")).encode(), "200 OK", "Content-Type: text/plain")
    crawl_on_both.add([site.url(), site.url("/second"), gone.url("/")])
    settings = {"accept": "text/*", "nofollow": "nofollow", "assets": True, "sitemaps": "also"}
    run_whole(crawl_on_both, max_depth=2, retries=0, threads=1, **settings)
    return crawl_on_both, site.url(""), other


def test_every_kind_of_answer(crawled: tuple[Crawl, str, str]) -> None:
    crawl, site, other = crawled
    ask = asker(crawl, max_depth=9)
    expected: dict[str, tuple[str, str]] = {
        f"{site}/": ("fetched", "a seed, given by the user; it ended as max-depth"),
        f"{site}/second": ("fetched", "a seed, given by the user"),
        f"{site}/a": ("fetched", f"listed at position 1 by seed {site}/, depth 1"),
        f"{site}/a#part": ("fetched", "HTTP 200, text/html"),
        f"{site}/closed/x": ("robots-denied", "because: Disallow: /closed (line 2, group *)"),
        f"{site}/closed/never": (NOT_SEEN, "forbids it to TestCrawler; Disallow: /closed (line 2, group *)"),
        f"{site}/said": ("fetched", "forbids to index it\nits record"),
        f"{site}/a?utm_source=news": ("fetched", f"listed at position 1 by seed {site}/, depth 1"),
        f"{site}/shy": (REFUSED, f"as nofollow: its page, or its rel, asks not to follow it; linked from {site}/said"),
        f"{other}/i.png": (REFUSED, f"as external-asset: an asset that is external; linked from {site}/said"),
        f"{site}/doc": ("unwanted-type", "its Content-Type is not accepted: the body was not downloaded"),
        f"{site}/b/b/b/b/b/": (REFUSED, "as repeats: a segment, or a row of segments, stands more than 3 times"),
        f"{site}/x?{'&'.join('abcdefghijklmnopqrstuvwxyz')}": (REFUSED, "as parameters: more than 20 parameters"),
        f"{site}/map.xml": ("fetched", f"listed as sitemap 1 by seed {site}/"),
        f"{site}/mapped": ("fetched", f"stands in the sitemap {site}/map.xml"),
        f"{other}/map.xml": (REFUSED, f"as sitemap-elsewhere: a sitemap of another site; linked from {site}/"),
        f"{site}/missing": ("http-error", "HTTP 404"),
        f"{site}/r": ("redirect", "leads to: /a"),
        f"{site}/0.jpg": (REFUSED, f"as file-type: ends in .jpg, which is no document; linked from {site}/"),
        f"{site}/99.jpg": (REFUSED, f"seed {site}/ refused 30 links for this reason"),
        f"{site}{LONG}": (REFUSED, f"as length: longer than 2,048 characters; linked from {site}/"),
        f"{site}/deep2": (REFUSED, f"as depth: deeper than max_depth 2; linked from {site}/deep1"),
        f"{site}/nowhere": (NOT_SEEN, "left out below depth 2"),
        f"{site}/never/seen": (NOT_SEEN, "A link to it would have been listed"),
        "mailto:me@x": (REFUSED, "as scheme: neither http nor https; linked from"),
        "mailto:you@x": (REFUSED, "a link to it is refused, as scheme"),
        "http://[": (REFUSED, "as syntax: no URL by the WHATWG standard; linked from"),
        f"{other}/": ("connect-failed", "it ended as dead"),
        f"{other}/ext": (CANDIDATE, "found 2 times by 2 seeds, the first"),
        "http://unknown.example/": (NOT_SEEN, "A link to it would have been handed back as a candidate seed"),
        "unknown.example": (NOT_SEEN, "external to all seeds: none is of its site unknown.example"),
    }
    for url, (outcome, words) in expected.items():
        found = ask(url)
        assert (url, found.outcome) == (url, outcome)
        assert words in told(found), url
        assert found.as_json()["facts"], url
    assert kinds(ask(f"{site}/")) == ["seed", "page"]
    assert f"names as its canonical URL {site}/a" in told(ask(f"{site}/said"))
    assert sum("rejection" in kinds(ask(site + picture)) for picture in PICTURES) == 1, "all stand on one page"

    for text in ("no url", "http://", "\ud800", ""):
        with pytest.raises(SettingsError, match=r"^URL "):
            ask(text)


def test_a_report_counts_what_the_rows_say(crawled: tuple[Crawl, str, str]) -> None:
    crawl, site, other = crawled
    rows, seeds = crawl.pages(), crawl.seeds()
    database = open_database(crawl.url)
    stored, view = Crawls(database).open("crawl", Scope.HOST), Seeds(database).get(f"{site}/")
    assert view is not None
    whole, one = make_report(database, stored, None), make_report(database, stored, view)
    gone = make_report(database, stored, Seeds(database).get(f"{other}/"))
    database.close()

    _agrees(whole.as_json(), rows)
    _agrees(one.as_json(), [row for row in rows if row.seed_id == view.seed.id])
    made = whole.as_json()
    assert made["crawl"]["seeds"] == len(seeds)
    assert {row["end"]: row["seeds"] for row in made["crawl"]["ends"]} == Counter(seed.end_reason for seed in seeds)
    verdicts = sum((Counter(seed.verdicts) for seed in seeds), Counter())
    assert {row["verdict"]: row["links"] for row in made["links"]["verdicts"]} == verdicts
    assert made["links"]["candidates"] == len(crawl.candidates())
    assert {row["reason"] for row in made["refused"]["samples"]} >= {"file-type", "scheme", "syntax", "length", "depth"}
    assert {row["pages"]: row["sites"] for row in made["sites"]["sizes"] if row["sites"]} == {"< 1": 1, "< 10": 1}
    assert made["politeness"]["sitemap_urls"] == 1
    at_gone = gone.as_json()
    assert (at_gone["links"]["links_to_seed_url"], at_gone["links"]["links_to_site"]) == (0, 2)
    assert at_gone["links"]["seeds_that_link_to_site"] == 2
    assert at_gone["seed"]["end_reason"] == "dead"
    for report in (whole, one, gone):
        document = html5lib.HTMLParser(strict=True).parse("".join(html_page(report)))
        assert not [element for element in document.iter() if str(element.tag).endswith("}script")]
    assert HOSTILE_TYPE in [row["content_type"] for row in made["content"]["types"]]


def _agrees(made: dict[str, Any], rows: list[PageRow]) -> None:
    fetched = [row for row in rows if row.result == "fetched"]
    assert made["totals"]["urls"] == len(rows)
    assert made["totals"]["pages"] == len(fetched)
    assert made["totals"]["first_answer_at"] == min(row.fetched_at for row in rows)
    results = made["results"]
    assert {row["result"]: row["urls"] for row in results["results"]} == Counter(row.result for row in rows)
    assert {row["status"]: row["urls"] for row in results["statuses"]} == Counter(r.status for r in rows if r.status)
    assert {row["depth"]: row["urls"] for row in results["depths"] if row["urls"]} == Counter(r.depth for r in rows)
    assert {r["content_type"]: r["pages"] for r in made["content"]["types"]} == Counter(r.content_type for r in fetched)
    for table, among in (("sizes", made["content"]), ("times", made["politeness"])):
        assert sum(row["pages"] for row in among[table]) == len(fetched)
        assert sum(row["bytes"] for row in among[table]) == sum(row.length for row in fetched)


def test_what_is_listed_waits_or_was_left_out(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, stop = crawl_on_both, threading.Event()

    def stopping(visit: Visit) -> None:
        if stop.is_set():
            visit.send(page("three"))
        else:
            stop.set()
            visit.hang()  # so that the crawl goes no further

    links = tuple(f"/p{number}" for number in range(1, 100))
    site = serve(by_path({"/": page(links=links), **{link: page(link) for link in links}, "/p3": stopping}))
    crawl.add([site.url()])
    crawl.run(stop=stop, threads=1, per_site=1, stop_timeout=0)
    ask, last = asker(crawl), site.url(links[-1])
    found = ask(last)
    assert found.outcome == WAITING
    assert f"listed at position 99 by seed {site.url()}, depth 1" in told(found)
    (fact,) = (fact for fact in found.facts if fact.kind == "listed")
    assert fact.values["before"] == 99 - len(crawl.pages()) == 96

    run_whole(crawl, max_pages=60, threads=1, per_site=1, traps=False)  # one page is like the other
    found = ask(last)
    assert found.outcome == LEFT_OUT
    left = 99 - len(crawl.pages())
    assert f"not fetched: seed {site.url()} ended by max-pages, with {left} URLs before it" in told(found)
    assert "pages that link to it may not have been fetched" in told(ask(site.url("/nowhere")))


def test_what_a_trap_holds_is_told_with_its_pattern(crawl: Crawl, serve: Serve) -> None:
    days = [f"/day?n={number}" for number in range(60)]
    way = ["/first", *("/" + "abcdefghijklmnopqrstuvwxyz"[number] * 3 for number in range(10)), "/late"]
    replies = {here: page(here, links=(there,)) for here, there in zip(way, [*way[1:], "/day?n=late"], strict=True)}
    replies["/"] = page(links=(days[0], "/first"))
    replies |= {day: page("day", links=days[number + 1 : number + 4]) for number, day in enumerate(days)}
    site = serve(by_path(replies))
    crawl.add([site.url()])
    run_whole(crawl, trap_pages=5, threads=1)
    ask = asker(crawl)
    trapped = ask(next(row.url for row in crawl.pages() if row.result == Result.TRAP))
    assert trapped.outcome == "trap"
    assert "not asked for: its pattern has brought nothing new for long" in told(trapped)
    assert f"seed {site.url()} fetches no more of its pattern {site.url('/day?n=')}" in told(
        ask(site.url("/day?n=999"))
    )
    late = ask(site.url("/day?n=late"))
    assert late.outcome == "trap"  # of a capped pattern, the first thousand URLs have rows
    assert f"found first on {site.url('/late')}" in told(late)
