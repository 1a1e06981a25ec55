"""What is capped, by the pages of a party alone: traps soon, and what only looks like one never."""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count, islice, product
from pathlib import Path
from urllib.parse import urljoin

import pytest

from scrawler.core.traps.generations import Generations
from scrawler.core.traps.patterns import PatternYields, pattern_of
from scrawler.core.traps.says import Says
from scrawler.core.traps.sources import Source, Sources
from scrawler.core.traps.tally import Tally
from scrawler.core.traps.traps import PartyTraps
from scrawler.core.traps.yields import Yield
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import PageLinks
from scrawler.features.synthweb.pages import PageWriter
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.traps.endless import ENDLESS_SITES
from scrawler.features.synthweb.traps.honest import HONEST_SITES
from scrawler.features.synthweb.traps.pages import BEYOND, TrapSite, words
from scrawler.features.synthweb.web import SyntheticWeb, page_path
from scrawler.model.rows import PatternRow
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

MENU = words(0, count=2_000)  # of a shop that shows all it has on every page
DOCS = {
    "python": Path("/usr/share/doc/python3.11/html"),
    "git": Path("/usr/share/doc/git-doc"),
    "django": Path("/usr/share/doc/python-django-doc/html"),
}


def party(near_duplicates: str = "doubt", rows: Iterable[PatternRow] = (), trap_pages: int = 50) -> PartyTraps:
    rules = crawl_rules(traps=True, trap_pages=trap_pages, near_duplicates=near_duplicates)
    return PartyTraps(7, rules, rows)


def show(traps: PartyTraps, url: str, text: str, exact: bool = False, hrefs: Sequence[str] = ()) -> bool:
    """Fetch a page if it may be fetched; returns whether it was."""
    if traps.refusal(url):
        return False
    links = PageLinks(url, list(hrefs), page=text.encode())
    traps.note(url, exact, links.hrefs, traps.read_text(url, links))
    return True


def fetched(traps: PartyTraps, pages: Iterable[tuple[str, str]]) -> int:
    return sum(show(traps, url, text) for url, text in pages)


def test_a_calendar_is_capped_once_it_is_empty() -> None:
    traps = party()
    full = [(f"http://h/day/{day}", f"{day} March {words(day)}") for day in range(300)]
    empty = [(f"http://h/day/{day}", f"{day} March, no events") for day in range(300, 1_000)]
    assert fetched(traps, full) == 300
    assert 45 <= fetched(traps, empty) <= 130
    (row,) = traps.take_rows()
    assert row.pattern == "http://h/day/*"
    assert row.evidence == traps.refusal("http://h/day/4711")


@pytest.mark.parametrize("mode", ["doubt", "all"])
def test_real_pages_under_numbers_are_never_capped(mode: str) -> None:
    """However little they say, and however much of them is the same on each."""
    traps = party(mode)
    for name, text in {
        "product": lambda n: f"{MENU} {words(n, count=4)} {n},99",
        "thread": lambda n: f"{words(1)} {words(n, count=30)}",
        "numbers": lambda n: f"{words(2)} " + " ".join(str(n * n * step) for step in range(3, 40)),
        "short": lambda n: words(n, count=3),
    }.items():
        pages = [(f"http://h/{name}?id={n}", text(n)) for n in range(400)]
        assert fetched(traps, pages) == 400, name


def test_pages_with_pictures_of_their_own_are_never_capped() -> None:
    traps = party("all")
    for number in range(200):
        url = f"http://h/photo/{number}.html"
        assert show(traps, url, f"Photo {number}<img src=/img/{number}.jpg?w=800>")


def test_actions_of_a_wiki_are_capped_and_its_pages_are_not() -> None:
    """Each page comes with its empty talk page, its login and its edit form; all say nothing."""
    traps, pages, actions = party(), 0, 0
    for number in range(300):
        title = words(number, count=1)
        pages += show(traps, f"http://h/index.php?title={title}", words(number, 5))
        for action in ("edit", "info"):
            url = f"http://h/index.php?title={title}&action={action}&section={number}"
            actions += show(traps, url, f"You need to log in {title}")
        actions += show(traps, f"http://h/index.php?returnto={title}", "Log in", exact=number > 0)
    assert pages == 300
    assert actions <= 200


