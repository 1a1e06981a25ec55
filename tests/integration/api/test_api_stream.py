"""`scrawler.crawl`: pages come while the crawl goes on, and the crawl ends with its reader."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import scrawler
from tests.forks import machines
from tests.integration.api.conftest import SETTINGS, wait_for
from tests.integration.api.site import Site, chain
from tests.limits import HANGS


def test_pages_come_while_the_crawl_goes_on(chained: Site) -> None:
    got = []
    for page in scrawler.crawl([chained.root + "/0"], **SETTINGS):
        got.append(page.title)
        if len(got) == 5:
            assert not chained.opened.is_set()
            chained.opened.set()  # only now can the last page come
    assert got == [f"page {number}" for number in range(6)]
    assert machines() == set()


def test_who_leaves_the_loop_stops_the_crawl_and_the_next_one_goes_on(tmp_path: Path, chained: Site) -> None:
    for page in scrawler.crawl(chained.root + "/0", folder=tmp_path / "new", **SETTINGS):
        assert page.url == chained.root + "/0"
        assert chained.held.wait(HANGS)
        chained.opened.set()
        break
    gc.collect()
    assert machines() == set()
    assert {path.name for path in (tmp_path / "new").iterdir()} >= {"scrawler.db", "pages"}
    with scrawler.Crawl(tmp_path / "new" / "scrawler.db") as crawl:
        assert [machine.state for machine in crawl.status().machines] == ["stopped"]
    rest = scrawler.crawl(chained.root + "/0", folder=tmp_path / "new", **SETTINGS)
    assert {page.url for page in rest} <= {f"{chained.root}/{number}" for number in range(1, 6)}
    assert max(chained.asked.values()) <= 2


def test_a_slow_reader_does_not_hold_the_crawl_up(tmp_path: Path, chained: Site) -> None:
    chained.opened.set()
    pages = scrawler.crawl([chained.root + "/0"], folder=tmp_path, **SETTINGS)
    first = next(pages)
    with scrawler.Crawl(tmp_path / "scrawler.db") as crawl:
        wait_for(lambda: any(crawl.seeds(state="done")))  # while the reader has read one page only
    assert [first.title, *(page.title for page in pages)] == [f"page {number}" for number in range(6)]


def test_pages_of_a_temporary_folder_can_be_read_as_long_as_one_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Site(chain(5)) as site:
        pages = list(scrawler.crawl([site.root + "/0"], max_pages=2, **SETTINGS))
    assert len(list(tmp_path.iterdir())) == 1
    assert [page.title for page in pages] == ["page 0", "page 1"]
    del pages
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_errors_come_at_once_and_results_may_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(scrawler.SettingsError, match="unknown setting"):
        scrawler.crawl(["http://a.example/"], folder=tmp_path, dealy=1)
    with pytest.raises(scrawler.InputError, match="no usable seed"):
        scrawler.crawl(["nothing"], folder=tmp_path)
    with Site({}) as site:
        every = list(scrawler.crawl([site.root + "/0"], folder=tmp_path / "two", result=None, **SETTINGS))
    assert [(page.status, page.result, page.body) for page in every] == [(404, "http-error", b"")]
