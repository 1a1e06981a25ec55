"""Parts of another package: what URL filters are asked and keep out, and what becomes of a crawl when a part fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from scrawler.errors import PluginError
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.model.machines import MachineState
from scrawler.model.seeds import EndReason
from scrawler.plugins import PartKind
from scrawler.settings import PART_KINDS, Settings, is_list
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import asked, by_path, page, redirect, run_whole
from tests.integration.crawl.rig import truth
from tests.integration.fetch.servers import RawServer, answer
from tests.plugged import importable, install

Serve = Callable[..., RawServer]

# Page processors are the reader's: no machine makes them.
OF_MACHINES = [kind for kind in PART_KINDS.values() if kind.setting != "page_processors"]

_CODE = """
judge = None
made = []

wants = ()

def make(settings):
    made.append(settings)
    def filter(*found, **said):
        return judge(*found, **said)
    filter.wants = wants
    return filter
"""


@pytest.fixture
def package(tmp_path: Path) -> Iterator[ModuleType]:
    """A package with the filter `theirs`, which does what the test says."""
    install(tmp_path, "their-filter", _CODE, {"scrawler.url_filters:theirs": "make"})
    with importable(tmp_path):
        yield import_module("their_filter")


def test_a_filter_is_asked_for_all_that_could_be_listed_or_handed_back(
    crawl: Crawl, serve: Serve, package: ModuleType
) -> None:
    replies: dict[str, bytes] = {}
    server = serve(by_path(replies))
    home = server.url("")
    sitemap = f"<urlset><url><loc>{home}/mapped</loc></url><url><loc>http://mapped.example/</loc></url></urlset>"
    replies |= {
        "/": page("<img src=/i.png>", links=("/a", "/b", "/a", "http://other.example/", "/moved")),
        "/a": page(links=("/", "/b", "/c", "#top")),
        "/b": page(links=("/c",)),
        "/moved": redirect("/new"),
        "/sitemap.xml": answer(sitemap.encode(), "200 OK", "Content-Type: application/xml"),
        **dict.fromkeys(("/c", "/new", "/mapped", "/i.png"), page()),
    }
    found: list[tuple[str, str, int]] = []

    def judge(url: str, on: str, depth: int) -> str:
        found.append((url.removeprefix(home), on.removeprefix(home), depth))
        return "no c" if url.endswith(("/c", "//mapped.example/")) else ""

    package.judge = judge
    crawl.add([home + "/"])
    run_whole(crawl, url_filters=("theirs",), sitemaps="also", assets=True, threads=1)
    assert sorted(found) == [
        *[("/a", "/", 1), ("/b", "/", 1), ("/c", "/a", 2), ("/c", "/b", 2), ("/i.png", "/", 1)],
        *[("/mapped", "/sitemap.xml", 1), ("/moved", "/", 1), ("/new", "/moved", 1)],
        *[("http://mapped.example/", "/sitemap.xml", 1), ("http://other.example/", "/", 1)],
    ]
    assert set(asked(server)) == {"/robots.txt", *replies} - {"/c"}
    assert crawl.candidates() == {"http://other.example/"}
    assert crawl.seed(home + "/").verdicts["url-filter"] == 3
    (made,) = package.made
    assert isinstance(made, Settings)


def test_a_filter_is_told_the_seed_and_what_the_page_says_of_a_link_where_it_wants_that(
    crawl: Crawl, serve: Serve, package: ModuleType
) -> None:
    many = "".join(f"<a href=/many/{number}>number {number}</a>" for number in range(2_500))
    links = (
        "<a href=/a><img alt=logo></a> <a href='/b' rel='NoFollow  next'> the <b>b</b>\n page</a> <a href=/a>words</a>"
        "<map><area href=/c alt=area></map><link rel=next href=/d><a href='http://other.example/?%7e#x'>other</a>"
    )
    server = serve(by_path({"/": page(links), "/a": page(many), **dict.fromkeys(("/b", "/d"), page())}))
    home = server.url("")
    found: dict[str, tuple[str, str, str]] = {}

    def judge(url: str, on: str, depth: int, seed: str, rel: str, anchor: str) -> str:
        found[url.removeprefix(home)] = seed.removeprefix(home), rel, anchor
        return "asked not to" if "/many/" in url or anchor == "area" else ""

    package.judge = judge
    package.wants = ("anchor", "rel", "seed")
    crawl.add([home + "/"])
    run_whole(crawl, url_filters=("theirs",))
    assert {url: said for url, said in found.items() if "/many/" not in url} == {
        "/a": ("/", "", "logo"),
        "/b": ("/", "nofollow next", "the b page"),
        "/c": ("/", "", "area"),
        "/d": ("/", "next", ""),
        "http://other.example/?~": ("/", "", "other"),
    }
    assert [found[f"/many/{number}"] for number in (0, 2_499)] == [("/", "", "number 0"), ("/", "", "number 2499")]
    assert "/c" not in asked(server)


def test_a_filter_that_wants_what_nobody_knows_is_refused(crawl: Crawl, package: ModuleType) -> None:
    package.wants = ("title",)
    with pytest.raises(PluginError, match=r"^URL filter theirs wants 'title', .* only seed, rel, anchor$"):
        crawl.run(url_filters=("theirs",))


def test_seeds_and_where_they_redirect_are_not_judged(crawl: Crawl, serve: Serve, package: ModuleType) -> None:
    package.judge = lambda *found: "nothing at all"
    server = serve(by_path({"/": redirect("/home"), "/home": page(links=("/a",))}))
    crawl.add([server.url()])
    run_whole(crawl, url_filters=("theirs",))
    assert set(asked(server)) == {"/robots.txt", "/", "/home"}
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED


class Unspeakable(Exception):
    """What cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize("bad", ["raises", "exits", "cannot-be-told", "says-no-text"])
