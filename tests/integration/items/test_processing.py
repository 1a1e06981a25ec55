"""Page processors: once for each page that is committed, and each item once, whatever is killed."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import scrawler
from tests.e2e.conftest import Scrawl
from tests.forks import run_python
from tests.integration.api.conftest import SETTINGS, make
from tests.integration.api.quotes import QUOTES, items_of, lines_of, quotes
from tests.integration.api.site import Site, chain, linking
from tests.limits import HANGS
from tests.plugged import install
from tests.proxy import Proxy


def test_items_of_all_pages_are_written_while_it_crawls(crawled: Path) -> None:
    items = lines_of(crawled / "quotes.jsonl")
    assert [item["text"] for item in items] == [f"quote {page}.{place}" for page in range(3) for place in range(2)]
    assert items[0]["tags"] == ["tag", '"x, y"']
    with make(crawled) as crawl:
        assert {item["_page"] for item in items} == {page.id for page in crawl.pages(result="fetched")}
        (done,) = crawl.processed()
        assert (done.pages, done.items, done.errors) == (3, 6, 0)
        assert done.name.endswith(".quotes")
        assert crawl.process(quotes, items=crawled / "quotes.jsonl").pages == 3, "there is nothing new"
    assert lines_of(crawled / "quotes.jsonl") == items


def test_pages_can_be_processed_later_and_again(crawled: Path, tmp_path: Path) -> None:
    def title(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url, "quotes": len(page.dom.css("q"))}

    file = tmp_path / "titles.csv"
    with make(crawled) as crawl:
        assert crawl.process(title, items=file).items == 3
        before = file.read_bytes()
        assert crawl.process(title, items=file, again=True).items == 3
        assert file.read_bytes() == before
        with pytest.raises(scrawler.SettingsError, match="is there, and not the file that these processors"):
            crawl.process(lambda page: None, items=file)
        with pytest.raises(scrawler.SettingsError, match=r"items are written as \.jsonl, \.csv or "):
            crawl.process(title, items=tmp_path / "titles.xlsx", again=True)
        with pytest.raises(scrawler.SettingsError, match="no page processors"):
            crawl.process()
        with pytest.raises(scrawler.SettingsError, match="two page processors are called"):
            crawl.process(lambda page: None, lambda page: {})
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["quotes"] for row in rows] == ["2", "2", "2"]


def _stored(folder: Path, name: str) -> scrawler.features.items.processors.Processed:
    with make(folder) as crawl:
        return next(done for done in crawl.processed() if done.name.endswith(name))


def test_a_call_that_is_refused_changes_nothing(crawled: Path, tmp_path: Path) -> None:
    def refused(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url}

    file, other = tmp_path / "items.jsonl", tmp_path / "other.jsonl"
    other.write_text("mine\n")
    (tmp_path / "folder.jsonl").mkdir()
    with make(crawled) as crawl:
        crawl.process(refused, items=file)
        whole, before = file.read_bytes(), _stored(crawled, ".refused")
        for items in (tmp_path / "items.jsnl", other, tmp_path / "folder.jsonl", crawled / "crawl.db"):
            with pytest.raises(scrawler.ScrawlerError):
                crawl.process(refused, items=items, again=True)
        with pytest.raises(scrawler.SettingsError, match="machines"):
            crawl.run(-1, processors=[refused], items=file, anew=True)
        assert _stored(crawled, ".refused") == before
        assert crawl.process(refused, items=file).items == 3
    assert file.read_bytes() == whole
    assert other.read_text() == "mine\n"


def test_processors_at_work_are_not_disturbed_with_another_file_either(crawled: Path, tmp_path: Path) -> None:
    def url(page: scrawler.Page) -> dict[str, Any]:
        for again in (False, True):
            with make(crawled) as other, pytest.raises(scrawler.ScrawlerError, match="are at work already"):
                other.process(url, items=tmp_path / "other.jsonl", again=again)
        return {"url": page.url}

    with make(crawled) as crawl:
        assert crawl.process(url, items=tmp_path / "items.jsonl").items == 3
    assert not (tmp_path / "other.jsonl").exists()


def test_processors_go_on_with_the_file_that_they_had_or_begin_anew(crawled: Path, tmp_path: Path) -> None:
    def late(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url}

    told: list[str] = []
    first, second = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    with make(crawled, say=told.append) as crawl:
        crawl.process(late)
        with pytest.raises(
            scrawler.SettingsError, match=r"3 pages were processed already, without a file .* again=True"
        ):
            crawl.process(late, items=first)
        assert not first.exists()
        assert crawl.process(late, items=first, again=True).items == 3
        for other in (second, None):
            with pytest.raises(scrawler.SettingsError, match=f"processed already, into {first}: name that file, or "):
                crawl.process(late, items=other)
        assert not second.exists()
        assert not told
        crawl.process(late, items=first)
        (line,) = told
        assert line.startswith("nothing new to process; page processors ")
        assert line.endswith(f".late: 3 pages were processed already, into {first}")
        assert crawl.process(late, items=second, again=True).items == 3
    assert first.read_bytes() == second.read_bytes(), "what was left is still there"


def test_the_file_of_items_moves_with_the_folder_of_the_database(crawled: Path, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(crawled, before)
    with make(before) as crawl:
        assert crawl.process(quotes, items=before / "quotes.jsonl", again=True).items == 6
    before.rename(after)
    with make(after) as crawl:
        assert crawl.process(quotes, items=after / "quotes.jsonl").items == 6


def _of_kind(kind: str) -> Callable[[scrawler.Page], dict[str, Any]]:
    def process(page: scrawler.Page) -> dict[str, Any]:
        return {"kind": kind}

    return process


class _Kind:
    def __init__(self, kind: str, name: str | None = None) -> None:
        self.kind = kind
        if name is not None:
            self.name = name

    def __call__(self, page: scrawler.Page) -> dict[str, Any]:
        return {"kind": self.kind}


def _with_kind(kind: str, page: scrawler.Page) -> dict[str, Any]:
    return {"kind": kind}


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        ((_of_kind("a"), _of_kind("b")), "_of_kind.<locals>.process"),
        ((_Kind("a"), _Kind("b")), f"{__name__}._Kind"),
        ((partial(_with_kind, "a"), partial(_with_kind, "b")), f"{__name__}._with_kind"),
        ((_Kind("a", "same"), _Kind("b", "same")), "same"),
    ],
)
def test_two_processors_of_one_name_are_refused(
    crawled: Path, tmp_path: Path, pair: tuple[Any, ...], name: str
) -> None:
    file = tmp_path / "items.jsonl"
    with make(crawled) as crawl:
        with pytest.raises(scrawler.SettingsError, match=f"two page processors are called .*{re.escape(name)}: give"):
            crawl.process(*pair, items=file)
        assert not any(name in done.name for done in crawl.processed())
    assert not file.exists()


def test_a_processor_may_have_a_name_and_a_partial_goes_by_what_it_wraps(crawled: Path, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    with make(crawled) as crawl:
        done = crawl.process(_Kind("a", "kind-a"), _Kind("b", "kind-b"), partial(_with_kind, "c"), items=file)
        assert done.name == f"kind-a,kind-b,{__name__}._with_kind"
    assert [item["kind"] for item in lines_of(file)] == ["a", "b", "c"] * 3


def test_what_is_no_processor_is_refused(crawled: Path) -> None:
    with make(crawled) as crawl:
        for wrong, message in ((5, "and 5 cannot be called"), (_Kind("a", "a,b"), "without commas, not 'a,b'")):
            with pytest.raises(scrawler.SettingsError, match=message):
                crawl.process(wrong)  # type: ignore[arg-type]
        with pytest.raises(scrawler.SettingsError, match="are a list"):
            crawl.run(processors=quotes)  # type: ignore[arg-type]


def test_an_error_ends_the_items_of_its_page_alone_and_is_told_and_counted(crawled: Path, tmp_path: Path) -> None:
    def fails(page: scrawler.Page) -> Iterator[Any]:
        yield {"url": page.url}
        if page.url.endswith("/1"):
            raise LookupError("nothing there")
        if page.url.endswith("/2"):
            yield {"what JSON has not": object()}

    told: list[str] = []
    with make(crawled, say=told.append) as crawl:
        done = crawl.process(fails, items=tmp_path / "items.jsonl")
        assert (done.pages, done.items, done.errors) == (3, 1, 2)
        assert crawl.process(lambda page: ["no dict"], items=None).errors == 3
    assert len(lines_of(tmp_path / "items.jsonl")) == 1
    assert "LookupError: nothing there" in told[0]
    assert "an item cannot be written" in told[1]
    assert "an item is a dict, not a str" in told[2]


def test_stop_ends_the_processing_of_what_is_there_and_the_next_call_goes_on(crawled: Path) -> None:
    seen: list[str] = []

    def stops(page: scrawler.Page) -> None:
        seen.append(page.url)
        crawl.stop()

    with make(crawled) as crawl:
        crawl.stop()
        assert crawl.process(stops).pages == 0, "a stop that comes too early is not lost"
        assert crawl.process(stops).pages == len(seen) == 3
        crawl.stop()
        assert crawl.process(stops, again=True).pages == 0


def test_a_database_that_is_away_is_no_error_of_a_page_and_who_stops_does_not_wait_for_it(
    tmp_path: Path, proxied_url: str, proxy: Proxy
) -> None:
    away: list[bool] = [True]

    def referrers(page: scrawler.Page) -> dict[str, str]:
        if away and page.url.endswith("/1"):
            away.clear()
            proxy.refuse()
            crawl.stop()
        return {"referrer": page.referrer}

    with Site(QUOTES) as site, make(tmp_path, db=proxied_url, database_patience=2 * HANGS, stop_timeout=0.1) as crawl:
        crawl.add([site.root + "/0"])
        crawl.run()
        with pytest.raises(scrawler.StoreAwayError, match="stopped without it: all checkpoints are kept"):
            crawl.process(referrers, items=tmp_path / "items.jsonl")
        proxy.accept()
        done = crawl.process(referrers, items=tmp_path / "items.jsonl")
        assert (done.pages, done.items, done.errors) == (3, 3, 0)
    assert [item["referrer"] for item in lines_of(tmp_path / "items.jsonl")] == ["", f"{site.root}/0", f"{site.root}/1"]


def test_what_a_killed_process_wrote_is_cut_off_and_made_again(crawled: Path, tmp_path: Path) -> None:
    def slow(page: scrawler.Page) -> dict[str, Any]:
        return {"url": page.url}

    file = tmp_path / "items.jsonl"
    with make(crawled) as crawl:
        crawl.process(slow, items=file)
        whole = file.read_bytes()
        file.write_bytes(whole + b'{"url": "half of a li')
        assert crawl.process(slow, items=file).items == 3
        assert file.read_bytes() == whole
        file.write_bytes(whole[:10])
        with pytest.raises(scrawler.ScrawlerError, match="has lost items"):
            crawl.process(slow, items=file)


def test_two_programs_do_not_work_with_the_same_processors(crawled: Path) -> None:
    def nested(page: scrawler.Page) -> dict[str, Any]:
        with make(crawled) as other:
            other.process(nested_name)
        return {"url": page.url}

    def nested_name(page: scrawler.Page) -> None:
        return None

    nested_name.__qualname__ = nested.__qualname__
    with make(crawled) as crawl, pytest.raises(scrawler.StoreError, match="another program works with"):
        crawl.process(nested)


def test_who_works_with_a_file_of_items_is_not_disturbed_by_another_program(crawled: Path, tmp_path: Path) -> None:
    def url(page: scrawler.Page) -> dict[str, Any]:
        with make(crawled) as other, pytest.raises(scrawler.ScrawlerError, match="written by another program"):
            other.process(url, items=tmp_path / "items.jsonl")
        return {"url": page.url}

    with make(crawled) as crawl:
        assert crawl.process(url, items=tmp_path / "items.jsonl").items == 3


def test_a_file_of_items_may_be_where_files_cannot_be_locked(
    crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrawler.flocks.fcntl", None)
    with make(crawled) as crawl:
        assert crawl.process(lambda page: {"url": page.url}, items=tmp_path / "items.jsonl").items == 3


_SCRIPT = """
import os, sys, scrawler
seen = open("seen.txt", "a")
def parse(page):
    seen.write(page.url + "\\n")
    seen.flush()
    if len(open("seen.txt").readlines()) == int(sys.argv[1]):
        os.kill(os.getpid(), 9)
    yield {{"url": page.url, "what": "x" * 100}}
    yield {{"url": page.url, "what": "y"}}
