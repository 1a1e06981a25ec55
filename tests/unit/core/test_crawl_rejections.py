"""The sample of refused URLs: a few of each reason, each once, bounded whatever comes from the web."""

from __future__ import annotations

from scrawler.core.party.rejections import SAMPLE, RejectionSample
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of


def test_a_few_of_each_reason_are_kept_each_once() -> None:
    sample = RejectionSample(7)
    for number in range(100):
        for _ in range(2):
            sample.add("length", f"http://h/{number}", "why")
    sample.page = "http://h/"
    sample.add_all("depth", ["http://h/a", "http://h/b", "http://h/a"], "too deep")
    assert not sample.wants("depth")
    sample.page = "http://h/2"
    sample.add_all("depth", ["http://h/a", "http://h/b"], "too deep")
    sample.page = "http://h/3"
    sample.add("covered", "http://h/c", "a seed", page="")
    rows = sample.take()
    assert [row.url for row in rows if row.reason == "length"] == [f"http://h/{number}" for number in range(SAMPLE)]
    assert [row.url for row in rows if row.reason == "depth"] == ["http://h/a", "http://h/b"]
    assert rows[-1] == (7, url_hash("http://h/c"), "covered", "http://h/c", "a seed")
    assert rows[-2] == (7, url_hash("http://h/b"), "depth", "http://h/b", "too deep; linked from http://h/2")
    assert not sample.wants("length")
    assert sample.wants("depth")


def test_what_was_taken_is_not_taken_again_and_the_bound_holds_on() -> None:
    sample = RejectionSample(7)
    sample.add("length", "http://h/", "why")
    assert len(sample.take()) == 1
    sample.add("length", "http://h/", "why")
    assert sample.take() == ()
    sample.add_all("length", (f"http://h/{number}" for number in range(100)), "why")
    assert len(sample.take()) == SAMPLE - 1


def test_long_text_is_cut_and_known_by_what_is_left() -> None:
    sample = RejectionSample(7)
    sample.add("scheme", "data:" + "x" * 1_000_000, "y" * 1_000_000)
    (row,) = sample.take()
    assert len(row.url) == 2_000
    assert row.url_hash == url_hash(row.url)
    assert len(row.evidence) < 10_000


def test_the_analyzer_offers_what_it_refuses_with_the_page_and_the_reason() -> None:
    sample = RejectionSample(1)
    analyzer = UrlAnalyzer(scope_of("http://h/", Scope.HOST), max_length=100, sample=sample)
    hrefs = ["b.html", "#x", "http://o/", "a.JPG?x", "mailto:me@h", "http://[", "x" * 200, "a.JPG?x"]
    for page in ("http://h/d/1.html", "http://h/d/2.html"):
        sample.page = page
        analyzer.analyze(page, hrefs)
    found = {row.reason: (row.url, row.evidence) for row in sample.take()}
    page = "; linked from http://h/d/1.html"
    assert found == {
        "file-type": ("http://h/d/a.JPG?x", "ends in .jpg, which is no document" + page),
        "scheme": ("mailto:me@h", "neither http nor https" + page),
        "syntax": ("http://[", "no URL by the WHATWG standard" + page),
        "length": ("http://h/d/" + "x" * 200, "longer than 100 characters" + page),
    }
