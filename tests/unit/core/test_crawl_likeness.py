"""Of which pages words are read, and that nothing which is skipped, met elsewhere or lost by a kill caps a pattern."""

from __future__ import annotations

import random
from calendar import month_name
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from scrawler.core.traps.likeness import TextMemory
from scrawler.core.traps.traps import PartyTraps
from scrawler.extract.links import PageLinks
from scrawler.extract.scanner import fastest_extractor
from scrawler.extract.simhash import fingerprint_of
from scrawler.features.synthweb.traps.pages import html, words
from scrawler.features.synthweb.traps.sites import TRAP_SITES
from scrawler.model.rows import PatternRow
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

EXTRACTOR = fastest_extractor()
RULES = crawl_rules(traps=True)
OTHERS = 50
NUMBERED = 140  # pages of an honest site whose URLs differ by a number


class Asked(NamedTuple):
    """What became of the pages of one pattern."""

    fetched: int
    skeletons: int  # read
    words: int  # read


def ask(text_of: Callable[[int], str], pages: int, url_of: Callable[[int], str] = "http://h/p{}.html".format) -> Asked:
    """Fetch pages until there are no more, or their pattern is capped."""
    traps, skeletons, read = PartyTraps(7, RULES), 0, 0
    for number in range(pages):
        url = url_of(number)
        if traps.refusal(url):
            return Asked(number, skeletons, read)
        links = PageLinks(url, [], page=html(f"Page {number}", text_of(number), ()).encode())
        text = traps.read_text(url, links)
        if text is not None:
            skeletons += text.skeleton is not None
            read += bool(text.words)
        traps.note(url, False, links.hrefs, text)
    return Asked(pages, skeletons, read)


def test_of_a_few_numbered_pages_nothing_is_read_and_of_no_party_words_before_it_can_be_capped() -> None:
    assert ask(words, 5) == (5, 0, 0)
    assert ask(words, 50) == (50, 45, 0)
    assert ask(lambda number: f"{words(number)} {words(3, count=3_000)}", 50) == (50, 45, 0)


def test_of_many_numbered_pages_ever_fewer_are_read() -> None:
    hundred, thousand = ask(words, 100), ask(words, 1_000)
    assert hundred.fetched + thousand.fetched == 1_100
    assert 2 <= hundred.words <= 8
    assert hundred.words < thousand.words <= 40


def test_pages_of_one_long_text_are_told_apart_though_many_are_as_long() -> None:
    def text(number: int) -> str:
        dice = random.Random(number)
        return " ".join(f"w{dice.randrange(100_000):05}" for _ in range(4_000))

    assert ask(text, 50) == (50, 45, 0)


def test_a_skeleton_that_comes_again_begins_a_doubt_which_ends_where_pages_are_new() -> None:
    """All texts are short but for one that is the same on each page, so that they tell nothing."""
    asked = ask(lambda number: f"{words(3)}<p>{words(number, count=2)}<p>{words(number, 5, count=2)}", 50)
    assert asked.fetched == 50
    assert asked.skeletons == 2
    assert 12 <= asked.words <= 24


def test_copies_are_capped_by_their_skeletons_as_soon_as_by_their_words() -> None:
    """A number that is new on each page counts as little, for some 255 pages of a kind."""
    assert 290 <= ask(lambda number: f"{words(3)}<p>seen {number} times", 600).fetched <= 320
    assert 290 <= ask(lambda number: f"{words(number % 12)}<p>{number}", 600).fetched <= 340


def test_copies_whose_skeletons_differ_are_capped_by_the_words_of_some() -> None:
    """What was sought stands in the middle of the text, of which no two are as long."""
    asked = ask(
        lambda number: f"{words(3)} {'x' * number} {words(4)}",
        300,
        lambda number: f"http://h/search?page={number}&for={'x' * number}",
    )
    assert 90 <= asked.fetched <= 110