with scrawler.Crawl("crawl.db", **{settings!r}) as crawl:
    crawl.add(["{root}/"])
    crawl.run(processors=[parse], items=sys.argv[2])
"""


@pytest.mark.parametrize(
    "place", ["items.jsonl", pytest.param("items.parquet", marks=pytest.mark.heavy), "table:found"]
)
def test_each_item_is_written_once_across_kills(tmp_path: Path, place: str) -> None:
    numbers = range(130)  # some batches
    home = linking("home", *(f"/{number}" for number in numbers))
    with Site({"/": home} | {f"/{number}": linking(f"page {number}") for number in numbers}) as site:
        (tmp_path / "script.py").write_text(_SCRIPT.format(settings=SETTINGS | {"traps": False}, root=site.root))
        for kill_at, code in ((20, -9), (110, -9), (0, 0)):
            done = run_python("script.py", str(kill_at), place, folder=tmp_path)
            assert done.returncode == code, done.stderr
    pages = sorted(f"{site.root}/{number}" for number in ("", *numbers))
    items = items_of(tmp_path, place)
    assert sorted(item["url"] for item in items) == sorted(pages * 2)
    assert len({(item["_page"], item["what"]) for item in items}) == 262
    seen = (tmp_path / "seen.txt").read_text().split()
    assert sorted(set(seen)) == pages, "each page at least once"
    assert len(seen) > 131, "some twice, of the batches that were killed"


PLUGIN = """
def make(settings):
    return lambda page: {"url": page.url, "agent": settings.user_agent}
