"""What is told of numbers: one is told of as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrawler.cli.hints import what_next
from scrawler.cli.losses import lost_text
from scrawler.cli.progress import crawl_text, import_text
from scrawler.cli.verify import _progress, _said, _what_is_wrong
from scrawler.core.party.decisions import end_detail
from scrawler.core.progress import Progress, RunSummary
from scrawler.model.seeds import SeedCounts
from scrawler.seeds.importer import ImportCounts
from scrawler.store.losses import LostSum
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


def test_a_crawl_of_one_seed_is_told_of_as_one() -> None:
    assert what_next(SUMMARY).startswith("the only seed is done, ")
    assert what_next(replace(SUMMARY, seeds={"completed": 2})).startswith("all 2 seeds are done, ")
    alone = what_next(replace(SUMMARY, seeds={"private-address": 1}))
    assert alone.startswith("warning: the only seed is at a private address, ")


def test_a_party_of_one_page_tells_why() -> None:
    told = [end_detail(SeedCounts(pages=1), links) for links in (1, 2)]
    assert [text.split(" not followed")[0] for text in told] == [
        "1 link of its only page is",
        "2 links of its only page are",
    ]