def differing(texts: Iterable[str]) -> list[bool]:
    """Return which pages of one kind show words together that none of those before them has shown."""
    memory, found = TextMemory(), []
    for number, text in enumerate(texts):
        page = html("Day", text, ()).encode()
        url, links = f"http://h/day?at={number}", [f"/day?at={number + 1}"]
        found.append(memory.compare(url, fingerprint_of(page), page, links).differs)
    return found


def test_pages_differ_that_show_known_words_together_as_no_page_before() -> None:
    skies, degrees = words(8, count=8).split(), range(110, 118)
    known = [f"{sky} {degree}" for sky, degree in zip(skies, degrees, strict=True)]
    other = [f"{skies[number]} {degrees[(number + 3) % 8]}" for number in range(8)]
    assert differing([*known, *other])[8:] == [True] * 8
    assert not any(differing([*known, *other] * 3)[32:])


def test_the_next_month_of_a_calendar_does_not_differ() -> None:
    """In two directions, as each page leads to the month before and the month after."""
    months = [f"{month_name[number % 12 + 1]} {2024 + number // 12} 1 2 3 4 5 no events" for number in range(120)]
    both = [one for pair in zip(months[60:], reversed(months[:60]), strict=True) for one in pair]
    assert sum(differing(both)[12:]) <= 0.1 * len(both)


def named(text_of: Callable[[int], str], pages: int) -> int:
    """Return how many of the pages are read of a site whose URLs are made of words."""
    traps, read = PartyTraps(7, RULES), 0
    for number in range(pages):
        url = f"http://h/{words(number, 9, count=2).replace(' ', '-')}"
        links = PageLinks(url, ["/", url], page=html("Page", text_of(number), ("/", url)).encode())
        text = traps.read_text(url, links)
        read += text is not None
        traps.note(url, False, links.hrefs, text, links.page)
    return read


def test_of_pages_whose_urls_are_made_of_words_so_many_bytes_of_each_are_read() -> None:
    """Nothing of the first twenty, then 64 KB, and 128 bytes of each page that says something new."""
    assert named(lambda number: words(number, count=400), 20) == 0
    assert 2 <= named(lambda number: words(number, count=400), 200) <= 50
    assert 2 <= named(lambda number: words(number, count=4_000), 100) <= 10


def test_pages_whose_urls_are_made_of_words_are_all_read_where_they_say_nothing_new() -> None:
    assert named(lambda number: words(3, count=400), 100) == 80


def test_where_texts_are_not_compared_nothing_is_read() -> None:
    traps = PartyTraps(7, crawl_rules(traps=True, near_duplicates="off"))
    for number in range(200):
        url = f"http://h/p{number}.html"
        links = PageLinks(url, [], page=b"<p>the same")
        assert traps.read_text(url, links) is None
        traps.note(url, False, links.hrefs)
        assert not traps.refusal(url)


def test_an_extractor_that_hands_over_no_page_caps_nothing() -> None:
    assert ask(lambda number: "", 5) == (5, 0, 0)
    traps = PartyTraps(7, RULES)
    for number in range(200):
        url = f"http://h/p{number}.html"
        traps.note(url, False, [], traps.read_text(url, PageLinks(url, [])))
        assert not traps.refusal(url)


