"""How many pages link to each: `scrawler rank`, whose file weighs URLs where visits share a budget."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scrawler.errors import NotCrawledError, RecordsLostError, SettingsError
from scrawler.features.revisit.orders import begin_again
from scrawler.features.revisit.policies.importance import by_links
from scrawler.features.revisit.policies.policy import optimal_visits
from scrawler.features.revisit.shares import weight_of
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import Kind, SyntheticWeb
from scrawler.features.texts.cli_rank import rank
from scrawler.features.texts.in_degree import InDegrees
from scrawler.model.results import Result as PageResult
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, Reply, by_path, page, redirect
from tests.integration.fetch.servers import RawServer

NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n\r\n"


def run(crawl: Crawl, *words: str, pages: Path | None = None) -> Result:
    folder = ("--pages-dir", str(pages or crawl.folder / "pages"))
    return CliRunner().invoke(rank, [*words, "--db", crawl.url, *folder])


def weights(text: str) -> dict[str, float]:
    """What a file of ranks says, each URL once."""
    pairs = [line.split(" ") for line in text.splitlines() if not line.startswith("#")]
    found = {url: float(weight) for url, weight in pairs}
    assert len(found) == len(pairs)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    return found


def of_links(links: dict[str, int]) -> dict[str, float]:
    return {url: pytest.approx(by_links(number), abs=1e-4) for url, number in links.items()}


def true_in_degrees(web: SyntheticWeb, crawl: Crawl) -> Counter[str]:
    """How many URLs that were asked for lead to each that was fetched, as the layout of the web has it."""
    rows = crawl.pages()
    fetched = {row.url for row in rows if row.result == PageResult.FETCHED}
    found = Counter(dict.fromkeys(fetched, 0))
    for row in rows:
        if row.result not in (PageResult.FETCHED, PageResult.REDIRECT):
            continue
        target = web.target(row.url)
        step = web.redirect(target)
        aims = set[str]()
        if step is not None:
            aims = {web.url(step[1])}
        elif target.kind is Kind.PAGE:
            aims = {web.url(link.target) for link in web.links(web.site(target.site), target.number)}
        found.update(aims & fetched - {row.url})
    return found


@pytest.fixture
def crawl(tmp_path: Path, sqlite_url: str) -> Crawl:
    return Crawl(tmp_path, sqlite_url)


@pytest.fixture(scope="module")
def of_web(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Counter[str]]:
    """A crawl of a synthetic web, and the true in-degrees."""
    folder = tmp_path_factory.mktemp("of_web")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    with SynthServer(WebSpec(seed=5, sites=3, equal=True, mean_pages=25, page_bytes=600)) as server:
        crawl.add(server.web.seeds())
        crawl.run(traps=False, outlinks=True, robots=False)
        return crawl, true_in_degrees(server.web, crawl)


def test_the_file_has_the_true_in_degrees(of_web: tuple[Crawl, Counter[str]], tmp_path: Path) -> None:
    crawl, truth = of_web
    assert len(truth) > 60
    assert len(set(truth.values())) > 5
    file = tmp_path / "ranks.txt"
    done = run(crawl, str(file))
    assert done.exit_code == 0, done.output
    assert weights(file.read_text()) == of_links(truth)
    linking = f"{len(truth)} URLs to {file}, to which {truth.total():,} links of "
    assert linking in done.stderr
    to_output = run(crawl, "-")
    assert to_output.stdout == file.read_text()


def test_the_budget_goes_to_what_many_pages_link_to(of_web: tuple[Crawl, Counter[str]], tmp_path: Path) -> None:
    """The file is one that --rank reads; with it, pages that are alike but for links to them are not visited alike."""
    crawl, truth = of_web
    file = tmp_path / "ranks.txt"
    told: list[int] = []
    with crawl.opened() as opened:
        ranked = opened.rank(file, on_progress=lambda one: told.append(one.linking))
    assert (ranked.urls, ranked.links) == (len(truth), truth.total())
    assert (ranked.lost, ranked.left_out) == (0, 0)
    assert told[-1] == ranked.linking

    urls = sorted(truth)
    rate, budget = 1 / 3600, len(urls) / 86_400
    alike = optimal_visits([(rate, weight_of(crawl.settings())(url, 1)) for url in urls], budget)
    assert max(alike) == pytest.approx(min(alike))
    by_rank = weight_of(crawl.settings(rank=file))
    visits = optimal_visits([(rate, by_rank(url, 1)) for url in urls], budget)
    by_links_first = sorted(zip(urls, visits, strict=True), key=lambda one: -truth[one[0]])
    often = [number for _, number in by_links_first]
    assert all(one >= other - 1e-12 for one, other in pairwise(often))
    assert often[0] > 1.2 * often[-1]
    assert by_rank("http://nowhere.example/", 1) == pytest.approx(by_links(min(truth.values())), abs=1e-4)


def test_the_last_visit_of_a_page_counts(crawl: Crawl) -> None:
    """What it links to now, or did when it was last found as it was; not what a page said that is gone."""
    lists = page(links=("/stays", "/turns", "/goes", "/moved", "/fails", "/aim"))
    site: dict[str, Reply] = {
        "/": lists,
        "/stays": page("stays", 'ETag: "1"', links=("/old", "/stays", "/old#part")),
        "/turns": page(links=("/old",)),
        "/goes": page("goes", links=("/old",)),
        "/fails": page("fails", links=("/old",)),
        "/moved": redirect("/aim"),
        "/old": page("old"),
        "/new": page("new"),
        "/aim": page("aim"),
    }
    server = RawServer(by_path(site))
    home = server.url()
    crawl.add([home])
    crawl.run(traps=False, outlinks=True, retries=0)
    with crawl.opened() as opened:
        opened.rank(crawl.folder / "first.txt")
    home_links = dict.fromkeys(("stays", "turns", "goes", "fails"), 1)
    first = {"": 0, **home_links, "aim": 2, "old": 4}
    assert weights((crawl.folder / "first.txt").read_text()) == of_links({home + path: n for path, n in first.items()})

    site["/stays"] = lambda visit: visit.send(NOT_MODIFIED)
    site["/turns"] = page(links=("/new",))
    site["/goes"] = NOT_FOUND
    site["/fails"] = lambda visit: None  # it hangs up
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run(traps=False, outlinks=True, retries=0)
    server.stop()
    results = {(row.url.removeprefix(home), row.visit): row.result for row in crawl.pages()}
    assert results["stays", 1] == PageResult.NOT_MODIFIED
    assert results["goes", 1] == PageResult.HTTP_ERROR
    assert results["fails", 1] in (PageResult.CUT, PageResult.CONNECT_FAILED, PageResult.BAD_ANSWER)
    with crawl.opened() as opened:
        opened.rank(crawl.folder / "second.txt")
    second = {"": 0, "stays": 1, "turns": 1, "fails": 1, "aim": 2, "old": 2, "new": 1}
    found = weights((crawl.folder / "second.txt").read_text())
    assert found == of_links({home + path: number for path, number in second.items()})


def test_a_crawl_without_out_links_is_told(crawl: Crawl) -> None:
    server = RawServer(by_path({"/": page(links=("/a",)), "/a": page("a")}))
    crawl.add([server.url()])
    crawl.run(traps=False)
    server.stop()
    file = crawl.folder / "ranks.txt"
    file.write_text("as it was")
    done = run(crawl, str(file))
    assert isinstance(done.exception, NotCrawledError)
    assert done.exception.exit_code == 9
    assert "--outlinks" in str(done.exception)
    assert file.read_text() == "as it was"


def test_pages_whose_records_are_gone_are_told(of_web: tuple[Crawl, Counter[str]], tmp_path: Path) -> None:
    crawl, truth = of_web
    pages, file = tmp_path / "pages", tmp_path / "ranks.txt"
    shutil.copytree(crawl.folder / "pages", pages)
    row = next(one for one in crawl.pages() if one.content_type == "text/html" and one.depth == 2)
    with (pages / row.warc_file).open("r+b") as warc:
        warc.seek(row.warc_offset - 9)  # in the record of its request
        warc.write(b"damaged!")
    done = run(crawl, str(file), pages=pages)
    assert isinstance(done.exception, RecordsLostError)
    assert "1 page was left out" in str(done.exception)
    found = weights(file.read_text())
    assert found.keys() == truth.keys()
    assert sum(found.values()) < sum(map(by_links, truth.values())) - 1e-2

    (pages / row.warc_file).write_bytes(b"")
    file.unlink()
    done = run(crawl, str(file), pages=pages)
    assert isinstance(done.exception, RecordsLostError)
    assert not file.exists()


def test_a_file_that_would_be_packed_is_refused(of_web: tuple[Crawl, Counter[str]], tmp_path: Path) -> None:
    done = run(of_web[0], str(tmp_path / "ranks.txt.gz"))
    assert isinstance(done.exception, SettingsError)
    assert not list(tmp_path.iterdir())


def test_no_more_urls_than_a_file_of_ranks_may_have(of_web: tuple[Crawl, Counter[str]]) -> None:
    crawl, truth = of_web
    with closing(InDegrees()) as degrees, crawl.opened() as opened, opened.reader() as reader:
        degrees.count(opened.database, reader)
        found = weights("".join(degrees.lines(most=10)))
    assert list(found.values()) == [pytest.approx(by_links(n), abs=1e-4) for _, n in truth.most_common(10)]
    assert degrees.ranked.left_out == len(truth) - 10