def test_many_sets_of_parameters_need_few_pages_each() -> None:
    """2^6 of them: each would have 50 pages, were it not for the others."""
    traps, asked = party(), 0
    for chosen in islice(product((0, 1), repeat=6), 1, None):
        keys = [f"f{'abcdefgh'[place]}" for place, on in enumerate(chosen) if on]
        for value in range(60):
            url = "http://h/shop?" + "&".join(f"{key}={value}" for key in keys)
            asked += show(traps, url, f"{words(value % 5)} {MENU}")
    assert asked <= 50 + 63 * 15


def test_links_that_lead_to_their_like_are_capped_and_those_of_frames_are_not() -> None:
    """Frames are the same in every folder, but what they lead to is not."""
    traps, links = party(), ("more/", "else/")
    seen: set[str] = set()
    waiting, asked = ["http://h/gone/"], 0
    while waiting and asked < 1_000:
        url = waiting.pop(0)
        if traps.refusal(url):
            continue
        asked += 1
        source = traps.note(url, asked > 1, links).source
        listed = traps.to_list([url + link for link in links], seen, source)  # type: ignore[arg-type]
        if source is not None:
            traps.listed(listed, source=source)
        waiting += listed
    assert 50 <= asked <= 60
    traps = party()
    for name in map(words, range(400), [1] * 400):
        folder = f"http://h/{name.replace(' ', '')}/"
        source = traps.note(folder, True, ("toc.html", "text.html")).source
        below = [folder + "toc.html", folder + "text.html"]
        assert traps.to_list(below, seen, source) == below  # type: ignore[arg-type]
        if source is not None:
            traps.listed(below, source=source)
        traps.note(folder + "toc.html", True, ("../x",))
        assert show(traps, folder + "text.html", name)


def test_many_copies_of_a_site_are_not_capped() -> None:
    """Translations of which next to nothing is done: the same bytes, the same relative links, in every language."""
    names = [words(number, 4, count=1) for number in range(60)]
    index = "".join(f'<a href="{name}.html">x</a>' for name in names).encode()

    def page(url: str) -> bytes | None:
        folder, _, name = url.removeprefix("http://h/").rpartition("/")
        if not folder:
            return "".join(f'<a href="{language}/">x</a>' for language in "abcdefghijkl").encode()
        if not name:
            return index
        near = names[names.index(name.removesuffix(".html")) - 1]
        return f'{name} {words(len(name), 5)} <a href="./">up</a> <a href="{near}.html">near</a>'.encode()

    assert walk(party("all"), "http://h/", page) == 1 + 12 * (1 + len(set(names)))


def test_counts_and_caps_go_on_where_they_were() -> None:
    first, rows = party(), dict[bytes, PatternRow]()
    addresses = (f"http://h/p?id={number}" for number in count())
    for url in islice(addresses, 30):
        show(first, url, "", exact=True)
    rows |= {row.pattern_hash: row for row in first.take_rows()}
    assert first.take_rows() == ()
    second = party(rows=rows.values())
    asked = sum(show(second, url, "", exact=True) for url in islice(addresses, 100))
    assert asked == 20
    rows |= {row.pattern_hash: row for row in second.take_rows()}
    third = party(rows=rows.values())
    assert not any(show(third, url, "", exact=True) for url in islice(addresses, 10))
    known = pattern_of("http://h/p?id=0", rows.values())
    assert known is not None
    assert (known.fetched, known.exact, known.refused) == (50, 50, 80)
    wider = pattern_of("http://h/p?other=0", rows.values())
    assert wider is not None
    assert wider.pattern == "http://h/p?**"


