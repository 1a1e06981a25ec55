"""Seeds, their division among crawls, and the account of what was fetched."""

from __future__ import annotations

from collections import Counter

from experiments.lab.report import Row
from experiments.seed_by_seed import (
    DOORS,
    DRAWN,
    FULL,
    KILLED,
    ONE_DATABASE,
    QUICK,
    SEEDS_SPLIT,
    SITES_SPLIT,
    account,
    crawls_of,
    pages_of,
    report,
    seeds_of,
)
from scrawler.features.synthweb.truth import party
from scrawler.features.synthweb.web import SyntheticWeb

WEB = SyntheticWeb(FULL.spec)


def test_three_doors_lead_to_all_pages() -> None:
    for site, doors in enumerate(seeds_of(WEB, DOORS, 3)):
        assert set().union(*(party(WEB, url).pages for url in doors)) == set(pages_of(WEB, site))


def test_more_seeds_are_the_same_and_others() -> None:
    few, many = seeds_of(WEB, DRAWN, 3), seeds_of(WEB, DRAWN, 5)
    for site, seeds in enumerate(many):
        assert few[site] == seeds[:3]
        assert seeds[0] == WEB.seeds_of(site)[0]
        assert len(set(seeds)) == len(seeds)
        assert set(seeds) <= set(pages_of(WEB, site))


def test_crawls_apart_have_half_of_the_sites_or_half_of_the_seeds() -> None:
    seeds = [["a", "b", "c"], ["d"], ["e", "f"]]
    assert crawls_of(ONE_DATABASE, seeds) == [seeds]
    assert crawls_of(SITES_SPLIT, seeds) == [[["a", "b", "c"], ["e", "f"]], [["d"]]]
    assert crawls_of(SEEDS_SPLIT, seeds) == [[["a", "c"], ["d"], ["e"]], [["b"], [], ["f"]]]


def test_overlap_and_truth() -> None:
    figures = account(Counter({"a": 2, "b": 1, "file": 7}), {"a", "b", "c", "d"}, [{"a"}, {"b", "c"}])
    assert figures == {
        "pages found": 2,
        "found %": 50,
        "not as the truth says": 1,
        "pages fetched": 3,
        "overlap %": 50,
    }


def _row(way: str, count: int, found: int, wrong: int, overlap: float) -> Row:
    return {
        "arm": f"{way}, {count}",
        "way": way,
        "seeds a site": count,
        "pages found": found,
        "found %": found / 2,
        "not as the truth says": wrong,
        "overlap %": overlap,
        KILLED: 0,
    }


def test_what_speaks_against_us_is_said() -> None:
    alone = [_row(DOORS, 1, 100, 0, 0.0), _row(DOORS, 3, 95, 5, 0.0), _row(DRAWN, 3, 100, 0, 0.0)]
    found = report([*alone, _row(ONE_DATABASE, 3, 100, 0, 12.5), _row(SEEDS_SPLIT, 3, 100, 0, 3.0)], QUICK)
    assert "not what the truth says: doors, 3" in found.notes
    assert not any("killed" in note for note in found.notes)
    assert found.claims[0].ours == "doors, 3: -5.0 %, drawn, 3: +0.0 %"
    assert found.claims[1].ours == "one database 12.5 %; seeds split 3.0 %"


def test_crawls_that_were_killed_are_named() -> None:
    alone = [_row(DOORS, 1, 100, 0, 0.0), _row(DOORS, 3, 95, 5, 0.0), _row(DRAWN, 3, 100, 0, 0.0)]
    killed = {**_row(ONE_DATABASE, 3, 100, 0, 12.5), KILLED: 1}
    (note,) = [
        note for note in report([*alone, killed, _row(SEEDS_SPLIT, 3, 9, 0, 3.0)], QUICK).notes if KILLED in note
    ]
    assert note.endswith("what was there then: one database, 3")


def test_a_crawl_that_found_nothing_has_no_overlap() -> None:
    assert account(Counter(), {"a"}, [{"a"}])["overlap %"] == 0
