"""A verification reads all files, and finds what a look at their ends does not."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from scrawler.app import accept_losses, retry_lost, run_crawl
from scrawler.core.progress import Progress
from scrawler.core.records.verifying import Finding, Problem
from scrawler.store.engines.engine import open_database
from scrawler.store.lists.losses import Losses, LostSum
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.losses.losing import (
    HARMS,
    NOTHING,
    Serve,
    archived,
    asked,
    files,
    overwrite,
    rows_of,
    run,
    set_aside,
    site,
    totals,
    verified,
)


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
    none = f"'\\x{bytes(20).hex()}'" if database.dialect == "postgresql" else f"x'{bytes(20).hex()}'"
    for change in (
        f"DELETE FROM page WHERE warc_file = '{first.warc_file}' AND warc_offset = {first.warc_offset}",
        f"UPDATE page SET digest = {none}"
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
