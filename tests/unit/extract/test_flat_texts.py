"""Texts of flat and of nested pages take time in proportion to their length."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import pytest

from scrawler.extract.trees import tree_of
from scrawler.extract.visible import visible_text
from scrawler.features.texts.corpus import text_reader

FEW, MANY = 2_000, 32_000
PAGES: dict[str, Callable[[int], bytes]] = {
    "options": lambda number: b"<select>" + b"<option>a</option>" * number + b"</select>",
    "groups of options": lambda number: b"<select>" + b"<optgroup><option>a</optgroup>" * number,
    "hidden options": lambda number: b"<select>" + b"<option hidden>a" * number,
    "texts in nested elements": lambda number: b"<span>" * 3_000 + b"a<i></i>" * number,
    "nested tables": lambda number: b"<i class=gutter></i>" + b"<table><tr><td>1<td>x" * (number // 40),
    "titles of pictures": lambda number: b"<svg>" + b"<title>a</title>" * (number // 16),
    "cells": lambda number: b"<table><tr>" + b"<td>a" * number,
    "line breaks": lambda number: b"a<br>" * number,
}


def _takes(read: Callable[[bytes], object], page: bytes) -> float:
    began = thread_time()
    read(page)
    return thread_time() - began


def _visible(page: bytes) -> str | None:
    return visible_text(page, "text/html", "text/html")


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_of_sixteen_times_the_length_takes_no_sixty_four_times_as_long(kind: str) -> None:
    few, many = PAGES[kind](FEW), PAGES[kind](MANY)
    for read in (_visible, text_reader()):
        short = max(min(_takes(read, few) for _ in range(3)), 0.002)
        # The machine may be busy with other things in one measurement: the best of three counts.
        assert any(_takes(read, many) < 64 * short for _ in range(3)), read


def test_options_are_still_lines_of_a_text() -> None:
    page = b"<p>one</p><select><option>two</option><option>three</option></select><p>four <b>five</b></p>"
    assert _visible(page) == "one\ntwo\nthree\nfour five"
    assert len(tree_of(page).css("option")) == 2
