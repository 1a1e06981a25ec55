"""What came of a URL, in words."""

from __future__ import annotations

from scrawler.insight.results import flag_names, page_fact, relation_fact
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow, RelationRow

PAGE = PageRow(
    1, b"h" * 16, "http://h/p", 3, 2, 1_234, "fetched", 200, "text/html", 2_500, b"\x01" * 20, 2, 1_790_000_000_000, 70,
    "crawl-1.warc.gz", 5_000, 800, 0, "",
)  # fmt: skip


def test_a_page_with_all_that_is_known_of_it() -> None:
    page = PAGE._replace(flags=PageFlag.NOINDEX | PageFlag.SLOW | PageFlag.NEAR_DUPLICATE, simhash=-1)
    fact = page_fact(page, "http://h/", "http://h/second")
    assert fact.lines == (
        "fetched; for seed http://h/, 2026-09-21 14:13:20 UTC",
        "HTTP 200, text/html, 2.5 KB in 70 ms, 2 attempts",
        "listed at position 1,234 by seed http://h/second, depth 3",
        "forbids to index it",
        "fetched in the slow lane",
        "says nearly what an earlier page of its pattern says",
        "its record is in crawl-1.warc.gz, 800 bytes from 5,000 on",
    )
    assert fact.values["flags"] == ["noindex", "slow", "near-duplicate"]
    assert fact.values["simhash"] == "f" * 16
    assert (fact.values["seed"], fact.values["listed_by"]) == ("http://h/", "http://h/second")


def test_every_result_and_flag_has_words() -> None:
    for result in Result:
        assert page_fact(PAGE._replace(result=result.value), "s", "s").lines[0].partition(";")[0]
    for flag in PageFlag:
        assert len(page_fact(PAGE._replace(flags=flag), "s", "s").lines) == 5
        assert len(flag_names(flag)) == 1


def test_a_sitemap_that_was_not_read_is_not_said_to_be() -> None:
    denied = PAGE._replace(result=Result.ROBOTS_DENIED, status=0, warc_file="", flags=PageFlag.SITEMAP, position=-1)
    lines = page_fact(denied, "s", "s").lines
    assert lines[1:] == ("listed as sitemap 1 by seed s, depth 3", "listed as a sitemap")
    assert page_fact(PAGE._replace(flags=PageFlag.SITEMAP), "s", "s").lines[3] == "a sitemap, whose URLs were listed"


def test_details_and_what_stands_for_a_page() -> None:
    refused = PAGE._replace(result=Result.TRAP, status=0, warc_file="", detail="50 of its last 50 pages were known")
    assert page_fact(refused, "s", "s").lines[1] == "because: 50 of its last 50 pages were known"
    assert len(page_fact(refused, "s", "s").lines) == 3
    redirect = PAGE._replace(result=Result.REDIRECT, status=302, detail="/next", content_type="", revisit=1)
    lines = page_fact(redirect, "s", "s").lines
    assert "leads to: /next" in lines
    assert "HTTP 302, no Content-Type, 2.5 KB in 70 ms, 2 attempts" in lines
    assert lines[-1].startswith("a revisit record")
    assert relation_fact(RelationRow(b"h", "canonical", 1, "http://h/c")).lines == (
        "names as its canonical URL http://h/c",
    )
