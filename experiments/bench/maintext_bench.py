"""Which library finds main texts best, and what that costs: python -m experiments.bench.maintext_bench.

Texts are compared by the words that they have in common with the label, each as often as it stands there (Japanese by
characters): precision, recall, and F1, their harmonic mean, averaged over the labelled pages; the worst page is told as
well. Beside resiliparse, which `scrawler corpus` uses, it wants trafilatura: pip install trafilatura lxml_html_clean.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from statistics import fmean
from typing import Any, NamedTuple

import html5lib

from experiments.bench.labelled import Labelled, labelled_pages
from scrawler.extract.visible import visible_text
from scrawler.features.texts.corpus import text_reader

_WORD = re.compile(r"[぀-ヿ一-鿿]|\w+")
_LEFT_OUT = ("nav", "header", "footer", "aside", "script", "style", "form", "button")
_ROUNDS = 5

Finder = Callable[[str], str]


class Score(NamedTuple):
    """How well the text of a page was found, from 0 to 1."""

    precision: float
    recall: float
    f1: float


def score(found: str, label: str) -> Score:
    """Compare a text with the label."""
    have, want = Counter(_WORD.findall(found.lower())), Counter(_WORD.findall(label.lower()))
    common = (have & want).total()
    if not common:
        return Score(0.0, 0.0, 0.0)
    precision, recall = common / have.total(), common / want.total()
    return Score(precision, recall, 2 * precision * recall / (precision + recall))


def by_rule(page: str) -> str:
    """Return the text of <main> or <article>, else of all but what is not main text by its element: html5lib."""
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    root = next((one for name in ("main", "article") for one in tree.iter(name)), tree.find("body"))
    return " ".join(_texts(root)) if root is not None else ""


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node.tag, str) and node.tag not in _LEFT_OUT:
        yield node.text or ""
        for child in node:
            yield from _texts(child)
            yield child.tail or ""


def finders() -> Iterator[tuple[str, Finder]]:
    """Yield the ways to find a main text that are installed, by their names."""
    corpus = text_reader()
    yield "resiliparse", lambda page: found.text if (found := corpus(page.encode())) is not None else ""
    try:
        extract: Callable[..., str | None] = import_module("trafilatura").extract
    except ImportError:
        print("trafilatura is not installed, and left out: pip install trafilatura lxml_html_clean")
    else:
        yield "trafilatura", lambda page: extract(page, include_comments=False) or ""
        yield "trafilatura, fast", lambda page: extract(page, include_comments=False, fast=True) or ""
        yield "trafilatura, favor_recall", lambda page: extract(page, include_comments=False, favor_recall=True) or ""
    yield "html5lib, by rule", by_rule
    yield "all text", lambda page: visible_text(page.encode(), "text/html; charset=utf-8", "text/html") or ""


def measured(find: Finder, pages: Sequence[Labelled]) -> tuple[Score, tuple[float, str], float]:
    """Return the mean score, the worst F1 with its page, and the CPU time of a page in milliseconds."""
    scores = [score(find(page.html), page.main) for page in pages]
    worst = min(zip((one.f1 for one in scores), (page.name for page in pages), strict=True))
    begun = time.process_time()
    for _ in range(_ROUNDS):
        for page in pages:
            find(page.html)
    cost = (time.process_time() - begun) / _ROUNDS / len(pages) * 1000
    return Score(*map(fmean, zip(*scores, strict=True))), worst, cost


def main() -> None:
    """Print a table."""
    pages = list(labelled_pages())
    size = fmean(len(page.html.encode()) for page in pages)
    print(f"{len(pages)} labelled pages of {size / 1000:.1f} KB on average\n")
    print("| | precision | recall | F1 | worst F1 | CPU ms a page |\n|---|---|---|---|---|---|")
    for name, find in finders():
        mean, (least, page), cost = measured(find, pages)
        print(
            f"| {name} | {mean.precision:.3f} | {mean.recall:.3f} | {mean.f1:.3f} | {least:.2f} ({page}) | {cost:.2f} |"
        )


if __name__ == "__main__":
    main()
