"""Microseconds a link of the URL Analyzer, on hrefs like those of documentation sites; not a test.

Run: python tests/bench/bench_urls.py. `new`: every href is met for the first time. `steps`: with the steps that
are usual. `cached`: every href was met on an earlier page. Strings are made afresh for each round, as an
extractor makes them. ada alone is the yardstick.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from ada_url import join_url

from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from scrawler.urls.steps import make_steps

PAGES, ROUNDS = 100, 5
SEED = "http://127.1.0.1/library/index.html"
Site = list[tuple[str, list[str]]]


def page_links(page: int) -> list[str]:
    """Links of one page: 150, most of them relative, a third with a fragment; `page` makes them its own."""
    hrefs = [f"../library/module{page}-{n}.html#module{n}.name" for n in range(50)]
    hrefs += [f"chapter{page}-{n}.html" for n in range(40)]
    hrefs += [f"../reference/part{page}/section{n}.html" for n in range(30)]
    hrefs += [f"#paragraph-{n}" for n in range(15)]
    hrefs += [f"/whatsnew/{page}/{n}.html" for n in range(7)]
    hrefs += [f"https://github.com/python/cpython/issues/{page * 10 + n}" for n in range(5)]
    return [*hrefs, f"../_static/{page}.css", f"mailto:docs{page}@example.org", f"http://other{page}.example.org/"]


def site(same_links: bool) -> Site:
    """Make a site afresh: pages with the same links or each with its own."""
    return [(f"http://127.1.0.1/library/p{n}.html", page_links(0 if same_links else n)) for n in range(PAGES)]


def measure(make: Callable[[], Site], work: Callable[[Site], None]) -> float:
    """Return the microseconds a link of the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        pages = make()
        begin = perf_counter()
        work(pages)
        best = min(best, perf_counter() - begin)
    return best / sum(len(hrefs) for _, hrefs in pages) * 1e6


def join_all(pages: Site) -> None:
    """What ada alone needs to resolve the links."""
    for page, hrefs in pages:
        for href in hrefs:
            join_url(page, href)


def analyze_all(analyzer: UrlAnalyzer, pages: Site) -> None:
    """Analyse all pages with one analyzer."""
    for page, hrefs in pages:
        analyzer.analyze(page, hrefs)


def main() -> None:
    """Print one line a case."""
    rule = scope_of(SEED, Scope.HOST)
    steps = make_steps(Settings().normalise)
    warm = UrlAnalyzer(rule, steps=steps)
    analyze_all(warm, site(same_links=True))
    ada = measure(lambda: site(same_links=False), join_all)
    new = measure(
        lambda: site(same_links=False), lambda pages: analyze_all(UrlAnalyzer(rule, cache_entries=100_000), pages)
    )
    spelt = measure(
        lambda: site(same_links=False),
        lambda pages: analyze_all(UrlAnalyzer(rule, steps=steps, cache_entries=100_000), pages),
    )
    cached = measure(lambda: site(same_links=True), lambda pages: analyze_all(warm, pages))
    for name, cost in (("ada alone", ada), ("new", new), ("new, steps", spelt), ("cached", cached)):
        print(f"{name:10} {cost:6.3f} us/link")


if __name__ == "__main__":
    main()
