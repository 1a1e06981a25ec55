"""Microseconds a page of what traps cost: patterns alone, and with texts compared; not a test.

Run: python tests/bench/bench_traps.py [FOLDER of HTML files]. `words`: no URL folds, so that nothing is in doubt.
`numbers`: all have one pattern. `text` is what a page costs whose text is compared, for its words and for its simhash.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time

from scrawler.core.traps.traps import PartyTraps
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.simhash import fingerprint_of, simhash
from tests.crawl_rules import crawl_rules

PAGES, ROUNDS = 600, 3
EXTRACTOR = LexborExtractor()


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
            wanted = traps.wants_text(url, links.hrefs)
            spent += thread_time() - begin
            words = EXTRACTOR.links(body, url, wants_words=lambda hrefs: True).words if wanted else None
            begin = thread_time()
            text = fingerprint_of(words) if words is not None else None
            traps.refusal(url)
            traps.note(url, False, links.hrefs, text)
            spent += thread_time() - begin
        best = min(best, spent)
    return best / len(bodies) * 1e6


def main() -> None:
    """Print the costs for the HTML files of a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/doc/postgresql-doc-15/html")
    files = sorted(folder.rglob("*.html"))[:PAGES]
    bodies = [file.read_bytes() for file in files]
    print(f"{len(bodies)} pages, {sum(map(len, bodies)) / len(bodies) / 1024:.0f} KB each")
    for name, url_of in (("words", lambda n: f"http://h{files[n]}"), ("numbers", lambda n: f"http://h/show?id={n}")):
        for mode in ("off", "doubt", "all"):
            print(f"{name:8} {mode:6} {measure(bodies, url_of, mode):7.1f}")
    begin = thread_time()
    for body in bodies:
        EXTRACTOR.links(body, "http://h/")
    between = thread_time()
    said = [EXTRACTOR.links(body, "http://h/", wants_words=lambda hrefs: True).words for body in bodies]
    words = thread_time() - between - (between - begin)
    begin = thread_time()
    for one in said:
        simhash(one or frozenset())
    print(f"text: words {words / len(said) * 1e6:.1f}, simhash {(thread_time() - begin) / len(said) * 1e6:.1f}")


if __name__ == "__main__":
    main()
