"""What a plan knows of its sites, and what it assumes of the others."""

from __future__ import annotations

import zlib

import pytest

from scrawler.errors import SettingsError
from scrawler.features.plan.inputs import Gatherer, Inputs, Limits
from scrawler.features.plan.plan import Plan, make_plan
from scrawler.features.plan.progress import Bound
from scrawler.features.plan.rules import PlannedSite, PlanRules
from scrawler.features.plan.sizes import AssumedSizes
from scrawler.model.sizes import SizedSite
from tests.tables import each

LIMITS = Limits("SCrawler", 60.0, None)


def sized(key: str, *requests: int, waiting: int = 0, response: float | None = 200.0, robots: str = "") -> SizedSite:
    packed = (zlib.compress(robots.encode()),) if robots else ()
    return SizedSite(key, requests, waiting, sum(requests), response, 50.0 if response else 0.0, packed)


def gather(known: list[SizedSite], wanted: dict[str, int] | None = None, limits: Limits = LIMITS) -> Inputs:
    gatherer = Gatherer(known, limits, None, None)
    return gatherer.all_known() if wanted is None else gatherer.sites(wanted)


def test_what_is_known_is_taken_as_it_is() -> None:
    made = gather([sized("a.org", 10, 20), sized("b.org", 0, response=None)])
    assert made.sites == [PlannedSite((10, 20), 0.2, 0.0, 0.05), PlannedSite((0,), 0.2)]
    assert (made.seeds, made.pages, list(made.assumed)) == (3, 30, [0, 0])


def test_other_seeds_of_a_known_site_find_its_pages() -> None:
    made = gather([sized("a.org", 10, 21)], {"a.org": 3})
    assert made.sites[0].requests == (11, 10, 10)
    assert made.pages == 31


def test_sites_that_nobody_knows_are_like_those_that_are_known() -> None:
    known = [sized(f"{n}.org", n, response=100.0 * n) for n in range(1, 10)]
    wanted = {f"new{n}.org": 1 for n in range(300)}
    made = gather(known, wanted)
    assert {site.total for site in made.sites} == set(range(1, 10))
    assert {site.response for site in made.sites} == {0.5}  # their median
    assert made.sizes == "sizes like those of 9 known sites"
    assert made.sites == gather(known, wanted).sites
    assert {site.total for site in made.scaled(2.0)} == set(range(2, 20, 2))


def test_a_crawl_delay_is_kept_as_the_crawl_keeps_it() -> None:
    robots = "User-agent: scrawler\nCrawl-delay: {}\n\nUser-agent: *\nCrawl-delay: 1\n"
    known = [sized("a.org", 5, robots=robots.format(7)), sized("b.org", 5, robots=robots.format(70))]
    assert [site.crawl_delay for site in gather(known).sites] == [7.0, 0.0]


def test_a_limit_of_pages_cuts_each_seed() -> None:
    made = gather([sized("a.org", 10, 200)], limits=Limits("SCrawler", 60.0, 50))
    assert made.sites[0].requests == (10, 50)
    assert made.pages == 60


@each("text", ["", "0", "x", "-1", "pareto:", "pareto:0", "1.5", "pareto:x"])
def test_sizes_that_cannot_be(text: str) -> None:
    with pytest.raises(SettingsError, match="--pages-per-site"):
        AssumedSizes.parse(text)


def test_assumed_sizes_have_the_mean_that_is_asked_for() -> None:
    assert set(AssumedSizes.parse("30").pages(10)) == {30}
    sizes = list(AssumedSizes.parse("pareto:30").pages(2_000))
    assert sum(sizes) / len(sizes) == pytest.approx(30, rel=0.05)
    assert max(sizes) > 20 * 30


def plan(known: list[SizedSite], **rules: object) -> Plan:
    return make_plan(gather(known), PlanRules(**rules))  # type: ignore[arg-type]


def test_a_large_site_alone_bounds_the_crawl() -> None:
    made = plan([sized("large.org", 2_000), *(sized(f"{n}.org", 20) for n in range(100))])
    assert made.bound is Bound.POLITENESS
    assert made.alone
    assert made.largest[0].site == "large.org"
    assert made.done[0.97] < 0.02 * made.seconds
    assert made.low == made.seconds == made.high
    changes = {one.what: one.seconds for one in made.changes}
    assert changes["half the delay and delay_factor"] == pytest.approx(made.seconds * 0.7 / 1.2, rel=0.01)
    assert changes["twice the threads"] == changes["twice the machines"] == made.seconds


def test_places_bound_a_crawl_of_many_sites() -> None:
    made = plan([sized(f"{n}.org", 20) for n in range(2_000)], threads=10)
    assert made.bound is Bound.PLACES
    assert made.held[5] == made.places == 100
    assert made.changes[1].seconds == pytest.approx(made.seconds / 2, rel=0.05)


def test_of_very_many_sites_a_part_tells_what_changes_bring(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [sized(f"{n}.org", 1 + n % 20) for n in range(8_000)]
    whole = plan(known)
    monkeypatch.setattr("scrawler.features.plan.plan._PLAYED", 2_000)
    part = plan(known)
    assert part.seconds == whole.seconds
    for ours, theirs in zip(part.changes, whole.changes, strict=True):
        assert ours.seconds == pytest.approx(theirs.seconds, rel=0.05)
