"""Links that are listed are left out by the look-up, which asks the seen filter; what comes of a page is the same."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.context import SeedContext
from scrawler.core.party.entries import Entry
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.rejections import RejectionSample
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget, SeenFilter, compact_seen, rbloom_seen
from scrawler.core.traps.traps import PartyTraps
from scrawler.extract.links import PageLinks
from scrawler.fetch.downloader import Request, Response
from scrawler.model.lanes import NORMAL
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.filters import UrlFilters
from scrawler.urls.hrefs import Hrefs, in_bytes
from scrawler.urls.lookup import COMPILED, LinkCache, NameRules
from scrawler.urls.scope import scope_of
from scrawler.urls.traps import UrlLimits
from scrawler.urls.verdict import Verdict
from tests.crawl_rules import crawl_rules

HOME = "http://h.org/"
PAGES = [HOME, HOME + "a/x.html", HOME + "a/y.html", HOME + "b/p1.html", HOME + "b/p2.html", HOME + "a/?q"]
HREFS = ["", "#", "x.html", "x.html#y", "./x.html", "/a/x.html", "../a/x.html", "p1.html", "p2.html", "?q", "?r"]
HREFS += [
    "/a/x.html?s",
    "http://o.org/",
    "//o.org/x",
    "http://h.org/b/",
    "b/",
    "../b/",
    "x.png",
    "mailto:x@h",
    "ü",
    "y/ü",
]
HREFS += ["http://[", "a\0b", "\ud800", "x" * 300, "/c/c/c/c", "/refused/x", "/refused/y", "c/d", "/c/d", "c/d#e"]
MANY = 4096  # links that are remembered: all of them
NOT_COMPILED = pytest.mark.skipif(COMPILED is None, reason="not compiled: python setup.py build_ext --inplace")


class Crawl:
    """A party, and the answers that are applied to it, with one of the two forms of look-up."""

    def __init__(self, compiled: bool, cache_entries: int, seen: SeenFilter, **rules: Any) -> None:
        self.rules = crawl_rules(**rules)
        scope = scope_of(HOME, Scope.HOST)
        rejections = RejectionSample(1)
        analyzer = UrlAnalyzer(
            scope,
            sample=rejections,
            limits=UrlLimits(6, 2, 3),
            cache_entries=cache_entries,
            compiled=COMPILED if compiled else None,
        )
        traps = PartyTraps(1, self.rules) if self.rules.traps else None
        self.party = SeedContext(Seed(1, 1, HOME, HOME, 0, 0), analyzer, scope, 0.0, traps, rejections=rejections)
        self.site = SiteContext(1, "h.org", 1, seen, False, parties=[self.party])
        filters = UrlFilters({"mine": lambda url, _page, _depth: "no" if "/refused/" in url else ""})
        self.answers = AnswerHandler(self.rules, filters)

    def apply(self, url: str, hrefs: Sequence[str], depth: int, base: str) -> None:
        lane = self.party.lane(NORMAL)
        lane.append_entry(Entry(url, depth, lane.length))
        flight = PageFlight(self.site, self.party, lane, lane.take(), Entry(url, depth, 0), Origin(HOME[:-1], "h.org"))
        response = Response(Request(url, "192.0.2.1", flight), Result.FETCHED, 200, body=b"x")
        reading = PageRead()
        reading.links = PageLinks(base or url, hrefs)
        assert self.answers.handle(flight, response, reading) is None

    def state(self, samples: bool = True) -> object:
        """Return all that came of the answers; a few refused URLs as well, as a sample: those that were learned anew.

        Which these are is the form's own affair where it has room for some of the links alone.
        """
        party = self.party
        delta = party.take_delta(0.0)
        assert delta is not None
        entries = []
        lane = party.lane(NORMAL)
        while (entry := lane.peek()) is not None:
            entries.append(entry)
            lane.take()
        rows = list(delta.pages), list(delta.externals)
        delta = replace(delta, pages=(), externals=(), rejections=delta.rejections if samples else ())
        return delta, rows, party.leaving, entries


PAGE = st.tuples(
    st.sampled_from(PAGES),
    st.lists(st.sampled_from(HREFS), max_size=12),
    st.integers(1, 4),
    st.sampled_from(["", "", "", HOME + "a/", HOME + "b/z"]),
)


@NOT_COMPILED
@given(
    st.lists(PAGE, min_size=1, max_size=15),
    st.sampled_from([0, 3, 20, MANY]),
    st.sampled_from([150, 200, 300, 2**20]),
    st.booleans(),
)
def test_what_comes_of_pages_is_the_same_in_both_forms(
    pages: list[tuple[str, list[str], int, str]], cache_entries: int, budget: int, traps: bool
) -> None:
    states = []
    for compiled in (False, True):
        crawl = Crawl(compiled, cache_entries, compact_seen(MemoryBudget(budget)), traps=traps, trap_pages=2)
        for url, hrefs, depth, base in pages + pages[:5]:
            joined = in_bytes(hrefs)
            given = Hrefs(joined, len(hrefs)) if compiled and hrefs and joined is not None else hrefs
            crawl.apply(url, given, depth, base)
        # Each form remembers what it was given itself: a page of which C is given nothing is learned by Python.
        is_given = all(in_bytes(hrefs) is not None for _, hrefs, _, _ in pages)
        states.append(crawl.state(samples=cache_entries == 0 or (cache_entries == MANY and is_given)))
    assert states[0] == states[1]


@NOT_COMPILED
@pytest.mark.parametrize("make", [rbloom_seen, ExactSeen])
@given(st.lists(PAGE, min_size=1, max_size=15))
def test_what_comes_of_pages_is_the_same_with_each_filter(
    make: Callable[[MemoryBudget], SeenFilter], pages: list[tuple[str, list[str], int, str]]
) -> None:
    states = []
    for part in (compact_seen, make):
        crawl = Crawl(True, 4096, part(MemoryBudget(2**20)))
        for url, hrefs, depth, base in pages + pages[:5]:
            crawl.apply(url, hrefs, depth, base)
        states.append(crawl.state())
    assert states[0] == states[1]


@NOT_COMPILED
def test_of_a_page_whose_links_are_listed_nothing_comes_back() -> None:
    crawl = Crawl(True, 4096, compact_seen(MemoryBudget(2**20)))
    crawl.apply(HOME, ["a", "b", "a#x", "/a", "http://o.org/"], 1, "")
    analysis = crawl.party.analyzer.analyze(HOME, ["a", "b", "./b", "c", "?q"], seen=crawl.site.seen)
    assert analysis == ([HOME + "c", HOME + "?q"], [], {Verdict.INTERNAL: 5}, 2)
    assert crawl.party.analyzer.analyze(HOME, ["a", "b", "./b", "c"]).internal == [HOME + "a", HOME + "b", HOME + "c"]


@NOT_COMPILED
def test_a_url_that_the_full_filter_did_not_take_is_not_left_out() -> None:
    crawl = Crawl(True, 4096, compact_seen(MemoryBudget(200)))
    crawl.apply(HOME, ["a", "b"], 1, "")
    crawl.apply(HOME, [str(number) for number in range(50)], 1, "")
    assert crawl.party.leaving is not None
    analysis = crawl.party.analyzer.analyze(HOME, ["a", "7", "b"], seen=crawl.site.seen)
    assert (analysis.internal, analysis.listed) == ([HOME + "7"], 2)


def test_links_in_bytes_read_as_strings() -> None:
    texts = ["", "a", "ü\n", ""]
    hrefs = Hrefs("\0".join(texts).encode(), 4)
    assert (len(hrefs), list(hrefs), hrefs[2], hrefs[1:3], hrefs == texts) == (4, texts, "ü\n", ["a", "ü\n"], True)
    assert hrefs != [*texts, ""]
    assert list(Hrefs(b"", 0)) == []
    assert list(Hrefs(b"", 1)) == [""]
    assert in_bytes(hrefs) == in_bytes(texts) == hrefs.joined
    assert in_bytes(["a\0b"]) is None
    assert in_bytes(["\ud800"]) is None
    assert in_bytes(["x" * 1_000_000] * 20) is None, "copies of one long link take no memory as strings"


FOLDER = LinkCache(HOME, HOME, True, 0, 0, {}, {}, {})[:5]
RULES = NameRules(frozenset(), 2048, set())


@NOT_COMPILED
def test_what_is_wrong_with_what_is_learned_is_told() -> None:
    assert COMPILED is not None
    known = COMPILED()

    def learn_in_it(href: str, path: str) -> Any:
        return known.look_up(b"x", True, FOLDER, RULES, 9, learn_in_it, None)

    wrong: list[tuple[Any, type[Exception]]] = [
        (lambda href, path: None, TypeError),
        (lambda href, path: ("x",), TypeError),
        (lambda href, path: ((1,), True), TypeError),
        (lambda href, path: 1 / 0, ZeroDivisionError),
        (learn_in_it, RuntimeError),
    ]
    for learn, error in wrong:
        with pytest.raises(error):
            known.look_up(b"a\0b", True, FOLDER, RULES, 9, learn, None)
    with pytest.raises(UnicodeDecodeError):
        known.look_up(b"\xff", True, FOLDER, RULES, 9, lambda href, path: (href, True), None)
    for arguments in [(), ("a", True, FOLDER, RULES, 9, print, None), (b"a", True, (), RULES, 9, print, None)]:
        with pytest.raises(TypeError):
            known.look_up(*arguments)
    found = known.look_up(b"b\0b#x\0c", True, FOLDER, RULES, 9, lambda href, path: (path, True), None)
    assert found == (["b", "c"], 3, [], 0, 0, {}, 2, 0)


@NOT_COMPILED
def test_the_first_link_of_all_may_have_no_folder_in_it() -> None:
    """Nothing is remembered before the empty text, for which a sanitizer wants a place as well."""
    assert COMPILED is not None
    rules = RULES._replace(sure_folders={HOME})
    found = COMPILED().look_up(b"x\0y", True, FOLDER, rules, 9, lambda href, path: (path, True), None)
    assert found[:2] == ([HOME + "x", HOME + "y"], 2)


class Unsure:
    """What is neither true nor false."""

    def __bool__(self) -> bool:
        raise ZeroDivisionError


@NOT_COMPILED
def test_what_is_learned_stays_whose_it_is_where_it_cannot_be_read() -> None:
    assert COMPILED is not None
    url = "".join(["http://", "unsure.org/"])
    before = sys.getrefcount(url)
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            COMPILED().look_up(b"a", True, FOLDER, RULES, 9, lambda href, path: (url, Unsure()), None)
    assert sys.getrefcount(url) == before


@NOT_COMPILED
def test_a_look_up_whose_memory_fails_is_an_error_and_the_next_one_is_whole() -> None:
    memory = pytest.importorskip("_testcapi")
    assert COMPILED is not None
    urls = ["".join(["http://no.org/", str(number)]) for number in range(40)]
    verdicts = list(Verdict)
    before = list(map(sys.getrefcount, urls))
    known = [(urls[n] if n % 3 else (urls[n],)) if n % 5 else verdicts[n % 4] for n in range(40)]
    learned = {f"{'/' * (n % 2)}{n}": (known[n], n % 7 > 0) for n in range(40)}
    hrefs = "\0".join([*learned, *(f"s/{n}" for n in range(10))]).encode()
    rules = RULES._replace(sure_folders={HOME + "s/"})

    def learn(href: str, path: str) -> Any:
        return learned[path]

    whole = COMPILED().look_up(hrefs, True, FOLDER, rules, 99, learn, None)
    failed = done = 0
    while done < 10:
        links = COMPILED()
        memory.set_nomemory(failed, failed + 1)
        try:
            links.look_up(hrefs, True, FOLDER, rules, 99, learn, None)
            done += 1
        except MemoryError:
            done = 0
        finally:
            memory.remove_mem_hooks()
        failed += 1
        again = links.look_up(hrefs, True, FOLDER, rules, 99, learn, None)
        assert again[:6] == whole[:6], failed
        del links, again
    assert failed > 60
    known.clear()
    learned.clear()
    del whole
    assert list(map(sys.getrefcount, urls)) == before


@NOT_COMPILED
def test_what_is_known_is_given_back() -> None:
    assert COMPILED is not None
    url = "".join(["http://", "given-back.org/"])
    before = sys.getrefcount(url)
    known, seen = COMPILED(), compact_seen(MemoryBudget(2**20))
    for keeps in (False, True):
        for _ in range(3):
            known.look_up(b"a\0b#x\0c\0a", True, FOLDER, RULES, 2, lambda href, path: (url, keeps), seen)  # noqa: B023
            known.look_up(b"d", True, FOLDER, RULES, 2, lambda href, path: ((url,), keeps), seen)  # noqa: B023
            seen.add(seen.unseen([url, url]))
    del known, seen
    assert sys.getrefcount(url) == before


@NOT_COMPILED
@pytest.mark.parametrize("room", [0, 5, 1000])
def test_thousands_of_links_in_any_order(room: int) -> None:
    """The tables grow while they are asked; a URL comes back once a page, whatever leads to it."""
    assert COMPILED is not None
    chosen = random.Random(1)
    known, remembered = COMPILED(), 0
    verdicts = list(Verdict)

    def learn(href: str, path: str) -> Any:
        number = int(path.rpartition("/")[2])
        if number % 7 == 0:
            return verdicts[number % 5], True
        url = f"http://h.org/{number % 300}"
        return ((url,) if number % 3 == 0 else url), number % 11 != 0

    for page in range(30):
        numbers = [chosen.randrange(2_000) for _ in range(200)]
        hrefs = [f"{'/' if number % 2 else ''}{'d/' * (number % 4)}{number}" for number in numbers]
        folder = LinkCache(HOME, HOME, True, page % 3, 0, {}, {}, {})[:5]
        found = known.look_up("\0".join(hrefs).encode(), True, folder, RULES, room - remembered, learn, None)
        remembered += found[6]
        learned = [learn(href, href)[0] for href in hrefs]
        internal = [one for one in learned if type(one) is str]
        external = [one[0] for one in learned if isinstance(one, tuple)]
        refused = {one: learned.count(one) for one in learned if isinstance(one, Verdict)}
        expected = (list(dict.fromkeys(internal)), len(internal), list(dict.fromkeys(external)), len(external))
        assert found[:6] == (*expected, 0, refused)
    assert remembered <= room


@NOT_COMPILED
def test_what_one_party_takes_for_external_tells_another_nothing() -> None:
    """All parties have one table of what came once."""
    assert COMPILED is not None
    hrefs = [f"http://o.org/{number}" for number in range(300)]
    joined = "\0".join(hrefs).encode()
    for _ in range(3):
        found = COMPILED().look_up(joined, True, FOLDER, RULES, 900, lambda href, path: ((href,), True), None)
        assert found[2:4] == (hrefs, 300)
        assert found[6] < 30, "none of them came to this party before"
        found = COMPILED().look_up(joined, True, FOLDER, RULES, 900, lambda href, path: (href, True), None)
        assert found[:3] == (hrefs, 300, [])


@NOT_COMPILED
def test_an_external_link_is_kept_when_it_comes_again_and_no_sooner() -> None:
    assert COMPILED is not None
    known, learned = COMPILED(), list[str]()

    def learn(href: str, path: str) -> Any:
        learned.append(href)
        return (href,), True

    remembered = []
    for page in range(4):
        hrefs = ["http://o.org/always", f"http://o.org/{page}"]
        found = known.look_up("\0".join(hrefs).encode(), True, FOLDER, RULES, 9, learn, None)
        assert found[2:4] == (hrefs, 2)
        remembered.append(found[6])
    assert remembered == [0, 1, 0, 0]
    assert learned.count("http://o.org/always") == 1, "what comes to itself is at hand for a while"
    again = known.look_up(b"http://o.org/9\0http://o.org/9\0http://o.org/9#x", True, FOLDER, RULES, 9, learn, None)
    assert (again[2:4], again[6]) == ((["http://o.org/9"], 3), 1), "as well on one page"


@NOT_COMPILED
def test_an_external_link_that_comes_late_or_under_another_name_is_learned_once_more() -> None:
    assert COMPILED is not None
    known, learned = COMPILED(), Counter[str]()

    def learn(_href: str, path: str) -> Any:
        learned[path] += 1
        return (path.replace("/./", "/"),), True

    def look_up(*hrefs: str) -> list[str]:
        return known.look_up("\0".join(hrefs).encode(), True, FOLDER, RULES, 999, learn, None)[2]

    names = [f"http://o.org/{'x' * (number % 260)}{number}" for number in range(300)]
    others = ["http://o.org/./b", "http://ü.org/"]
    for some in (names[:3], names[:3], names[3:], names[:3], names[:3], others, others):
        for name in some:
            assert look_up(name, name + "#x", name) == [name.replace("/./", "/")]
    assert {learned[name] for name in names if len(name) < 240} == {1}
    assert {learned[name] for name in others} == {2}
    assert max(learned.values()) == 2
    for name in names[::-1]:
        look_up(name)
    assert max(learned.values()) == 2, "all are known by now"