def test_the_next_owner_knows_how_many_pages_without_a_pattern_said_something_new() -> None:
    """With none that were new in its window, pages that say nothing would soon seem to be all that is left."""
    tally = Tally(crawl_rules(traps=True))
    yields, sources = PatternYields(tally), Sources()
    first, second = Generations(tally, yields, sources), Generations(tally, yields, sources)
    dull = Source(b"dull", "http://h/dull", says=Says.NOTHING, nothing=1)
    for _ in range(40):
        first.note_new(dull, "")
        first.note_nothing(Source(b"page", "http://h/page", says=Says.NOTHING), dull, new=1)
    row = first.names.row(7)
    assert row is not None
    assert (row.fetched, row.near) == (80, 40)
    second.restore(Yield(row.pattern, row.pattern_hash, 50, row))
    assert second.names.share == first.names.share == 0.5


def test_memory_is_bounded_and_caps_survive_it() -> None:
    traps = party()
    for number in range(60):
        show(traps, f"http://h/trap?n={number}", "", exact=True)
    names = [words(number, 3, count=2).replace(" ", "-") for number in range(6_000)]
    for name in names:
        show(traps, f"http://h/{name}?id=1", name, hrefs=(name,))
    assert traps.refusal("http://h/trap?n=100")
    assert len(traps._yields) <= 1_000
    assert len(traps._classes) <= 512
    assert len(traps._texts) <= 32


def crawl(
    traps: PartyTraps,
    home: str,
    page: Callable[[str], bytes | None],
    most: int = 100_000,
    deepest: int = 100_000,
    killed_at: int = 0,
) -> tuple[list[str], list[str]]:
    """Follow the links of a site breadth first, but for lines; return the URLs of its pages, and those left out.

    After so many pages as `killed_at` says, what is remembered is lost, but for what the database has.
    """
    listed, ahead = [(home, b"")], list[tuple[str, bytes]]()
    extractor, analyzer = LexborExtractor(), UrlAnalyzer(scope_of(home, Scope.DOMAIN))
    seen, first, waiting = {home}, deque[tuple[str, bytes, int]](), deque([(home, b"", 0)])
    pages, left_out, payloads, redirects = list[str](), list[str](), set[bytes](), set[bytes]()
    while (first or waiting) and len(pages) < most:
        url, referrer, depth = (first or waiting).popleft()
        if depth and traps.refusal(url, referrer):
            left_out.append(url)
            continue
        body = page(url)
        if body is None:
            continue
        if body.startswith(b"/"):
            key = url_hash(url)
            redirects.add(key)
            traps.pass_on(key, referrer, url)
            target = urljoin(url, body.decode())
            picked = traps.pick([target], seen, key, 0) if traps.picking else ""  # type: ignore[arg-type]
            (first if picked else waiting).append((target, key, depth))
            (ahead if picked else listed).append((target, key))
            seen.add(target)
            traps.listed([target], key=key, url=url)
            continue
        pages.append(url)
        if len(pages) == killed_at:
            traps = party(rows=traps.take_rows())
            traps.recall(listed, ahead, (), redirects)
        links, key = extractor.links(body, url), url_hash(url)
        text = traps.read_text(url, links)
        source = traps.note(url, body in payloads, links.hrefs, text, links.page, key, referrer).source
        payloads.add(body)
        if depth == deepest:
            if traps.picking:
                traps.at_deepest(key)
            continue
        internal = analyzer.analyze(url, links.hrefs, links.base).internal
        if traps.capping:
            internal = traps.to_list(internal, seen, source, key)  # type: ignore[arg-type]
        picked = traps.pick(internal, seen, key, 0) if traps.picking else ""  # type: ignore[arg-type]
        new = [link for link in internal if link not in seen]
        first.extend([(picked, key, depth + 1)] if picked else [])
        waiting += [(link, key, depth + 1) for link in new if link != picked]
        ahead += [(picked, key)] if picked else []
        listed += [(link, key) for link in new if link != picked]
        seen.update(new)
        if new:
            traps.listed(new, len(internal) - len(new), source, key, url)
    return pages, left_out