"""


def test_the_command_line_runs_processors_of_packages(scrawl: Scrawl, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    install(packages, "urls-of-pages", PLUGIN, {"scrawler.page_processors:urls": "make"})
    with Site(chain(2)) as site:
        (tmp_path / "seeds.txt").write_text(site.root + "/0\n")
        flags = "--allow-private --delay 0 --patience 0 --user-agent T/1(+http://x/) --page-processors urls"
        for words in (("import", "seeds.txt"), ("run", *flags.split(), "--items", "out.csv")):
            done = scrawl(tmp_path, *words, PYTHONPATH=str(packages))
        assert "page processors urls: 2 pages, 2 items, 0 errors" in done.stderr
        before = (tmp_path / "out.csv").read_text()
        for file, again, code, told in (
            ("new.csv", (), 2, f"processed already, into {tmp_path / 'out.csv'}: name that file, or"),
            ("new.csv", ("--anew",), 0, "page processors urls: 2 pages, 2 items, 0 errors"),
            ("new.csv", (), 0, "nothing new to process; page processors urls: 2 pages were processed already, into"),
        ):
            words = ("run", *flags.split(), "--items", file, *again)
            done = scrawl(tmp_path, *words, code=code, PYTHONPATH=str(packages))
            assert told in done.stderr, done.stderr
    assert (tmp_path / "new.csv").read_text() == before
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert {row["url"] for row in rows} == {site.root + "/0", site.root + "/1"}
    assert {row["agent"] for row in rows} == {"T/1(+http://x/)"}
