"""What an earlier crawl has archived is not archived once more: revisit records that refer to its files."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scrawler
from scrawler.errors import DatabaseUrlError, RecordsLostError, SettingsError, StoreError
from scrawler.features.earlier.store.referred import absolute
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Validators, WebSpec
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from tests.consistency import check_records
from tests.integration.crawl.earlier import another, file_of, records
from tests.integration.crawl.hostile import LONGEST_RUN, by_path, page
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer
from tests.stored import load_schema
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


@pytest.fixture
def later(crawl: Crawl, tmp_path: Path) -> Crawl:
    """A crawl that may refer to the first one; its files lie in a folder of its own."""
    return another(crawl, tmp_path / "later")


@pytest.fixture(scope="module")
def served() -> Iterator[SynthServer]:
    with SynthServer(WebSpec(seed=5, sites=3, mean_pages=20, page_bytes=3000)) as server:
        yield server


def _told(rows: list[PageRow]) -> set[tuple[object, ...]]:
    """What pages came to; for which of two that are nearly the same that is said is a matter of time."""
    return {(row.url, row.result, row.status, row.digest, row.depth, row.simhash) for row in rows}


def _site(text: str) -> dict[str, bytes]:
    """Pages of which one changes, two are the same, and one is text that leads nowhere."""
    return {
        "/": page("home", links=("/kept", "/changes", "/copy", "/moved")),
        "/kept": page("the same for ever"),
        "/copy": page("the same for ever"),
        "/changes": page(text),
    }


def test_only_what_has_changed_is_archived_and_the_rest_read_from_the_earlier_crawl(
    crawl: Crawl, later: Crawl, serve: Serve
) -> None:
    pages = _site("first")
    root = serve(by_path(pages)).url("/")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    pages |= _site("second") | {"/moved": pages["/kept"]}
    summary = later.run(dedup_from=file_of(crawl))

    before = {row.url: row for row in crawl.pages()}
    rows = {row.url.removeprefix(root): row for row in later.pages()}
    earlier = {url for url, row in rows.items() if row.flags & PageFlag.EARLIER}
    kept = next(row for row in before.values() if row.url.endswith(("/kept", "/copy")) and not row.revisit)
    assert set(records(later, "response")) == {root + "changes"}
    revisits = records(later, "revisit")
    assert set(revisits) == {root, *(root + name for name in ("kept", "copy", "moved"))}
    assert {profile for profile, _, _ in revisits.values()} == {SAME_PAYLOAD}
    assert {revisits[root + name][1] for name in ("kept", "copy", "moved")} == {kept.url}
    assert len(earlier) == 2, "of the pages that are the same, one is the first"
    saved = sum(row.length for row in rows.values() if row.flags & PageFlag.EARLIER)
    assert later.seeds()[0].counts.saved == summary.saved == saved
    check_records(later.url, later.folder / "pages", earlier=[crawl.url])
    later.check()
    with later.opened() as opened:
        assert opened.read(root + "changes") == b"second"
        for name in ("kept", "copy", "moved"):
            assert opened.read(root + name) == b"the same for ever"
        assert b"home" in opened.read(root)
        assert opened.report().as_json()["duplicates"]["exact"] == 2, "those are duplicates in this crawl"


def test_the_same_pages_are_fetched_with_and_without(crawl: Crawl, later: Crawl, served: SynthServer) -> None:
    for one in (crawl, later):
        one.add(served.web.seeds())
    crawl.run()
    later.run(dedup_from=f"sqlite:///{file_of(crawl)}")
    plain, deduped = crawl.pages(), later.pages()
    assert _told(deduped) == _told(plain)
    assert not records(later, "response"), "all is as it was"
    check_records(later.url, later.folder / "pages", earlier=[crawl.url])
    with later.opened() as opened, crawl.opened() as first:
        for row in deduped:
            if row.result == Result.FETCHED:
                assert opened.read(row.url) == first.read(row.url)


def test_what_an_earlier_crawl_has_is_no_sign_of_a_trap(crawl: Crawl, later: Crawl, serve: Serve) -> None:
    """Pages of one pattern that were new to the first crawl are so to the second one, though it archives none."""
    words = [f"{number} " + " ".join(f"word{number}x{word}" for word in range(40)) for number in range(40)]
    links = tuple(f"/list?of={number}" for number in range(40))
    pages = {"/": page("home", links=links[:5])}
    for number, link in enumerate(links):
        pages[link] = page(words[number], links=links[number + 1 : number + 6])
    root = serve(by_path(pages)).url("/")
    for one in (crawl, later):
        one.add([root])
    for one, changes in ((crawl, {}), (later, {"dedup_from": file_of(crawl)})):
        one.run(trap_pages=5, **changes)
        assert one.fetched() == {root, *(root + link[1:] for link in links)}
    assert not records(later, "response")


def test_a_third_crawl_refers_to_the_first_one_through_the_second(
    crawl: Crawl, later: Crawl, serve: Serve, tmp_path: Path
) -> None:
    third = another(crawl, tmp_path / "third")
    pages = _site("first")
    root = serve(by_path(pages)).url("/")
    for one in (crawl, later, third):
        one.add([root])
    crawl.run()
    pages |= _site("second")
    later.run(dedup_from=file_of(crawl))
    later.run()  # refers to nothing, and what was referred to before is found all the same
    third.run(dedup_from=file_of(later))
    third.run()
    assert not records(third, "response")
    with third.opened() as opened:
        assert opened.read(root + "changes") == b"second"
        assert opened.read(root + "kept") == b"the same for ever"
    check_records(third.url, third.folder / "pages", earlier=[crawl.url, later.url])


@pytest.mark.parametrize("database_url", ["mariadb", "postgresql"], indirect=True)
def test_an_earlier_crawl_on_a_server_is_named_by_its_url(crawl_on_both: Crawl, serve: Serve, tmp_path: Path) -> None:
    first, later = crawl_on_both, another(crawl_on_both, tmp_path / "later")
    pages = _site("first")
    root = serve(by_path(pages)).url("/")
    for one in (first, later):
        one.add([root])
    first.run()
    pages |= _site("second")
    later.run(dedup_from=first.url)
    assert set(records(later, "response")) == {root + "changes"}
    with pytest.raises(SettingsError, match="the crawl's own database"):
        first.run(dedup_from=first.url)
    with scrawler.Crawl(settings=later.settings(dedup_from=first.url)) as opened:
        assert opened.read(root + "kept") == b"the same for ever"
        assert opened.read(root + "changes") == b"second"


def test_a_killed_crawl_goes_on_and_still_refers_to_the_earlier_one(crawl: Crawl, later: Crawl) -> None:
    spec = WebSpec(seed=3, sites=4, mean_pages=60, page_bytes=2000, validators=Validators.TRUE)
    with SynthServer(spec) as server:
        for one in (crawl, later):
            one.add(server.web.seeds())
        crawl.run()
        flags = "--dedup-from", file_of(crawl), "--checkpoint-interval", "0.1", "--delay", "0.02", "--timeout", "1"
        with running(later, *flags) as process:
            wait_for(lambda: bool(later.pages()), LONGEST_RUN, "pages that are committed")
            process.send_signal(signal.SIGKILL)
            process.communicate()
        left = len(later.pages())
        later.run(dedup_from=file_of(crawl), timeout=1)
    assert left < len(later.pages())
    assert {row.url for row in later.pages()} == {row.url for row in crawl.pages()}
    assert any(row.status == 304 for row in later.pages()[:left])
    assert any(row.status == 304 for row in later.pages()[left:])
    assert not records(later, "response")
    check_records(later.url, later.folder / "pages", earlier=[crawl.url])
    later.check()


def test_where_an_earlier_crawl_was_moved_can_be_told(crawl: Crawl, later: Crawl, serve: Serve) -> None:
    root = serve(by_path(_site("first"))).url("/")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    later.run(dedup_from=file_of(crawl))
    moved = Path(file_of(crawl)).rename(crawl.folder / "moved.db")
    with later.opened() as opened, pytest.raises(RecordsLostError, match=r"there is no database .*crawl\.db"):
        opened.read(root + "kept")
    with scrawler.Crawl(settings=later.settings(dedup_from=str(moved))) as opened:
        assert opened.read(root + "kept") == b"the same for ever"


def test_a_record_that_is_lost_there_is_archived_whole(crawl: Crawl, later: Crawl, serve: Serve) -> None:
    root = serve(by_path(_site("first"))).url("/")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    for path in (crawl.folder / "pages").glob("*.warc.gz"):
        path.unlink()
    crawl.run()  # notes what is gone
    later.run(dedup_from=file_of(crawl))
    assert len(records(later, "response")) == 4
    check_records(later.url, later.folder / "pages")


def test_what_cannot_be_an_earlier_crawl_is_told_before_anything_is_begun(
    crawl: Crawl, later: Crawl, tmp_path: Path
) -> None:
    crawl.add(["http://127.0.0.1:9/"])
    with pytest.raises(StoreError, match=r"there is no database .*none\.db"):
        crawl.run(dedup_from=str(tmp_path / "none.db"))
    with pytest.raises(SettingsError, match="the crawl's own database"):
        crawl.run(dedup_from=file_of(crawl))
    with pytest.raises(SettingsError, match="the crawl's own database"):
        crawl.run(dedup_from=f"sqlite+pysqlite:///{file_of(crawl)}")
    with pytest.raises(StoreError, match=r"^dedup_from: there is no database aaa"):
        crawl.run(dedup_from="a" * 300)
    with pytest.raises(StoreError, match=r"^dedup_from: no such kind of database: oracle") as of_kind:
        crawl.run(dedup_from="oracle://me@127.0.0.1/old")
    assert not isinstance(of_kind.value, DatabaseUrlError), "which says something of `db`"
    later.add(["http://127.0.0.1:9/"], Scope.DOMAIN)
    with pytest.raises(SettingsError, match="scope domain, and this crawl has host"):
        crawl.run(dedup_from=file_of(later))
    notes = tmp_path / "no %tes?.db"
    notes.write_text("no database" * 1_000)
    with pytest.raises(StoreError, match=rf"^dedup_from: database {re.escape(str(notes))} is not an SQLite database"):
        crawl.run(dedup_from=str(notes))
    with pytest.raises(StoreError, match=r"^dedup_from: database postgresql.*:\*\*\*@.* cannot be reached") as told:
        crawl.run(dedup_from="postgresql://me:secret@127.0.0.1:9/old", database_patience=1)
    load_schema(5, f"sqlite:///{tmp_path / 'old.db'}")
    with pytest.raises(StoreError, match=r"old\.db has schema 5, not \d+; bring it up with `scrawler db upgrade`"):
        crawl.run(dedup_from=str(tmp_path / "old.db"))
    assert "secret" not in str(told.value)
    assert not crawl.pages()


def test_what_names_an_earlier_crawl_is_kept_without_its_password() -> None:
    assert absolute("old.db") == str(Path("old.db").absolute())
    assert absolute("postgresql://me:secret@host/old") is None
    assert absolute("postgresql://me@host/old") == "postgresql://me@host/old"
