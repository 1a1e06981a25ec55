"""The fault web: every misbehaviour has its own outcome, and all else is crawled as if it were not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from scrawler.features.classic.blocking import RequestsDownloader
from scrawler.features.synthweb.faults.answers import ANSWER_FAULTS
from scrawler.features.synthweb.faults.documents import DOCUMENT_FAULTS
from scrawler.features.synthweb.faults.server import FaultWeb
from scrawler.features.synthweb.faults.sites import SITE_FAULTS
from scrawler.features.synthweb.process import WebProcess
from scrawler.fetch.curl import CurlDownloader
from scrawler.fetch.downloader import Downloader, Response
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason, Seed
from tests.integration.crawl.conftest import Crawl
from tests.limits import FAR, allow

FETCHED, REDIRECT, HTTP_ERROR = Result.FETCHED, Result.REDIRECT, Result.HTTP_ERROR
CUT, BAD_ANSWER, TIMEOUT, TOO_LARGE = Result.CUT, Result.BAD_ANSWER, Result.TIMEOUT, Result.TOO_LARGE

# What comes of a page, and whether the link on it was followed (None: it has none).
PAGES: dict[str, tuple[Result, bool | None]] = {
    "not-found": (HTTP_ERROR, None),
    "server-error": (HTTP_ERROR, None),
    "no-content": (FETCHED, None),
    "unasked-304": (HTTP_ERROR, None),
    "status-999": (HTTP_ERROR, None),
    "redirect-loop": (REDIRECT, None),
    "redirect-nowhere": (HTTP_ERROR, True),
    "redirect-empty": (HTTP_ERROR, True),
    "choices": (HTTP_ERROR, True),
    "redirect-file": (REDIRECT, None),
    "redirect-script": (REDIRECT, None),
    "redirect-metadata": (REDIRECT, None),
    "redirect-odd-loopback": (REDIRECT, None),
    "redirect-chain": (REDIRECT, None),
    "length-short": (FETCHED, None),
    "length-long": (CUT, None),
    "length-absurd": (FETCHED, None),
    "chunk-broken": (CUT, None),
    "chunk-cut": (CUT, None),
    "cut-in-head": (CUT, None),
    "says-nothing": (CUT, None),
    "reset": (CUT, None),
    "torn": (CUT, True),
    "torn-gzip": (CUT, True),
    "torn-nofollow": (CUT, False),
    "torn-chunk": (CUT, True),
    "slow-links": (TIMEOUT, True),
    "endless-links": (TOO_LARGE, True),
    "not-http": (BAD_ANSWER, None),
    "binary": (BAD_ANSWER, None),
    "endless-head": (BAD_ANSWER, None),
    "endless-interim": (BAD_ANSWER, None),
    "gzip-cut": (FETCHED, None),
    "gzip-not": (FETCHED, None),
    "gzip-thrice": (FETCHED, True),
    "gzip-bomb": (FETCHED, None),
    "encoding-unknown": (FETCHED, None),
    "never": (TIMEOUT, None),
    "slow-head": (TIMEOUT, None),
    "slow-body": (TIMEOUT, None),
    "endless-body": (TOO_LARGE, None),
    "large": (TOO_LARGE, None),
    "large-video": (TOO_LARGE, None),
    "fails-twice": (FETCHED, True),
    "cookie-flood": (FETCHED, True),
    "cookie-wall": (REDIRECT, True),
    "foreign-cookie": (FETCHED, True),
    "no-type": (FETCHED, True),
    "type-twice": (FETCHED, True),
    "type-last": (FETCHED, True),
    "type-word": (FETCHED, True),
    "type-blank": (FETCHED, True),
    "type-nosniff": (FETCHED, False),
    "type-lies": (FETCHED, None),
    "utf16-silent": (FETCHED, True),
    "charset-unknown": (FETCHED, True),
    "xhtml": (FETCHED, True),
    "xhtml-as-xml": (FETCHED, True),
    "xhtml-broken": (FETCHED, True),
    "xml": (FETCHED, False),
    "meta-noindex": (FETCHED, True),
    "meta-nofollow": (FETCHED, False),
    "meta-of-others": (FETCHED, True),
    "unavailable-since": (FETCHED, True),
    "lazy-links": (FETCHED, False),
    "header-none": (FETCHED, False),
    "canonical-elsewhere": (FETCHED, True),
    "refresh-loop": (FETCHED, True),
    "refresh-header": (FETCHED, True),
    "refresh-text": (FETCHED, True),
    "refresh-based": (FETCHED, True),
    "base-script": (FETCHED, True),
    "links-odd": (FETCHED, None),
    "path-repeats": (FETCHED, None),
    "path-long": (FETCHED, None),
    "query-long": (FETCHED, None),
    "link-endless": (FETCHED, True),
    "many-links": (FETCHED, True),
    "deep-markup": (FETCHED, True),
}
# What the classic downloader makes of an answer that the libraries disagree about.
CLASSIC: dict[str, Result] = {
    "length-absurd": CUT,  # the number is believed, and the page is shorter
}
# How a seed ends, and how many pages it has.
SITES: dict[str, tuple[EndReason, int]] = {
    "robots-closed": (EndReason.ROBOTS_DENIED, 0),
    "robots-partly": (EndReason.COMPLETED, 3),
    "robots-broken": (EndReason.ROBOTS_UNAVAILABLE, 0),
    "robots-forbidden": (EndReason.COMPLETED, 4),
    "robots-html": (EndReason.COMPLETED, 4),
    "robots-utf16": (EndReason.COMPLETED, 3),
    "robots-huge": (EndReason.COMPLETED, 3),
    "robots-loop": (EndReason.COMPLETED, 4),
    "sitemap-laughs": (EndReason.COMPLETED, 5),
    "sitemap-loop": (EndReason.COMPLETED, 5),
    "sitemap-bomb": (EndReason.COMPLETED, 5),
    "robots-never": (EndReason.DEAD, 0),
    "crawl-delay": (EndReason.CRAWL_DELAY, 0),
    "busy": (EndReason.PUSHED_BACK, 0),
    "busy-once": (EndReason.COMPLETED, 4),
    "away-once": (EndReason.COMPLETED, 4),
    "away-for-years": (EndReason.PUSHED_BACK, 0),
    "dies": (EndReason.PUSHED_BACK, 1),
    "resets": (EndReason.DEAD, 0),
    "to-others": (EndReason.COVERED, 0),
}


@dataclass(frozen=True)
class Crawled:
    """What a crawl made of the fault web."""

    profile: str
    web: FaultWeb
    rows: dict[str, PageRow]
    seeds: dict[str, Seed]
    candidates: set[str]

    def page(self, path: str) -> PageRow | None:
        return self.rows.get(self.web.home + path)

    def seed(self, name: str) -> Seed:
        return self.seeds[self.web.sites()[name] + "/"]


# What hangs, hangs side by side in the default profile, and one after the other in the threads of the classic one.
PROFILES: dict[str, dict[str, object]] = {
    "default": {"timeout": 4.0, "per_site": 16},
    "classic": {"timeout": 2.0, "threads": 6},
}
HANGING = {name for name, (result, _) in PAGES.items() if result is TIMEOUT}  # pages; and the site robots-never
LONGER = (1, 6, 20)  # times the timeout: a limit counts in which this machine does all else, however busy it is


@pytest.fixture(scope="module", params=PROFILES)
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    allow(3 * FAR)  # what is too slow is crawled again, with longer limits
    for factor in LONGER:
        found, too_slow = crawl_all(tmp_path_factory.mktemp("fault-web"), request.param, factor)
        if not too_slow:
            return found
    pytest.fail(f"out of time without a reason: {too_slow}")


def crawl_all(folder: Path, profile: str, factor: int) -> tuple[Crawled, set[str]]:
    """Crawl the fault web; also returns what timed out and is not meant to."""
    crawl = Crawl(folder, f"sqlite:///{folder}/scrawler.db")
    settings = PROFILES[profile] | {
        "timeout": factor * float(str(PROFILES[profile]["timeout"])),
        "patience": 0,
        "retries": 2,
        "retry_pause": 0.05,
        "max_failures": 30,  # more than all tries at one host that bring no head: how many come in a row is the clock's
        "max_body": "4MiB",
        "max_decoded": "8MiB",
        "max_retry_after": 2,
        "sitemaps": "also",
    }
    timed_out: set[str] = set()
    with WebProcess("--faults", "--port=0") as process:  # one for each: some faults are those of first requests
        web = FaultWeb(process.port)
        crawl.add(web.seeds())
        with noted(timed_out):
            summary = crawl.run(profile=profile, **settings)
    assert summary.outcome == "ended"
    crawl.check()
    rows, seeds = {row.url: row for row in crawl.pages()}, {seed.url: seed for seed in crawl.seeds()}
    meant = {f"{web.home}/{name}" for name in HANGING} | {f"{web.sites()['robots-never']}/robots.txt"}
    return Crawled(profile, web, rows, seeds, crawl.candidates()), timed_out - meant


@contextmanager
def noted(timed_out: set[str]) -> Iterator[None]:
    """Note what times out in any of its tries, whatever comes of it in the end."""

    def noting(completed: Callable[[Downloader], list[Response]]) -> Callable[[Downloader], list[Response]]:
        def note(downloader: Downloader) -> list[Response]:
            responses = completed(downloader)
            timed_out.update(one.request.url for one in responses if one.result is Result.TIMEOUT)
            return responses

        return note

    with pytest.MonkeyPatch.context() as patch:
        for kind in (CurlDownloader, RequestsDownloader):
            patch.setattr(kind, "completed", noting(kind.completed))
        yield


def test_every_fault_has_its_outcome() -> None:
    assert {fault.name for fault in (*ANSWER_FAULTS, *DOCUMENT_FAULTS)} == set(PAGES)
    assert {fault.name for fault in SITE_FAULTS} == set(SITES)


def test_each_page_fault_has_its_result(crawled: Crawled) -> None:
    meant = {name: result for name, (result, _) in PAGES.items()}
    if crawled.profile == "classic":
        meant |= CLASSIC
    rows = {name: crawled.page(f"/{name}") for name in PAGES}
    assert {name: row and row.result for name, row in rows.items()} == meant, rows


def test_links_are_followed_behind_those_faults_that_leave_them(crawled: Crawled) -> None:
    meant = {name: followed for name, (_, followed) in PAGES.items() if followed is not None}
    reached = {name: crawled.page(f"/reached/{name}") for name in meant}
    assert {name: row is not None and row.result == FETCHED for name, row in reached.items()} == meant


def test_what_is_read_though_it_was_cut_is_flagged(crawled: Crawled) -> None:
    flagged = {row.url for row in crawled.rows.values() if row.flags & PageFlag.TRUNCATED}
    cut = {"torn", "torn-gzip", "torn-nofollow", "torn-chunk", "slow-links", "endless-links"}
    assert flagged == {f"{crawled.web.home}/{name}" for name in cut}
    attempts = {name: row.attempts for name in cut if (row := crawled.page(f"/{name}")) is not None}
    assert attempts == dict.fromkeys(cut, 3) | {"endless-links": 1}  # read once, after the last try


def test_the_row_says_which_media_type_counted(crawled: Crawled) -> None:
    names = ("type-twice", "type-last", "type-word", "type-blank", "type-nosniff", "no-type", "refresh-text")
    found = {name: row.content_type for name in names if (row := crawled.page(f"/{name}")) is not None}
    assert found == dict.fromkeys(names, "text/html") | {"type-nosniff": "text/plain", "refresh-text": "text/plain"}


def test_each_site_fault_has_its_end(crawled: Crawled) -> None:
    ends = {name: (seed.end_reason, seed.counts.pages) for name in SITES if (seed := crawled.seed(name))}
    if ends["dies"] == (EndReason.DEAD, 1):
        ends["dies"] = SITES["dies"]  # others fail at the same time: then it may be the network that cuts connections
    assert ends == SITES


def test_what_is_good_is_crawled(crawled: Crawled) -> None:
    good = crawled.page("/good")
    assert good is not None
    assert good.result == FETCHED
    home = crawled.seeds[crawled.web.home + "/"]
    assert home.end_reason is EndReason.COMPLETED
    last = crawled.page("/redirect-chain/20")
    assert last is not None
    assert last.result == Result.TOO_MANY_REDIRECTS  # of thirty


def test_links_that_are_traps_are_not_listed(crawled: Crawled) -> None:
    verdicts = crawled.seeds[crawled.web.home + "/"].verdicts
    assert {reason: verdicts.get(reason) for reason in ("repeats", "segments", "parameters", "length")} == {
        "repeats": 1,
        "segments": 1,
        "parameters": 1,
        "length": 1,
    }


def test_nothing_outside_was_asked(crawled: Crawled) -> None:
    assert all(row.startswith("http://127.20.0.") for row in crawled.rows)
    outside = {"http://169.254.169.254/latest/", "http://127.0.0.1:2/", "http://[::ffff:7f00:1]:2/"}
    assert crawled.candidates == outside  # in both profiles
