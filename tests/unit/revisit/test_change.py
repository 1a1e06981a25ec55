"""What is a change, and who is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.simhash import fingerprint_of
from scrawler.features.revisit.policies.change import (
    Difference,
    Print,
    SitemapTrust,
    Trust,
    changefreq_is_right,
    changefreq_prior,
    difference,
    modified_is_right,
    print_of,
    stable_text,
)
from scrawler.features.revisit.policies.estimator import DAY_S, UNKNOWN
from tests.tables import each


@each(
    ("one", "other"),
    [
        ("Updated 2026-11-23T10:20:30Z by us", "Updated 2025-01-02T03:04:05Z by us"),
        ("Mon, 23 November 2026 10:20 am", "Tue, 24 November 2026 9:01 pm"),
        ("March 5th, 2024: news", "Feb 12, 2025: news"),
        ("on 12.10.2024", "on 1.1.2025"),
        ("1,234 views and 5 comments", "1,240 views and 17 comments"),
        ("Visitors: 12345", "Visitors: 12,399"),
        ("page made in 0.123 seconds", "page made in 14 ms"),
        ("3 days ago", "an hour ago"),
        ("id 8f14e45f-ceea-467f-a1d6-b4b1f4a5c3d2.", "id 00000000-1111-2222-3333-444444444444."),
        ("token a8f3c09be1d24f6789ab end", "token 77b1e0ff23d9c1a84e5 end"),
        ("© 2024-2025 Us", "© 2024-2026 Us"),
    ],
)
def test_what_changes_by_itself_is_no_change(one: str, other: str) -> None:
    assert stable_text(one) == stable_text(other)
    before, now = (print_of(text.encode(), text) for text in (one, other))
    assert difference(before, now) is Difference.BY_ITSELF


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Price: 12.50 EUR", "Price: 14.00 EUR"),
        ("version 3.11", "version 3.12"),
        ("well-documented-long-hyphenated", "well-documented-short-hyphenated"),
        ("We may come", "We will come"),
        ("10 apples", "11 apples"),
    ],
)
def test_news_is_a_change(one: str, other: str) -> None:
    before, now = (print_of(text.encode(), text) for text in (one, other))
    assert difference(before, now) is Difference.CHANGED


def test_a_tolerance_lets_a_word_of_many_change() -> None:
    def simhash(text: bytes) -> int:
        return fingerprint_of(text).simhash

    text = " ".join(f"word{chr(97 + one % 26)}{chr(97 + one // 26)}" for one in range(600))
    before, now = (print_of(one.encode(), one, simhash) for one in (text, text.replace("wordab", "other")))
    far = print_of(b"another", "quite another text about something else", simhash)
    assert difference(before, now) is Difference.CHANGED
    assert difference(before, now, near=3) is Difference.NEAR
    assert difference(before, far, near=3) is Difference.CHANGED
    assert difference(before, before, near=3) is Difference.NONE


def test_what_has_no_text_is_known_by_its_bytes() -> None:
    assert difference(print_of(b"\x89PNG1", None), print_of(b"\x89PNG2", None), near=3) is Difference.CHANGED
    assert difference(Print(b"a", b"t", 0), Print(b"b", b"u", 0), near=64) is Difference.CHANGED


@given(st.text())
def test_any_text_can_be_read_and_is_stable(text: str) -> None:
    assert isinstance(stable_text(text), str)
    print_of(text.encode("utf-8", "replace"), text)


def test_trust_is_earned_and_lost() -> None:
    trust = Trust()
    assert not trust.believed
    for _ in range(8):
        assert not trust.believed
        trust = trust.told(True)
    assert trust.believed
    for _ in range(500):
        trust = trust.told(True)
    lies = 0
    while trust.believed:
        trust = trust.told(False)
        lies += 1
    assert lies < 16  # what is long ago has been forgotten


@given(st.lists(st.booleans(), max_size=300))
def test_trust_is_a_share_and_bounded(words: list[bool]) -> None:
    trust = Trust()
    for word in words:
        trust = trust.told(word)
    assert 0 < trust.share < 1
    assert trust.hits + trust.misses <= 65


def test_last_modified_is_held_against_two_visits() -> None:
    assert modified_is_right(150, before=100, now=200, changed=True)
    assert modified_is_right(50, before=100, now=200, changed=False)
    assert modified_is_right(50, before=100, now=200, changed=True) is False
    assert modified_is_right(150, before=100, now=200, changed=False) is False
    assert modified_is_right(900, before=100, now=200, changed=True) is False
    assert modified_is_right(101, before=100, now=200, changed=True) is None


def test_sitemaps_are_believed_each_way_as_far_as_they_proved_true() -> None:
    """One that is made anew each day says that all has changed; where it says that nothing has, it is right."""
    trust = SitemapTrust()
    for _ in range(20):
        trust = trust.told(lastmod=150, before=100, changed=False)
        trust = trust.told(lastmod=50, before=100, changed=False)
    assert trust.says(150, 100) is None
    assert trust.says(50, 100) is False


def test_changefreq_is_a_prior_where_it_is_believed() -> None:
    believed = Trust(30, 0)
    assert changefreq_prior("daily", Trust(), UNKNOWN) == UNKNOWN
    assert changefreq_prior("often", believed, UNKNOWN) == UNKNOWN
    assert changefreq_prior(" Daily ", believed, UNKNOWN).mean == pytest.approx(1 / DAY_S)
    assert changefreq_is_right("daily", 0.5 / DAY_S)
    assert changefreq_is_right("weekly", 1 / DAY_S) is False
    assert changefreq_is_right("", 1 / DAY_S) is None
