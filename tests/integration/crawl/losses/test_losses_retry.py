"""What is gone of the archive is fetched again, and all counts are then as they were."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from scrawler import upkeep
from scrawler.app import retry_lost
from scrawler.model.records import LossKind
from scrawler.model.rows import PageRow
from scrawler.store.engines.engine import Database
from scrawler.store.lists import lost_rows
from scrawler.store.lists.losses import Losses, LostSum, LostTotals
from scrawler.store.sums.reports import Reports
from tests.consistency import check_records
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, RESOLVE, by_host, by_path, page, run_whole
from tests.integration.crawl.losses.losing import (
    HARMS,
    NOISE,
    NOTHING,
    Serve,
    archived,
    asked,
    counts,
    cut,
    empty,
    files,
    move_away,
    overwrite,
    remove,
    rows_of,
    run,
    set_aside,
    site,
    totals,
    verified,
    zero,
    zero_the_end,
)
from tests.integration.fetch.servers import Visit, path_of


def found_in(crawl: Crawl) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """What all links came to, and how often each candidate was found."""
    verdicts = asked(crawl, lambda database: dict(Reports(database).verdicts(None)))
    with_times = "SELECT url, count FROM candidate ORDER BY seed_id, url_hash"
    return verdicts, asked(crawl, lambda database: _rows(database, with_times))


def _rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def dependents(crawl: Crawl, gone: Iterable[PageRow]) -> list[PageRow]:
    """Revisits of whole files whose payload stood in these records alone."""
    gone = list(gone)
    of_seed = {(row.seed_id, row.digest) for row in gone if not row.revisit}
    left = [row for row in crawl.pages() if row not in gone]
    there = {(row.seed_id, row.digest) for row in left if row.warc_file and not row.revisit}
    return [row for row in left if row.revisit and (row.seed_id, row.digest) in of_seed - there]


@pytest.mark.parametrize(("harm", "kind"), HARMS.items())
def test_what_is_gone_is_told_once_and_fetched_again(
    harm: Callable[[Path], None], kind: LossKind, crawled: Crawl
) -> None:
    """Every count is as before, every row is there once, and archive and database tell the same."""
    crawl, path = crawled, files(crawled)[0]
    before, links, urls = counts(crawl), found_in(crawl), sorted(row.url for row in crawl.pages())
    mine = rows_of(crawl, path)
    half = harm in (cut, zero_the_end)
    harm(path)
    lost = mine if not half else [row for row in mine if row.warc_offset + row.warc_length > 500_000]
    summary = run(crawl)
    told = LostSum(*summary.lost)
    assert told.files == 1
    assert half or told.records == len(mine)
    assert 0 < told.records <= len(mine)
    if not half:
        assert told.revisits == len(dependents(crawl, lost))
        assert told.revisits > 0
    loss = asked(crawl, lambda database: Losses(database).all())[path.name]
    assert (loss.kind, loss.records, loss.accepted) == (kind, told.records, False)
    assert run(crawl).lost == NOTHING, "it is told once"
    assert totals(crawl).open == told
    said: list[str] = []
    retry_lost(crawl.settings(), threading.Event(), said.append)
    number = told.records + told.revisits
    assert said == [f"URLs to be fetched again because their records are gone: {number:,}"]
    retry_lost(crawl.settings(), threading.Event(), said.append)
    assert said[1] == "URLs to be fetched again because their records are gone: 0", "they are listed"
    assert sorted(row.url for row in crawl.pages()) == urls, "no row goes before another takes its place"
    assert (counts(crawl), set_aside(path)) == (before, [])
    crawl.run(robots=False, warc_size=1 << 20)
    crawl.check()
    aside = set_aside(path)
    assert [one.name for one in aside] == ([path.name + ".damaged"] if half else [])
    move_away(crawl, aside)
    check_records(crawl.url, crawl.folder / "pages")
    assert sorted(row.url for row in crawl.pages()) == urls
    assert counts(crawl) == before
    assert found_in(crawl) == links
    assert totals(crawl) == LostTotals(LostSum(0, 0, 0), LostSum(0, 0, 0))


def swap(path: Path) -> None:
    path.write_bytes(NOISE * 40)


def harm_a_record(path: Path) -> None:
    """In the midst of the file, where a look finds nothing."""
    overwrite(path, path.stat().st_size // 2, b"damage")


@pytest.mark.parametrize(
    ("harm", "with_index"),
    [(remove, True), (remove, False), (cut, True), (empty, False), (zero, True), (swap, False), (harm_a_record, True)],
)
def test_a_file_that_comes_back_after_its_pages_were_fetched_again_is_known(
    harm: Callable[[Path], None], with_index: bool, crawled: Crawl
) -> None:
    """It is not taken for one that a killed machine wrote and never committed, nor for anybody else's."""
    crawl, path = crawled, files(crawled)[0]
    index = path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj")
    whole, listed = path.read_bytes(), index.read_bytes()
    before = counts(crawl)
    harm(path)
    harmed = path.read_bytes() if path.exists() else b""
    verified(crawl)
    retry_lost(crawl.settings(), threading.Event())
    left = path.read_bytes() if path.exists() else b""
    there = left + b"".join(one.read_bytes() for one in set_aside(path))
    assert there == harmed or not harmed.strip(b"\0"), "not a byte is lost"
    run(crawl)
    path.write_bytes(whole)
    index.unlink(missing_ok=True)
    if with_index:
        index.write_bytes(listed)
    assert run(crawl).lost == NOTHING
    findings, said = verified(crawl)
    assert (findings, said.gone, said.unknown) == ([], 0, 0)
    assert path.read_bytes() == whole
    crawl.check()
    assert counts(crawl) == before


