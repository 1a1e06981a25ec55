"""Main texts of labelled pages, as `scrawler corpus` finds them."""

from __future__ import annotations

from statistics import fmean

import pytest

from experiments.bench.labelled import TEXTS, labelled_pages
from experiments.bench.maintext_bench import Score, score
from scrawler.features.texts.corpus import text_reader

pytest.importorskip("resiliparse")


def main_text(page: str) -> str:
    found = text_reader()(page.encode())
    assert found is not None
    return found.text


def test_the_main_text_of_labelled_pages_is_found() -> None:
    scores = {page.name: score(main_text(page.html), page.main) for page in labelled_pages()}
    mean = Score(*map(fmean, zip(*scores.values(), strict=True)))
    assert mean.precision > 0.85, scores
    assert mean.recall > 0.99, scores  # a list is not taken for a menu where its page says that it is the main text
    assert {scores[f"{layout}-bridge"].f1 > 0.95 for layout in ("semantic", "divs", "banner", "bare", "wiki")} == {True}


def test_what_is_beside_the_text_within_main_is_left_out() -> None:
    text = TEXTS["cache"]
    paragraphs = "".join(f"<p>{one}</p>" for one in text.paragraphs)
    beside = "<aside>Most read this week</aside><div class=related-posts><p>Ten ways to tie a knot</div>"
    page = f"<body><main><article><h1>{text.title}</h1>{paragraphs}</article>{beside}</main>"
    found = main_text(page)
    assert "walks over one sixteenth" in found
    assert "Most read" not in found
