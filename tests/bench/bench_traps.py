"""Microseconds a page of what traps cost: patterns alone, and with texts compared; not a test.

Run: python tests/bench/bench_traps.py [FOLDER of HTML files]. `words`: no URL folds, so that nothing is in doubt.
`numbers`: all have one pattern; the first 50 pages of it, and all. `text` is what a page costs whose text is read: its
skeleton, and its words with their simhash, compiled and in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

from scrawler.core.traps.traps import PartyTraps
from scrawler.extract import plain_simhash
from scrawler.extract.scanner import fastest_extractor
from scrawler.extract.simhash import COMPILED
from tests.crawl_rules import crawl_rules

PAGES, FEW, ROUNDS = 600, 50, 5
EXTRACTOR = fastest_extractor()


def measure(bodies: list[bytes], url_of: Callable[[int], str], mode: str) -> float:
    """Return the microseconds a page of the best round; links are extracted afresh, as their hashes are kept."""
    rules = crawl_rules(traps=True, near_duplicates=mode)
    best = float("inf")
    for _ in range(ROUNDS):
        traps, spent = PartyTraps(1, rules), 0.0
        for number, body in enumerate(bodies):
            url = url_of(number)
            links = EXTRACTOR.links(body, url)
            begin = thread_time()
            text = traps.read_text(url, links)
            traps.refusal(url)
            traps.note(url, False, links.hrefs, text)
            spent += thread_time() - begin
        best = min(best, spent)
    return best / len(bodies) * 1e6


def each(read: Callable[[bytes], object], bodies: list[bytes]) -> float:
    """Return the microseconds that reading takes of the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = thread_time()
        for body in bodies:
            read(body)
        best = min(best, thread_time() - begin)
    return best / len(bodies) * 1e6


def print_costs_of(form: Any, bodies: list[bytes]) -> None:
    """Print what the text of a page costs in one form."""
    words = each(lambda body: form.fingerprint(body, False), bodies)
    print(f"text: skeleton {each(form.skeleton, bodies):.1f}, words and simhash {words:.1f}")


def main() -> None:
    """Print the costs for the HTML files of a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/doc/postgresql-doc-15/html")
    files = sorted(folder.rglob("*.html"))[:PAGES]
    bodies = [file.read_bytes() for file in files]
    print(f"{len(bodies)} pages, {sum(map(len, bodies)) / len(bodies) / 1024:.0f} KB each")
    for name, url_of in (("words", lambda n: f"http://h{files[n]}"), ("numbers", lambda n: f"http://h/show?id={n}")):
        for mode in ("off", "doubt", "all"):
            few, every = (measure(some, url_of, mode) for some in (bodies[:FEW], bodies))
            print(f"{name:8} {mode:6} {few:7.1f} {every:7.1f}")
    for form in filter(None, (COMPILED, plain_simhash)):
        print_costs_of(form, bodies)


if __name__ == "__main__":
    main()
