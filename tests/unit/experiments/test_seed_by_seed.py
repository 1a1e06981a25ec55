"""Seeds, their division among crawls, and the account of what was fetched."""

from __future__ import annotations

from collections import Counter

from experiments.seed_by_seed import (
    DOORS,
    DRAWN,
    FULL,
    ONE_DATABASE,
    SEEDS_SPLIT,
    SITES_SPLIT,
    account,
    crawls_of,
    pages_of,
    seeds_of,
)
from scrawler.synthweb.truth import party
from scrawler.synthweb.web import SyntheticWeb

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
