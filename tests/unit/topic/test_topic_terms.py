"""Scores of pages and links by weighted terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.features.topic.terms import LEVELS, TopicError, level_of, read_topic

TOPIC = read_topic("2 thread pool\nlock   # of weight 1\n-1 jobs\n0.5 Mutex\n")
FILLER = "some words that say nothing of it "


def test_a_page_that_speaks_of_a_topic_scores_and_others_do_not() -> None:
    assert TOPIC.of_text(FILLER * 100) == 0
    once, often = (TOPIC.of_text(FILLER * 100 + "a lock. " * times) for times in (1, 10))
    assert 0 < once < often < 1


def test_a_term_in_a_long_text_counts_less() -> None:
    assert TOPIC.of_text("a lock " * 3 + FILLER * 10) > TOPIC.of_text("a lock " * 3 + FILLER * 1000)


def test_terms_of_two_words_stand_together_and_letters_may_be_large() -> None:
    assert TOPIC.of_words("The Thread-Pool") == 1
    assert TOPIC.of_words("a pool of thread") == 0
    assert TOPIC.of_words("MUTEX") == 0.25


def test_a_negative_weight_speaks_against_a_page() -> None:
    assert TOPIC.of_text("lock jobs jobs jobs") < TOPIC.of_text("lock")
    assert TOPIC.of_words("jobs") == 0


def test_a_link_is_judged_by_its_words_and_its_page() -> None:
    url = "http://thread-pool.example/x.html"
    assert TOPIC.of_link(url, "", 0.0) == 0, "the host is the same for all links of a site"
    assert TOPIC.of_link("http://a.org/thread_pool.html", "", 0.0) == pytest.approx(0.6)
    assert TOPIC.of_link("http://a.org/thread%20pool", "", 0.0) == pytest.approx(0.6)
    assert TOPIC.of_link(url, "the thread pool", 1.0) == 1
    assert TOPIC.of_link(url, "next", 1.0) == pytest.approx(0.4)


@given(st.text(), st.text(), st.floats(0, 1))
def test_scores_are_from_0_to_1_and_levels_follow_them(text: str, url: str, page: float) -> None:
    scores = [TOPIC.of_text(text), TOPIC.of_words(text), TOPIC.of_link(url, text, page)]
    assert all(0 <= score <= 1 for score in scores)
    assert all(0 <= level_of(score) < LEVELS for score in scores)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no term with a weight above 0"),
        ("# nothing\n-1 jobs", "no term with a weight above 0"),
        ("lock\n1 LOCK", "line 2: the term 'lock' is there twice"),
        ("0 lock", "line 1: a weight is a number other than 0"),
        ("nan lock", "line 1: a weight is a number other than 0"),
        ("1 --", "line 1: no term of words"),
        ("\n".join(f"t{n}" for n in range(1_001)), "more than 1,000 terms"),
    ],
)
def test_a_list_that_cannot_be_understood_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(TopicError, match=why):
        read_topic(text)
