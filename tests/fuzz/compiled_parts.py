"""The compiled parts of a folder, built under a sanitizer, on pages of all kinds, hostile and damaged ones too.

Run: python -m tests.fuzz.compiled_parts FOLDER [--seed N] [--cases N] [--tests TEST ...]. Pages stand in memory that
ends where they do, so that one byte read too far is seen. The tests are run by pytest afterwards, on the same parts.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Iterator
from html.entities import html5
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from tests.compiled import LINKSCAN, ROOT, SIMHASH, compiled_parts, load
from tests.unit.extract.random_pages import damaged, page_of_pieces, page_of_tags

HOME = "http://h.org/"
_MOST_BYTES = 20_000  # of a page out of the documents at hand


def use(folder: Path) -> dict[str, ModuleType]:
    """Let the parts of a folder be those that the package imports."""
    parts = {}
    for name in compiled_parts():
        assert name not in sys.modules, f"{name} is imported already"
        parts[name] = sys.modules[name] = load(name, folder / f"{name}.so")
    return parts


def pages(seed: int, cases: int) -> Iterator[bytes]:
    """Yield so many pages: random ones, those of html5lib's tests if they are there, and damage of both."""
    rnd = Random(seed)
    vectors = [
        block.split(b"\n#errors\n")[0]
        for file in sorted((ROOT / ".vectors/html5lib-tests/tree-construction").glob("*.dat"))
        for block in (b"\n" + file.read_bytes()).split(b"\n#data\n")[1:]
    ]
    for case in range(cases):
        kind = rnd.randrange(5)
        page = page_of_tags(rnd.randrange(1 << 40)) if kind < 2 else page_of_pieces(rnd.randrange(1 << 40))
        if kind == 2 and vectors:
            page = rnd.choice(vectors)
        elif kind == 3:
            page *= rnd.randint(2, 200)
        yield damaged(page, rnd)[:_MOST_BYTES] if case % 2 else page[:_MOST_BYTES]


def read_all(scanner: ModuleType, simhash: ModuleType, seed: int, cases: int) -> None:
    """Read pages by all that reads pages, in all ways, and look their links up."""
    from scrawler.core.seen import MemoryBudget, compact_seen  # which import what was put in place of compiled parts
    from scrawler.urls.analyzer import UrlAnalyzer
    from scrawler.urls.hrefs import Hrefs
    from scrawler.urls.scope import PrefixRule

    scope = PrefixRule((HOME,))
    seen = compact_seen(MemoryBudget(1 << 30))
    known, plain = UrlAnalyzer(scope, cache_entries=500), UrlAnalyzer(scope, cache_entries=500, compiled=None)
    for case, page in enumerate(pages(seed, cases)):
        exact = (ctypes.c_char * len(page)).from_buffer_copy(page)
        for flags in range(4):
            found = scanner.scan(exact, flags, html5)
            assert found == scanner.scan(page, flags, html5), (seed, case, page)
        hrefs = Hrefs(found[0], found[1]) if isinstance(found[0], bytes) else found[0]
        links = known.analyze(f"{HOME}{case % 7}/", hrefs)
        assert links == plain.analyze(f"{HOME}{case % 7}/", list(hrefs)), (seed, case, page)
        seen.add(seen.unseen(links.internal))
        assert known.analyze(f"{HOME}{case % 7}/", hrefs, seen=seen).internal == [], (seed, case, page)
        for is_xml in (False, True):
            assert simhash.fingerprint(exact, is_xml) == simhash.fingerprint(page, is_xml), (seed, case, page)
        assert simhash.skeleton(exact) == simhash.skeleton(page), (seed, case, page)


def main() -> int:
    """Run all; returns an exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--tests", nargs="*")
    chosen = parser.parse_args()
    parts = use(chosen.folder)
    read_all(parts[LINKSCAN], parts[SIMHASH], chosen.seed, chosen.cases)
    print(f"{chosen.cases} pages", flush=True)
    if not chosen.tests:
        return 0
    # What a sanitizer says comes out at once; forms in Python and the filters of others are not asked again.
    # Nor are tests that say how much memory something takes: the sanitizer takes a multiple of it.
    ours = (
        "not python and not rbloom and not pybloom and not ExactSeen and not -None]"
        " and not memory_is_bounded and not a_million_urls"
    )
    return int(pytest.main(["-q", "-s", "-p", "no:cacheprovider", "-k", ours, *chosen.tests]))


if __name__ == "__main__":
    sys.exit(main())
