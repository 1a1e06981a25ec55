"""What is told of numbers: one is told of as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scrawler.cli.hints import what_next
from scrawler.cli.losses import lost_text
from scrawler.cli.progress import crawl_text, import_text
from scrawler.cli.verify import _progress, _said, _what_is_wrong
from scrawler.core.party.decisions import end_detail
from scrawler.core.progress import Progress, RunSummary
from scrawler.model.seeds import SeedCounts
from scrawler.seeds.importer import ImportCounts
from scrawler.store.lists.losses import LostSum
from scrawler.upkeep import Verified

ONE = Verified(1, 1, 2, verified=0, read=1, whole=1, gone=1, accepted=1, unknown=1)
TWO = Verified(2, 2, 4, verified=1, read=2, whole=2, gone=2, accepted=2, unknown=2)
SUMMARY = RunSummary((1,), "crawl", "ended", 1.0, 0, 0, 0, 0, 0.0, 0, {"completed": 1}, ())


def test_a_verification_tells_of_one_and_of_two() -> None:
    assert _said(ONE) == (
        "1 file of this host verified: 1 record is as the database says, 1 is gone, 1 place is not known to it; "
        "1 more is gone and accepted; the files of 1 machine are on other hosts"
    )
    assert _said(TWO) == (
        "2 files of this host verified: 2 records are as the database says, 2 are gone, 2 places are not known to it; "
        "2 more are gone and accepted; the files of 2 machines are on other hosts"
    )
    assert _progress(ONE) == "verified 0 of 1 file, 1 B of 2 B: 1 record as the database says, 1 gone"
    unknown = Verified(1, 0, 0, unknown=1)
    assert _what_is_wrong(unknown, LostSum(0, 0, 0)).startswith("1 place of the archive is not known to the database; ")


@pytest.mark.parametrize(
    ("lost", "text"),
    [
        (LostSum(1, 1, 0), "1 record of 1 WARC file"),
        (LostSum(1, 2, 1), "2 records of 1 WARC file, and payloads to which 1 other refers"),
        (LostSum(2, 3, 4), "3 records of 2 WARC files, and payloads to which 4 others refer"),
    ],
)
def test_losses_are_told_in_numbers(lost: LostSum, text: str) -> None:
    assert lost_text(lost) == text


def test_progress_tells_of_one_page() -> None:
    progress = Progress((1,), 1.0, 1, 1.0, 1, 1, 1, 0, 0, 1, 0)
    assert crawl_text(progress, 1) == "1 page, 1 pages/s, seeds: 0 done 1 active 0 waiting, 1 error"
    assert crawl_text(replace(progress, pages=2, errors=0), 1).startswith("2 pages, ")
    assert import_text(ImportCounts(1, 0, 0)) == "1 seed read: 1 new, 0 duplicate, 0 invalid"


BUSY = Progress(
    (1, 2), 1.0, 1_234_567, 186.4, 1, 1, 12_345, 0, done=41_234, active=800, waiting=57_966, resting=3, rest_s=12.4
)


def test_progress_tells_what_is_waited_for_on_narrow_and_wide_terminals() -> None:
    wide = crawl_text(BUSY, 2, 160)
    assert wide == (
        "2 of 2 machines, 1,234,567 pages, 186 pages/s, seeds: 41,234 done 800 active 57,966 waiting, "
        "12,345 errors; resting: 3 sites, next in 12 s"
    )
    assert crawl_text(BUSY, 2) == wide
    assert crawl_text(BUSY, 2, 60) == "1,234,567 pages, 186/s; resting: 3 sites, next in 12 s"
    assert crawl_text(replace(BUSY, paused=True), 2, 60) == "1,234,567 pages, 186/s, 41,234 of 100,000 seeds; paused"


def test_progress_tells_how_long_it_takes_yet_on_narrow_and_wide_terminals() -> None:
    assert crawl_text(BUSY, 1, 160, 7_620.0) == (
        "1,234,567 pages, 186 pages/s, seeds: 41,234 done 800 active 57,966 waiting, "
        "12,345 errors; resting: 3 sites, next in 12 s; about 2.1 h left"
    )
    assert crawl_text(BUSY, 1, 60, 7_620.0) == "1,234,567 pages, 2.1 h left; resting: 3 sites, next in 12 s"
    assert crawl_text(replace(BUSY, rest_s=0.0), 1, 60, 7_620.0) == (
        "1,234,567 pages, 2.1 h left, 186/s; resting: 3 sites"
    )
    assert crawl_text(replace(BUSY, resting=0), 1, 60, 0.0) == (
        "1,234,567 pages, 1 s left, 186/s, 41,234 of 100,000 seeds"
    )
    for state in ({"paused": True}, {"outage": True}):
        assert "left" not in crawl_text(replace(BUSY, **state), 1, 160, 60.0), "nothing goes on"


@pytest.mark.parametrize("width", [60, 160])
@pytest.mark.parametrize("left", [None, 1e7])
@pytest.mark.parametrize("state", [{}, {"paused": True}, {"outage": True}, {"resting": 0}, {"rest_s": 90_000.0}])
def test_progress_fits(width: int, left: float | None, state: dict[str, Any]) -> None:
    assert len(crawl_text(replace(BUSY, **state), 200, width, left)) <= width


@pytest.mark.parametrize(
    ("left", "text"), [(0.4, "1 site"), (59.0, "1 site, next in 59 s"), (90, "1 site, next in 1.5 min")]
)
def test_progress_tells_when_the_first_site_is_asked_again(left: float, text: str) -> None:
    assert crawl_text(replace(BUSY, resting=1, rest_s=left), 1).endswith(f"; resting: {text}")


def test_a_crawl_of_one_seed_is_told_of_as_one() -> None:
    assert what_next(SUMMARY).startswith("the only seed is done, ")
    assert what_next(replace(SUMMARY, seeds={"dead": 1})).startswith("the only seed has ended as dead, ")
    assert what_next(replace(SUMMARY, seeds={"completed": 2})).startswith("all 2 seeds are done, ")
    mixed = replace(SUMMARY, seeds={"completed": 2, "dead": 198})
    assert what_next(mixed).startswith("all 200 seeds have ended (dead: 198, completed: 2), ")
    alone = what_next(replace(SUMMARY, seeds={"private-address": 1}))
    assert alone.startswith("warning: the only seed is at a private address, ")
    assert "the same command again" in alone, "whoever typed `crawl URL` has no database here for another one"


def test_a_party_of_one_page_tells_why() -> None:
    told = [end_detail(SeedCounts(pages=1), links) for links in (1, 2)]
    assert [text.split(" not followed")[0] for text in told] == [
        "1 link of its only page is",
        "2 links of its only page are",
    ]