def test_when_a_filter_fails_the_crawl_ends_and_nothing_is_lost(crawl: Crawl, package: ModuleType, bad: str) -> None:
    left = 150

    def judge(*found: object) -> str | bool:
        nonlocal left
        left -= 1
        if left >= 0:
            return ""
        if bad == "raises":
            raise ValueError("two\nlines")
        if bad == "exits":
            raise SystemExit("two\nlines")
        if bad == "cannot-be-told":
            raise Unspeakable
        return True

    package.judge = judge
    raised = {"raises": "ValueError: two lines", "exits": "SystemExit: two lines", "cannot-be-told": "Unspeakable"}
    said = raised.get(bad, "it returned a bool, not a text")
    with SynthServer(WebSpec(seed=5, sites=6, mean_pages=25, page_bytes=1000)) as server:
        crawl.add(server.web.seeds())
        with pytest.raises(PluginError, match=rf"^URL filter theirs failed on http\S+: {said}$"):
            crawl.run(url_filters=("theirs",), threads=3)
        crawl.check()
        package.judge = lambda *found: ""
        run_whole(crawl, url_filters=("theirs",))
        assert crawl.html() == truth(server)


@pytest.mark.parametrize("kind", OF_MACHINES, ids=lambda kind: kind.setting)
def test_a_part_that_cannot_be_made_ends_the_machine_and_all_its_threads(
    crawl: Crawl, tmp_path: Path, kind: PartKind
) -> None:
    install(tmp_path, "bad-one", "def make(*_, **__): raise OSError('no')", {f"{kind.group}:bad": "make"})
    crawl.add(["http://127.0.0.1:2/"])
    before = threading.active_count()
    with (
        importable(tmp_path),
        pytest.raises(PluginError, match=rf"^{kind.setting} bad of bad-one 1.0 .*: OSError: no$"),
    ):
        crawl.run(**{kind.setting: ("bad",) if is_list(kind.setting) else "bad"})
    assert threading.active_count() == before
    with closing(open_database(crawl.url)) as database:
        machines = Machines(database).machines()
    assert [machine.state for machine in machines] == ([] if is_list(kind.setting) else [MachineState.STOPPED])


_FAILING = """
from scrawler.{module} import {name} as ours

class Unspeakable(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__

class Failing:
    def __init__(self, *arguments, **named):
        self.ours = ours(*arguments, **named)

    def __getattr__(self, name):
        return getattr(self.ours, name)

    def __contains__(self, url):
        return url in self.ours

    def {call}(self, *arguments, **named):
        {error}

def make(*arguments, **named):
    return Failing(*arguments, **named)
"""


@pytest.mark.parametrize(
    ("setting", "module", "name", "call"),
    [
        ("extractor", "extract.lexbor", "LexborExtractor", "links"),
        ("archive", "archive.warc", "WarcWriter", "write"),
        ("seen", "core.seen", "rbloom_seen", "unseen"),
        ("downloader", "fetch.curl", "CurlDownloader", "completed"),
    ],
)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("raise ValueError('no good')", "ValueError: no good"),
        ("raise SystemExit('no good')", "SystemExit: no good"),
        ("raise KeyboardInterrupt('no good')", "KeyboardInterrupt: no good"),
        ("raise Unspeakable", "Unspeakable"),
        ("return None", r"{call} returned a NoneType, not a \w+"),
    ],
)
def test_a_part_that_fails_later_ends_the_run_under_its_own_name(
    crawl: Crawl, serve: Serve, tmp_path: Path, setting: str, module: str, name: str, call: str, error: str, said: str
) -> None:
    """Not under that of the URL: a fault of somebody else's part is none of ours."""
    code = _FAILING.format(module=module, name=name, call=call, error=error)
    install(tmp_path, "bad-one", code, {f"{PART_KINDS[setting].group}:bad": "make"})
    server = serve(by_path({"/": page("home")}))
    crawl.add([server.url()])
    with (
        importable(tmp_path),
        pytest.raises(PluginError, match=rf"^{setting} bad of bad-one 1.0 \(.*\) failed: {said.format(call=call)}$"),
    ):
        crawl.run(**{setting: "bad"})
    assert not crawl.pages()
    run_whole(crawl)
    assert crawl.seed(server.url()).counts.pages == 1
