"""The rules of the crawling threads are a view of the settings."""

from __future__ import annotations

from dataclasses import fields

from scrawler.core.rules import CrawlRules
from scrawler.settings import Settings
from tests.crawl_rules import crawl_rules

IN_OTHER_WORDS = {
    "capacity",
    "fetch",
    "limits",
    "logins",
    "patterns",
    "settings",
    "retry_pause_ms",
    "without_proxy",
    "www",
}


def test_a_rule_has_the_name_and_the_value_of_its_setting() -> None:
    settings = Settings(delay=7.5, per_site=3, checkpoint_pages=77, sitemaps="also", accept=["text/plain"])
    rules = CrawlRules.of(settings)
    named = [one.name for one in fields(rules) if one.init and one.name not in IN_OTHER_WORDS]
    assert len(named) > 20
    assert {name: getattr(rules, name) for name in named} == {name: getattr(settings, name) for name in named}


def test_what_settings_say_in_other_words() -> None:
    rules = CrawlRules.of(Settings(max_time=1.5, retry_pause=2, seeds_per_thread=9, normalise=["www"]))
    assert (rules.limits.max_time_ms, rules.retry_pause_ms, rules.capacity, rules.www) == (1500, 2000, 9, True)


def test_rules_change_in_place_with_all_that_follows_from_them() -> None:
    rules = crawl_rules(per_site=1, slow_per_site=1)
    rules.change_to(CrawlRules.of(Settings(per_site=4)))
    assert (rules.per_site, rules.most_in_flight) == (4, 4)
