"""WARC files that are removed, cut or overwritten between runs: told once, or accepted."""

from __future__ import annotations

import os
import shutil
import threading

from scrawler.app import accept_losses, mark_losses_told, retry_lost, run_crawl
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.losses import Losses, LostSum, LostTotals
from scrawler.upkeep import Upkeep
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import check_whole
from tests.integration.crawl.losses.losing import (
    NOTHING,
    asked,
    files,
    overwrite,
    rows_of,
    run,
    totals,
    verified,
)


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
    assert (totals(crawl).open[:2], totals(crawl).accepted) == ((1, 2), LostSum(0, 0, 0))
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
    shared = database.dialect != "sqlite"
    database.close()
    lost = run(crawl).lost[0]
    assert lost == 0 if shared else lost > 2, "an SQLite database has one host, which may have got another name"
    findings, said = verified(crawl)
    assert (said.elsewhere, bool(findings)) == ((3, False) if shared else (0, True))
