"""How long a crawl that goes on takes yet."""

from __future__ import annotations

import pytest

from scrawler.features.plan.left import seconds_left
from scrawler.model.sizes import CrawlLeft, SiteLeft, SizedSite
from scrawler.settings import Settings

SETTINGS = Settings.model_validate(
    {"delay": 1.0, "delay_factor": 0.0, "threads": 2, "seeds_per_thread": 10, "robots": False}
)


def site(number: int, *requests: int, asked: int = 0, waiting: int = 0, rests: float = 0.0) -> SiteLeft:
    """Return a site of which each seed that was begun takes so many requests; of those seeds none is done."""
    sized = SizedSite(f"{number}.org", requests, waiting, asked, 1_000.0, 0.0, ())
    return SiteLeft(sized, asked, len(requests) + waiting, rests)


def left(*sites: SiteLeft, step: int = 1, settings: Settings = SETTINGS) -> float | None:
    return seconds_left(CrawlLeft(sites, step, 1), settings, "SCrawler", cores=1)


def test_a_site_takes_as_long_as_what_it_was_not_yet_asked() -> None:
    assert left(site(1, 100)) == pytest.approx(199.0, abs=0.5), "a second of answer, a second of pause"
    assert left(site(1, 100, asked=60)) == pytest.approx(79.0, abs=0.5)
    assert left(site(1, 100, asked=60), site(2, 30)) == pytest.approx(79.0, abs=0.5), "both at once"


def test_a_site_that_is_left_alone_is_waited_for() -> None:
    assert left(site(1, 100, asked=99, rests=600.0), site(2, 30)) == pytest.approx(601.0, abs=0.5)


def test_sites_that_were_not_begun_are_taken_for_like_the_others() -> None:
    assert left(site(1, 40), site(2, waiting=1)) == pytest.approx(79.0, abs=0.5)


def test_nothing_is_told_before_anything_is_known() -> None:
    assert left(site(1, waiting=1)) is None
    assert left() is None


def test_what_is_done_takes_no_time() -> None:
    done = site(1, 40, asked=40)._replace(unfinished=0)
    assert left(done) == 0.0


def test_a_sample_takes_about_as_long_as_the_whole() -> None:
    """Four hundred sites at twenty places, and one of ten of them."""
    sites = [site(number, 20 + number % 7, asked=number % 5) for number in range(400)]
    whole, sample = left(*sites), left(*sites[::10], step=10)
    assert whole is not None
    assert sample == pytest.approx(whole, rel=0.15)


def test_a_crawl_takes_as_long_as_its_seeds_at_the_pace_of_late() -> None:
    """Eight seeds in ten seconds, where pages tell of less."""
    waiting = [site(number, waiting=1) for number in range(4_000)]
    crawl = CrawlLeft((site(-1, 2, asked=1), *waiting), 10, 1, ended=480, ended_in=600.0)
    assert seconds_left(crawl, SETTINGS, "SCrawler", cores=1) == pytest.approx(40_010 / 0.8)
    refused = CrawlLeft(tuple(waiting), 10, 1, ended=480, ended_in=600.0)
    assert seconds_left(refused, SETTINGS, "SCrawler", cores=1) == pytest.approx(40_000 / 0.8), "no page tells anything"


def test_few_seeds_that_have_ended_tell_no_pace() -> None:
    large = [site(number, 100) for number in range(20)]
    by_pages = left(*large)
    crawl = CrawlLeft(tuple(large), 1, 1, ended=3, ended_in=60.0)
    assert seconds_left(crawl, SETTINGS, "SCrawler", cores=1) == by_pages
