"""A diff of lines: right whatever the texts, and in bounded time."""

from __future__ import annotations

import random
import re
import time
from difflib import unified_diff

import pytest

from scrawler.features.revisit.line_diff import unified
from tests.tables import each

NAMES, DATES = ("a", "b"), ("then", "now")


def patched(before: list[str], diff: list[str]) -> list[str]:
    """Apply a diff, as `patch` does."""
    done: list[str] = []
    at = 0
    for line in diff[2:]:
        if match := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            begin = int(match[1]) - (match[2] != "0")
            done += before[at:begin]
            at = begin
            assert len(done) == int(match[3]) - (match[4] != "0")
        elif line[0] == "+":
            done.append(line[1:])
        else:
            assert before[at] == line[1:]
            at += 1
            done += [line[1:]] if line[0] == " " else []
    return done + before[at:]


@each("seed", range(60))
def test_a_diff_makes_one_text_of_the_other(seed: int) -> None:
    rng = random.Random(seed)
    words = [str(n) for n in range(rng.choice((2, 10, 1_000)))]
    before = rng.choices(words, k=rng.randrange(60))
    after = list(before)
    for _ in range(rng.randrange(12)):
        at = rng.randrange(len(after) + 1)
        after[at : at + rng.randrange(3)] = rng.choices(words, k=rng.randrange(3))
    assert patched(before, list(unified(before, after, NAMES, DATES))) == after


def test_it_is_that_of_difflib_where_a_text_is_plain() -> None:
    before = [f"line {n}" for n in range(100)]
    after = [*before[:20], "new", *before[20:60], "other", *before[61:]]
    assert list(unified(before, after, NAMES, DATES)) == list(unified_diff(before, after, *NAMES, *DATES, lineterm=""))
    assert list(unified(before, before, NAMES, DATES)) == []
    assert list(unified([], [], NAMES, DATES)) == []


@pytest.mark.parametrize("kinds", [2, 150, 30_000])
def test_the_worst_texts_take_a_bounded_time(kinds: int) -> None:
    """Fifty thousand lines, drawn at random: difflib alone would take minutes to hours."""
    rng = random.Random(kinds)
    words = [f"word {n}" for n in range(kinds)]
    before, after = (rng.choices(words, k=50_000) for _ in range(2))
    for at in range(0, 50_000, 500):  # anchors, between which difflib compares what it may
        before[at] = after[at] = f"anchor {at}"
    began = time.process_time()
    diff = list(unified(before, after, NAMES, DATES))
    assert time.process_time() - began < 60
    assert patched(before, diff) == after