def walk(traps: PartyTraps, home: str, page: Callable[[str], bytes | None]) -> int:
    """Follow all links of a site; nothing of it may be capped. Returns the number of its pages."""
    pages, left_out = crawl(traps, home, page)
    assert not left_out
    assert not any(row.evidence for row in traps.take_rows())
    return len(pages)


def of_site(site: TrapSite) -> tuple[str, Callable[[str], bytes | None]]:
    """Return the home of a site, and what gives its pages."""
    host = site.names[0] if site.names else "h.test"

    def page(url: str) -> bytes | None:
        asked = url.removeprefix("http:") if site.names else url.removeprefix(f"http://{host}")
        text = site.answer(asked)
        return None if text is None else text.encode()

    return f"http://{host}/", page


@pytest.mark.parametrize("site", HONEST_SITES, ids=[site.name for site in HONEST_SITES])
@pytest.mark.parametrize("killed_at", [0, 120])
def test_no_real_page_of_an_honest_site_is_left_out(site: TrapSite, killed_at: int) -> None:
    home, page = of_site(site)
    traps = party()
    if site.sitemap:
        traps.owners_list(b"sitemap")
    pages, _ = crawl(traps, home, page, killed_at=killed_at)
    assert {home.rstrip("/") + path for path in site.real} <= set(pages) | {
        home.rstrip("/") + path for path in site.sitemap
    }
    for path in site.sitemap:
        assert not traps.refusal(home.rstrip("/") + path, b"sitemap")


@pytest.mark.parametrize(("deepest", "killed_at"), [(100_000, 0), (15, 0), (100_000, 70)])
@pytest.mark.parametrize("site", ENDLESS_SITES, ids=[site.name for site in ENDLESS_SITES])
def test_an_endless_site_ends(site: TrapSite, deepest: int, killed_at: int) -> None:
    """Within as many pages as it may cost beyond its real ones, which are all there, with and without a limit of depth.

    Half as many again may come where the machine was killed, as some of what it knew is found out anew.
    """
    home, page = of_site(site)
    most = BEYOND * 3 // 2 if killed_at else BEYOND
    pages, _ = crawl(party(), home, page, len(site.real) + most + 1, deepest, killed_at)
    real = {home.rstrip("/") + path for path in site.real}
    assert real <= set(pages)
    assert len(pages) - len(real) <= most


@pytest.mark.parametrize("mode", ["doubt", "all"])
def test_nothing_of_the_synthetic_web_is_capped(mode: str) -> None:
    web = SyntheticWeb(WebSpec(seed=9, sites=1, equal=True, mean_pages=1_200, page_bytes=3_000, hidden=0))
    writer, site = PageWriter(web), web.site(0)
    paths = {page_path(number, site.private(number)): number for number in range(site.pages)}

    def page(url: str) -> bytes | None:
        number = paths.get(url.removeprefix(f"http://{site.authority}"))
        return None if number is None else writer.page(site, number)

    assert walk(party(mode), web.seeds_of(0)[0], page) == site.pages


@pytest.mark.parametrize("name", DOCS)
def test_nothing_of_real_documentation_is_capped(name: str) -> None:
    folder = DOCS[name]
    if not folder.is_dir():
        pytest.skip(f"{folder} is not installed")

    def page(url: str) -> bytes | None:
        path = url.removeprefix("http://h/").partition("?")[0]
        file = folder / (path or "index.html")
        return file.read_bytes() if file.suffix == ".html" and file.is_file() else None

    assert walk(party("all"), "http://h/", page) > 200


def test_what_it_remembers_of_long_urls_is_small() -> None:
    """Parties are many, and a hostile one lists nothing but URLs of 2,000 characters."""
    traps = party()
    hrefs = ["a/", "b/"]
    for number in range(3):
        source = traps.note(f"http://h/{'ab'[number % 2]}/", False, hrefs).source
    assert source is not None
    tracemalloc.start()
    traps.listed([f"http://h/{number}/{'x' * 2_000}/" for number in range(4_000)], source=source)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