class Walk:
    """A crawl of one site, page by page, breadth first."""

    def __init__(self, home: str, answer: Callable[[str], str | None]) -> None:
        self._home, self._answer = home, answer
        self._traps = PartyTraps(7, RULES)
        self._rows: dict[bytes, PatternRow] = {}
        self._seen, self._waiting = {home}, [(home, b"")]
        self._listed = [(home, b"")]
        self._payloads: set[str] = set()
        self._analyzer = UrlAnalyzer(scope_of(home, Scope.HOST))
        self.fetched: list[str] = []

    def step(self) -> bool:
        """Fetch the next page; returns whether there is one more."""
        if not self._waiting:
            return False
        url, referrer = self._waiting.pop(0)
        page = None if self._traps.refusal(url, referrer) else self._answer("/" + url.removeprefix(self._home))
        if page is not None:
            self.fetched.append("/" + url.removeprefix(self._home))
            self._take(url, page, referrer)
        return True

    def _take(self, url: str, page: str, referrer: bytes) -> None:
        links, key = EXTRACTOR.links(page.encode(), url), url_hash(url)
        text = self._traps.read_text(url, links)
        exact = page in self._payloads
        source = self._traps.note(url, exact, links.hrefs, text, links.page, key, referrer).source
        self._payloads.add(page)
        internal = self._analyzer.analyze(url, links.hrefs, links.base).internal
        kept = self._traps.to_list(internal, self._seen, source, key)  # type: ignore[arg-type]
        new = [link for link in dict.fromkeys(kept) if link not in self._seen]
        if new:
            self._traps.listed(new, len(internal) - len(new), source, key, url)
        self._seen.update(new)
        self._waiting += [(link, key) for link in new]
        self._listed += [(link, key) for link in new]

    def change_owner(self) -> None:
        """Go on as another machine does, which knows of the first what is in the database."""
        self._rows |= {row.pattern_hash: row for row in self._traps.take_rows()}
        self._traps = PartyTraps(7, RULES, self._rows.values())
        self._traps.recall(self._listed, [], ())


def honest(number: int) -> Callable[[str], str | None]:
    """Return a site of numbered pages, each of which leads to five others."""
    paths = {"/": 0, **{f"/p{page}.html": page for page in range(1, NUMBERED)}}

    def answer(path: str) -> str | None:
        if path not in paths:
            return None
        page = paths[path]
        below = (f"/p{child}.html" for child in range(5 * page + 1, min(5 * page + 6, NUMBERED)))
        return html(f"Page {page}", f"{words(number)} {words(number, page, count=5 + page % 7)}", ("/", *below))

    return answer


SITES = {site.name: site.answer for site in TRAP_SITES} | {"honest": honest(0)}
REAL = {site.name: set(site.real) for site in TRAP_SITES}
REAL["honest"] = {"/", *(f"/p{page}.html" for page in range(1, NUMBERED))}
FORGOTTEN = 100  # pages of a trap that a change of its owner may cost: texts, and how many said little, are not durable


def whole(name: str, changes: Iterable[int] = ()) -> list[str]:
    """Return what is fetched of a site whose owner changes after so many steps."""
    walk, steps = Walk(f"http://{name}.example/", SITES[name]), 0
    while walk.step():
        steps += 1
        assert steps < 20_000
        if steps in changes:
            walk.change_owner()
    return walk.fetched


def test_what_is_fetched_is_the_same_alone_and_beside_fifty_other_sites() -> None:
    dice = random.Random(1)
    walks = {name: Walk(f"http://{name}.example/", answer) for name, answer in SITES.items()}
    others = [Walk(f"http://other{number}.example/", honest(number + 1)) for number in range(OTHERS)]
    going = [*walks.values(), *others]
    while going:
        walk = dice.choice(going)
        if not walk.step():
            going.remove(walk)
    for name, walk in walks.items():
        assert walk.fetched == whole(name), name
    assert {len(other.fetched) for other in others} == {NUMBERED}


@pytest.mark.parametrize("name", SITES)
def test_machines_that_take_a_site_over_lose_no_page_and_end_its_trap(name: str) -> None:
    alone = whole(name)
    assert REAL[name] <= set(alone)
    for changes in ((15,), (55,), (90,), (25, 60)):
        fetched = whole(name, changes)
        assert REAL[name] <= set(fetched)
        assert len(fetched) == len(set(fetched))
        assert len(fetched) <= len(alone) + FORGOTTEN * len(changes)
        if name == "honest":
            assert fetched == alone
