"""WARC files that are removed, cut or overwritten between runs: told once, accepted, or fetched again."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scrawler import upkeep
from scrawler.app import accept_losses, mark_losses_told, retry_lost, run_crawl
from scrawler.crawl.progress import Progress, RunSummary
from scrawler.crawl.verifying import Finding, Problem
from scrawler.model import LossKind, PageRow, SeedCounts
from scrawler.store import lost_rows
from scrawler.store.crawls import Crawls
from scrawler.store.engine import Database, open_database
from scrawler.store.losses import Losses, LostSum, LostTotals
from scrawler.store.machines import Machines
from scrawler.store.reports import Reports
from scrawler.upkeep import Upkeep, Verified
from tests.consistency import check_records
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import RESOLVE, by_host, by_path, check_whole, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, Script

Serve = Callable[..., RawServer]

PAGES = 30
NOTHING = (0, 0, 0)
NOISE = Random(1).randbytes(70_000)  # does not compress: some 14 pages fill a file of 1 MB
TRAFFIC = ("requests", "bytes", "wait_ms", "retries")  # counts of what was asked for, whatever came of it


def site(name: str) -> Script:
    """Pages of all kinds: some say the same, so that their records refer to an earlier one."""
    links = tuple(f"/{n}" for n in range(PAGES))
    home = page("home", links=(*links, "/moved", "/missing", "/last", "http://elsewhere.example/"))
    pages = {f"/{n}": page(f"{name}{n // 2}".encode() + NOISE, links=("/", "http://other.example/")) for n in range(4)}
    more = {f"/{n}": page(f"{name}{n}".encode() + NOISE, "X-Robots-Tag: noindex") for n in range(4, PAGES)}
    return by_path({"/": home, **pages, **more, "/moved": redirect("/4"), "/last": pages["/0"]})


@pytest.fixture
def crawled(crawl_on_both: Crawl, serve: Serve) -> Crawl:
    """A crawl that has ended, with several files; the records of one refer to payloads in another."""
    crawl = crawl_on_both
    crawl.add(serve(site(f"site {number}")).url() for number in range(2))
    run_whole(crawl, warc_size=1 << 20, threads=1, robots=False)
    assert len(files(crawl)) > 2
    assert any(row.revisit for row in crawl.pages())
    return crawl


def run(crawl: Crawl, **changes: object) -> RunSummary:
    """Run without robots.txt, as the command does, which marks what it has told of."""
    summary = crawl.run(**{"robots": False, **changes})  # type: ignore[arg-type]
    mark_losses_told(crawl.settings(), summary)
    return summary


def files(crawl: Crawl) -> list[Path]:
    return sorted((crawl.folder / "pages").glob("*.warc.gz"))


def rows_of(crawl: Crawl, path: Path) -> list[PageRow]:
    return sorted((row for row in crawl.pages() if row.warc_file == path.name), key=lambda row: row.warc_offset)


def asked(crawl: Crawl, of: Callable[[Database], Any]) -> Any:
    database = open_database(crawl.url)
    try:
        return of(database)
    finally:
        database.close()


def totals(crawl: Crawl) -> LostTotals:
    found: LostTotals = asked(crawl, lambda database: Losses(database).totals())
    return found


def counts(crawl: Crawl) -> dict[str, int]:
    """All counts of the seeds, and what their machines committed, but for traffic.

    What is fetched again is not compared with other pages: it is no near duplicate any more, and a revisit only of what
    the same run has archived. That these counts are those of the rows is checked after each run.
    """
    seeds = asked(crawl, lambda database: Reports(database).counts(None))
    machines = asked(crawl, lambda database: Machines(database).summary())
    kept = {
        name: number
        for name, number in seeds.items()
        if name not in (*TRAFFIC, "elapsed_ms", "near_duplicates", "revisits")
    }
    return kept | {"of machines": machines.pages, "bytes of machines": machines.bytes, "errors": machines.errors}


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


def set_aside(path: Path) -> list[Path]:
    """What is kept of a file under other names."""
    return sorted(path.parent.glob(path.name + ".damaged*"))


def move_away(crawl: Crawl, paths: Iterable[Path]) -> None:
    """Leave nothing in the archive that a whole crawl has not."""
    for path in paths:
        path.rename(crawl.folder / path.name)


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zero_the_end(path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, size // 2)
    os.truncate(path, size)


HARMS = {remove: LossKind.MISSING, cut: LossKind.CUT, empty: LossKind.CUT, zero: LossKind.DAMAGED,
         zero_the_end: LossKind.DAMAGED}  # fmt: skip


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
    aside = set_aside(path)
    lines = [f"a WARC file held what the database knows nothing of, which is kept as {one}" for one in aside]
    assert said == [*lines, f"URLs to be fetched again because their records are gone: {number:,}"]
    assert [one.name for one in aside] == ([path.name + ".damaged"] if half else [])
    crawl.check()
    move_away(crawl, aside)
    run_whole(crawl, robots=False, warc_size=1 << 20)
    assert sorted(row.url for row in crawl.pages()) == urls
    assert counts(crawl) == before
    assert found_in(crawl) == links
    assert totals(crawl) == LostTotals(LostSum(0, 0, 0), LostSum(0, 0, 0))


def swap(path: Path) -> None:
    path.write_bytes(NOISE * 40)


def harm_a_record(path: Path) -> None:
    """In the midst of the file, where a look finds nothing."""
    overwrite(path, path.stat().st_size // 2, b"damage")


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize("harm", [remove, cut, empty, zero, swap, harm_a_record])
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
        "1 more is of a robots.txt file, to be asked for again when it is needed",
    ]
    assert of_robots(crawl) == []
    assert verified(crawl)[0] == []
    run_whole(crawl)
    assert len(of_robots(crawl)) == 1
    findings, done = verified(crawl)
    assert (findings, done.whole) == ([], 3)
    assert totals(crawl) == LostTotals(LostSum(0, 0, 0), LostSum(0, 0, 0))


def of_robots(crawl: Crawl) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = asked(crawl, lambda database: _rows(database, "SELECT url FROM robots_record"))
    return found


def test_what_is_accepted_is_not_told_nor_fetched_and_what_comes_back_is_forgotten(crawled: Crawl) -> None:
    crawl, moved = crawled, files(crawled)[:2]
    elsewhere = crawl.folder / "elsewhere"
    elsewhere.mkdir()
    for path in moved:
        path.rename(elsewhere / path.name)
    records = sum(len(rows_of(crawl, path)) for path in moved)
    said: list[str] = []
    accept_losses(crawl.settings(), threading.Event(), said.append)
    assert said == [f"gone and accepted: {records} records of 2 WARC files"]
    assert run(crawl).lost == NOTHING
    assert totals(crawl).open == LostSum(0, 0, 0)
    assert totals(crawl).accepted[:2] == (2, records)
    retry_lost(crawl.settings(), threading.Event())
    assert run(crawl).requests == 0
    third = files(crawl)[0]
    third.rename(elsewhere / third.name)
    assert run(crawl).lost[0] == 1, "what goes later is told"
    for path in elsewhere.iterdir():
        path.rename(crawl.folder / "pages" / path.name)
    assert run(crawl).lost == NOTHING
    assert totals(crawl) == LostTotals(LostSum(0, 0, 0), LostSum(0, 0, 0))
    check_whole(crawl)


def test_what_was_not_said_to_the_user_is_told_again(crawled: Crawl) -> None:
    crawl = crawled
    files(crawl)[0].unlink()
    told = crawl.run(robots=False)
    assert told.lost[0] == len(told.lost_records) == 1
    assert crawl.run(robots=False).lost == told.lost
    mark_losses_told(crawl.settings(), told)
    assert crawl.run(robots=False).lost == NOTHING


def test_a_look_that_is_stopped_ends_and_the_next_one_goes_on(crawled: Crawl) -> None:
    """Whenever that is: all that is gone is known in the end, with what refers to it."""
    crawl = crawled
    for path in files(crawl)[:2]:
        path.unlink()
    looks = 0
    left = 0

    def stopping() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def look(database: Database) -> None:
        settings = crawl.settings()
        Upkeep(settings, database, Crawls(database).open(settings.name, settings.scope)).look(stopping)

    while left <= 0:
        left = looks
        looks += 1
        asked(crawl, look)
    stepwise = totals(crawl)
    asked(crawl, lambda database: Losses(database).clear(list(Losses(database).all())))
    assert run(crawl).lost == stepwise.open
    assert stepwise.open.files == 2
    assert stepwise.open.revisits > 0


def test_a_file_that_cannot_be_read_is_told_of_and_what_was_known_of_it_stays(crawled: Crawl) -> None:
    crawl, (first, second) = crawled, files(crawled)[:2]
    os.truncate(first, 100)
    lost = run(crawl).lost
    for path in (first, second):
        path.rename(path.with_suffix(".away"))
        path.mkdir()  # cannot be read by anybody, whatever his rights
    said: list[str] = []
    summary = run_crawl(crawl.settings(robots=False), lambda progress: None, threading.Event(), say=said.append)
    assert (summary.outcome, summary.lost) == ("ended", NOTHING)
    assert said == [
        f"cannot read {first}: Is a directory (and 1 more); it is not known whether the records in it are there"
    ]
    assert totals(crawl).open == lost
    for path in (first, second):
        path.rmdir()
        path.with_suffix(".away").rename(path)
    assert run(crawl).lost == NOTHING
    assert totals(crawl).open == lost


def test_more_damage_in_a_file_than_was_accepted_is_told(crawled: Crawl) -> None:
    crawl, path = crawled, files(crawled)[0]
    harmed = rows_of(crawl, path)[3:5]
    places = [row.warc_offset + row.warc_length // 2 for row in harmed]
    overwrite(path, places[0], b"damage")
    assert verified(crawl)[1].gone == 1
    accept_losses(crawl.settings(), threading.Event())
    findings, said = verified(crawl)
    assert (findings, said.gone, said.accepted, said.unknown, said.lossy) == ([], 0, 1, 0, {})
    overwrite(path, places[1], b"damage")
    findings, said = verified(crawl)
    assert [one.url for one in findings] == [row.url for row in harmed]
    assert (said.gone, said.accepted, said.lossy) == (2, 0, {path.name: 2})
    assert totals(crawl) == LostTotals(LostSum(1, 2, said.revisits), LostSum(0, 0, 0))
    retry_lost(crawl.settings(), threading.Event())
    assert run(crawl).lost == NOTHING
    assert verified(crawl)[0] == []


def test_files_of_another_folder_or_host_are_not_missed(crawled: Crawl) -> None:
    """A crawl that goes on in another folder; one that moved with its folder; files that another host holds."""
    crawl = crawled
    assert run(crawl, pages_dir=crawl.folder / "new").lost == NOTHING
    (crawl.folder / "pages").rename(crawl.folder / "moved")
    assert run(crawl, pages_dir=crawl.folder / "moved").lost == NOTHING
    shutil.rmtree(crawl.folder / "moved")
    database = open_database(crawl.url)
    database.retrying(lambda connection: connection.exec_driver_sql("UPDATE machine SET host = 'elsewhere'"))
    shared = database.dialect == "mysql"
    database.close()
    lost = run(crawl).lost[0]
    assert lost == 0 if shared else lost > 2, "an SQLite database has one host, which may have got another name"
    findings, said = verified(crawl)
    assert (said.elsewhere, bool(findings)) == ((3, False) if shared else (0, True))


def test_lost_pages_of_a_seed_that_ended_by_a_limit_are_fetched_and_no_others(crawl: Crawl, serve: Serve) -> None:
    crawl.add([serve(site("one")).url()])
    run_whole(crawl, max_pages=20, robots=False)
    before = counts(crawl)
    urls = {row.url for row in crawl.pages()}
    for path in files(crawl):
        path.unlink()
    retry_lost(crawl.settings(), threading.Event())
    assert crawl.pages() == []
    assert crawl.seeds()[0].counts == SeedCounts(
        **{name: getattr(crawl.seeds()[0].counts, name) for name in (*TRAFFIC, "listed", "candidates")}
    )
    summary = crawl.run(max_pages=20, robots=False)
    assert summary.lost == NOTHING
    check_records(crawl.url, crawl.folder / "pages")
    assert {row.url for row in crawl.pages()} == urls
    assert counts(crawl) == before


def verified(crawl: Crawl) -> tuple[list[Finding], Verified]:
    """All that a verification finds, and what it said at last."""
    said: list[Verified] = []

    def verify(database: Database) -> list[Finding]:
        settings = crawl.settings()
        upkeep = Upkeep(settings, database, Crawls(database).open(settings.name, settings.scope))
        findings = list(upkeep.verify(said.append))
        upkeep.losses.mark_told(said[-1].lossy)  # as the command does
        return findings

    return asked(crawl, verify), said[-1]


def archived(crawl: Crawl) -> int:
    return sum(bool(row.warc_file) for row in crawl.pages())


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_a_verification_finds_damage_within_a_file_which_is_then_fetched_again(crawled: Crawl) -> None:
    """In the midst of a record, so that its ends, and those of the file, look well."""
    crawl, path = crawled, files(crawled)[1]
    findings, said = verified(crawl)
    assert (findings, said.whole, said.gone, said.unknown) == ([], archived(crawl), 0, 0)
    assert (said.verified, said.read) == (len(files(crawl)), sum(one.stat().st_size for one in files(crawl)))
    harmed = rows_of(crawl, path)[3]
    overwrite(path, harmed.warc_offset + harmed.warc_length // 2, b"damage")
    assert run(crawl).lost == NOTHING
    findings, said = verified(crawl)
    assert findings == [Finding(path.name, harmed.warc_offset, harmed.warc_length, Problem.GONE, harmed.url)]
    assert (said.whole, said.gone) == (archived(crawl) - 1, 1)
    assert run(crawl).lost == NOTHING, "the verification has told of it"
    assert totals(crawl).open.records == 1
    retry_lost(crawl.settings(), threading.Event())
    assert run(crawl).requests >= 1
    crawl.check()
    assert {row.url for row in crawl.pages()} > {harmed.url}
    findings, said = verified(crawl)
    assert findings == [], "where something was, nothing is expected any more"
    assert (said.whole, said.gone) == (archived(crawl), 0)


def test_a_damaged_request_is_told_and_accepted(crawled: Crawl) -> None:
    """Nothing is fetched again for it: the page is there."""
    crawl, path = crawled, files(crawled)[1]
    row, harmed = rows_of(crawl, path)[2:4]
    asked_at = row.warc_offset + row.warc_length
    overwrite(path, harmed.warc_offset - 100, b"damage")
    expected = Finding(path.name, asked_at, harmed.warc_offset - asked_at, Problem.DAMAGED, "")
    for _ in range(2):
        findings, said = verified(crawl)
        assert findings == [expected]
        assert (said.whole, said.gone, said.unknown, said.lossy) == (archived(crawl), 1, 0, {path.name: 1})
    accept_losses(crawl.settings(), threading.Event())
    findings, said = verified(crawl)
    assert (findings, said.gone, said.accepted) == ([], 0, 1)
    assert run(crawl).lost == NOTHING
    second = rows_of(crawl, path)[6]
    overwrite(path, second.warc_offset - 100, b"damage")
    findings, said = verified(crawl)
    assert len(findings) == said.gone == 2, "more than was accepted"
    retry_lost(crawl.settings(), threading.Event())
    summary = run(crawl)
    assert (summary.requests, summary.lost) == (0, NOTHING)
    assert verified(crawl)[0] == [], "nothing is expected there any more"
    assert set_aside(path) == []


@pytest.mark.parametrize("harm", [b"damage", bytes(200_000)])
def test_damage_in_an_unfinished_file_ends_no_run_and_is_told_as_a_loss(harm: bytes, crawled: Crawl) -> None:
    """Of one request, or of several pages; the file keeps all that is whole in it."""
    crawl, path = crawled, files(crawled)[1]
    overwrite(path, rows_of(crawl, path)[3].warc_offset - 100, harm)
    path.with_name(path.name.replace(".warc.gz", ".cdxj")).unlink()
    before = path.read_bytes()
    findings, said = verified(crawl)
    assert said.gone == len(findings) == (1 if harm == b"damage" else 3)
    asked(crawl, lambda database: Losses(database).clear([path.name]))  # as if nobody had verified it
    summary = crawl.run(robots=False)
    assert summary.outcome == "ended"
    assert summary.lost[:2] == (1, len(findings))
    assert path.read_bytes() == before
    assert verified(crawl)[0] == findings
    retry_lost(crawl.settings(), threading.Event())
    assert run(crawl).lost == NOTHING
    assert verified(crawl)[0] == []
    crawl.check()


def test_a_renamed_file_is_listed_and_then_kept(crawled: Crawl) -> None:
    """What it holds is known under its old name alone."""
    crawl, path = crawled, files(crawled)[1]
    records = len(rows_of(crawl, path))
    renamed = path.with_name(path.name.replace(path.name.split("-")[-1], "00099.warc.gz"))
    path.rename(renamed)
    there = renamed.read_bytes()
    findings, said = verified(crawl)
    assert [one.problem for one in findings if one.file == renamed.name] == [Problem.UNKNOWN] * (records + 1)
    assert (said.gone, said.unknown) == (records, records + 1)
    said_lines: list[str] = []
    run_crawl(crawl.settings(robots=False), lambda progress: None, threading.Event(), say=said_lines.append)
    (kept,) = set_aside(renamed)
    assert kept.read_bytes() == there
    assert said_lines == [f"a WARC file held what the database knows nothing of, which is kept as {kept}"]
    kept.rename(path)
    assert run(crawl).lost == NOTHING
    assert verified(crawl)[0] == []


@pytest.mark.parametrize("content", [b"notes of somebody else", gzip.compress(b"packed notes")])
def test_what_others_put_among_the_files_is_listed(content: bytes, crawled: Crawl) -> None:
    crawl, path = crawled, files(crawled)[0]
    other = path.with_name(path.name.replace(path.name.split("-")[-1], "00099.warc.gz"))
    other.write_bytes(content)
    findings, said = verified(crawl)
    assert findings == [Finding(other.name, 0, len(content), Problem.NO_RECORD, "")]
    assert (said.gone, said.unknown) == (0, 1)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_cannot_be_read_is_told_and_passed_by(make: Callable[[Path], None], crawled: Crawl) -> None:
    """By a verification, and by runs, also where the file was not finished."""
    crawl, path = crawled, files(crawled)[1]
    records = len(rows_of(crawl, path))
    path.unlink()
    make(path)
    findings, done = verified(crawl)
    assert [(one.file, one.problem) for one in findings] == [(path.name, Problem.UNREADABLE)]
    assert (done.unreadable, done.gone, done.whole) == (1, 0, archived(crawl) - records)
    path.with_name(path.name.replace(".warc.gz", ".cdxj")).unlink()
    said: list[str] = []
    summary = run_crawl(crawl.settings(robots=False), lambda progress: None, threading.Event(), say=said.append)
    assert (summary.outcome, summary.lost) == ("ended", NOTHING)
    assert said
    assert all(line.startswith(f"cannot read {path}: ") for line in said)
    retry_lost(crawl.settings(), threading.Event())


def test_a_verification_looks_both_ways(crawled: Crawl) -> None:
    """A record without its row, a row whose record is that of another page, and one of which nothing is there."""
    crawl = crawled
    first, second, third = rows_of(crawl, files(crawl)[0])[2:5]
    database = open_database(crawl.url)
    for change in (
        f"DELETE FROM page WHERE warc_file = '{first.warc_file}' AND warc_offset = {first.warc_offset}",
        f"UPDATE page SET digest = x'{bytes(20).hex()}'"
        f" WHERE warc_file = '{second.warc_file}' AND warc_offset = {second.warc_offset}",
        "UPDATE page SET warc_offset = warc_offset + 5"
        f" WHERE warc_file = '{third.warc_file}' AND warc_offset = {third.warc_offset}",
    ):
        database.retrying(lambda connection, change=change: connection.exec_driver_sql(change))  # type: ignore[misc]
    database.close()
    findings, said = verified(crawl)
    assert sorted((one.offset, one.problem, one.url) for one in findings) == [
        (first.warc_offset, Problem.UNKNOWN, first.url),
        (second.warc_offset, Problem.OTHER, second.url),
        (third.warc_offset, Problem.UNKNOWN, third.url),
        (third.warc_offset + 5, Problem.GONE, third.url),
    ]
    assert (said.gone, said.unknown, said.whole) == (2, 2, archived(crawl) - 2)
    assert totals(crawl).open.records == 2


@pytest.mark.parametrize("harm", HARMS)
def test_a_verification_finds_what_a_look_finds(harm: Callable[[Path], None], crawled: Crawl) -> None:
    crawl, path = crawled, files(crawled)[0]
    harm(path)
    told = LostSum(*run(crawl).lost)
    findings, said = verified(crawl)
    gone = [one for one in findings if one.problem is Problem.GONE]
    assert len(gone) == said.gone == told.records
    assert said.revisits == told.revisits
    assert {one.file for one in findings} == {path.name}
    assert totals(crawl).open == told


def test_a_verification_while_the_crawl_runs_finds_nothing_wrong(crawl: Crawl, serve: Serve) -> None:
    crawl.add([serve(site("one")).url()])
    findings: list[Finding] = []
    times = 0

    def look(progress: Progress) -> None:
        nonlocal times
        found, said = verified(crawl)
        findings.extend(found)
        times += said.whole > 0

    summary = crawl.run(look, robots=False, delay=0.1, checkpoint_interval=0.1)
    assert summary.outcome == "ended"
    assert findings == []
    assert times > 0


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
    move_away(crawl, set_aside(torn))
    run_whole(crawl, robots=False, warc_size=1 << 20)
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