def test_robots_txt_whose_records_are_gone_is_forgotten_with_a_word_and_asked_for_again(
    crawl_on_both: Crawl, serve: Serve
) -> None:
    crawl = crawl_on_both
    pages = {"/": page("home", links=("/1",)), "/1": page("1"), "/robots.txt": page("User-agent: *\nAllow: /\n")}
    crawl.add([serve(by_path(pages)).url()])
    run_whole(crawl)
    assert len(of_robots(crawl)) == 1
    for path in files(crawl):
        path.unlink()
    told = run(crawl, robots=True).lost
    assert told[1] == 3
    said: list[str] = []
    retry_lost(crawl.settings(), threading.Event(), said.append)
    assert said == [
        "URLs to be fetched again because their records are gone: 2",
        "1 more is of robots.txt files, or what pages in a browser asked for: asked for again when it is needed",
    ]
    assert of_robots(crawl) == []
    assert len(verified(crawl)[0]) == 2, "pages are told as gone until they have come again"
    run_whole(crawl)
    assert len(of_robots(crawl)) == 1
    findings, done = verified(crawl)
    assert (findings, done.whole) == ([], 3)
    assert totals(crawl) == LostTotals(LostSum(0, 0, 0), LostSum(0, 0, 0))


def of_robots(crawl: Crawl) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = asked(crawl, lambda database: _rows(database, "SELECT url FROM robots_record"))
    return found


def test_lost_pages_of_a_seed_that_ended_by_a_limit_are_fetched_and_no_others(crawl: Crawl, serve: Serve) -> None:
    crawl.add([serve(site("one")).url()])
    run_whole(crawl, max_pages=20, robots=False)
    before = counts(crawl)
    urls = {row.url for row in crawl.pages()}
    for path in files(crawl):
        path.unlink()
    retry_lost(crawl.settings(), threading.Event())
    assert {row.url for row in crawl.pages()} == urls
    assert counts(crawl) == before
    summary = crawl.run(max_pages=20, robots=False)
    assert summary.lost == NOTHING
    check_records(crawl.url, crawl.folder / "pages")
    assert {row.url for row in crawl.pages()} == urls
    assert counts(crawl) == before


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_retry_cut_short_at_any_point_is_done_again(
    steps: int, crawled: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = crawled
    before, urls = counts(crawl), sorted(row.url for row in crawl.pages())
    torn, gone = files(crawl)[:2]
    cut(torn)
    remove(gone)
    left = [steps]
    pack = upkeep.packed

    def failing(entries: Sequence[tuple[str, int, int]]) -> bytes:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return pack(entries)

    monkeypatch.setattr(lost_rows, "_PLACES", 5)
    monkeypatch.setattr(upkeep, "packed", failing)
    with pytest.raises(KeyboardInterrupt):
        retry_lost(crawl.settings(), threading.Event())
    crawl.check()
    monkeypatch.setattr(upkeep, "packed", pack)
    retry_lost(crawl.settings(), threading.Event())
    crawl.run(robots=False, warc_size=1 << 20)
    move_away(crawl, set_aside(torn))
    check_records(crawl.url, crawl.folder / "pages")
    assert sorted(row.url for row in crawl.pages()) == urls
    assert counts(crawl) == before
    assert verified(crawl)[0] == []


def test_what_a_seed_left_behind_when_it_moved_cannot_be_fetched_again_and_stays_lost(
    crawl: Crawl, serve: Serve
) -> None:
    """Its old site may be another machine's by now, and politeness is kept by site."""
    home = page("here", links=("/1",))
    sites = {"a.example": {"/": "http://b.example:{port}/"}, "b.example": {"/": home, "/1": page("1")}}
    crawl.add([f"http://a.example:{serve(by_host(sites)).port}/"])
    run_whole(crawl, resolve=RESOLVE, robots=False)
    number = archived(crawl)
    assert number == 3
    for path in files(crawl):
        path.unlink()
    assert run(crawl, resolve=RESOLVE).lost[1] == number
    said: list[str] = []
    retry_lost(crawl.settings(), threading.Event(), said.append)
    assert said == [
        "URLs to be fetched again because their records are gone: 2",
        "1 more cannot be: their seeds are at other sites by now",
    ]
    assert run(crawl, resolve=RESOLVE).lost == NOTHING
    crawl.check()
    assert totals(crawl).open == LostSum(1, 1, 0)
    assert archived(crawl) == number


def test_what_cannot_be_fetched_again_keeps_its_row(crawl: Crawl, serve: Serve) -> None:
    """While the site is down, or has errors for pages that it had. That a page is gone is told instead of it."""
    state = ["well"]

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if state[0] == "down":
                return
            if state[0] == "errors":
                visit.send(page("sorry", status="500 Internal Server Error"))
            elif path not in ("/", "/1") or (state[0] == "gone" and path == "/1"):
                visit.send(NOT_FOUND)
            else:
                visit.send(page(path, links=("/1",)))

    crawl.add([serve(script).url()])
    run(crawl)
    before, was = crawl.pages(), counts(crawl)
    for path in files(crawl):
        path.unlink()
    assert run(crawl).lost == (1, 2, 0)
    for state[0] in ("down", "errors", "gone"):
        said: list[str] = []
        retry_lost(crawl.settings(), threading.Event(), said.append)
        assert said == ["URLs to be fetched again because their records are gone: 2"]
        run(crawl, retries=0)
        crawl.check()
        if state[0] != "gone":
            assert (crawl.pages(), counts(crawl)) == (before, was)
            assert totals(crawl).open == LostSum(1, 2, 0)
    assert [row.result for row in sorted(crawl.pages(), key=attrgetter("url"))] == ["fetched", "http-error"]
    assert totals(crawl).open == LostSum(0, 0, 0)
    assert verified(crawl)[0] == []
