"""Files are finished, whatever was committed of them: rows + orphans = records."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from scrawler.archive.members import Span
from scrawler.archive.warc import WarcWriter
from scrawler.core.records.records import Damage, Mended
from tests.consistency import check_records, orphans_of
from tests.integration.crawl.records.fetching import Fetching, fetch_in_turn, names, place, records_of
from tests.rolling import roll


def test_what_waited_for_its_commit_becomes_an_orphan_or_goes(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    orphans, behind = fetch_in_turn(fetching)
    tail = [fetching.fetch("a.org", "b.org") for _ in range(2)]
    torn = folder / tail[-1].warc_file
    with torn.open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00half a gzip member")
    fetching.vanish()
    files = len(names(folder))
    done = records_of(fetching.database, folder).finish_gone(["crawl-m77", fetching.prefix])
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans
    assert done == Mended(files=files, cut=behind + 4, orphans=len(orphans))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert records_of(fetching.database, folder).finish_gone([fetching.prefix]) == Mended()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_of_which_nothing_was_committed_go(fetching: Fetching, folder: Path, database_url: str) -> None:
    fetching.fetch("b.org")
    fetching.commit("b.org")
    count = 0
    while len(names(folder)) < 4:
        fetching.fetch("a.org")
        count += 1
    fetching.vanish()
    first = names(folder)[0]
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    assert done == Mended(files=4, cut=count)
    assert names(folder) == [first]
    check_records(database_url, folder)


def test_a_machine_that_ends_in_order_reads_its_files_only_if_something_was_refused(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    """The first file is whole, but damaged where nothing needs to be read; of the later ones, records were refused."""
    first = fetching.fetch("a.org")
    fetching.fetch("b.org")
    fetching.commit("a.org", "b.org")
    roll(fetching.writer)
    path = folder / first.warc_file
    data = path.read_bytes()
    path.write_bytes(b"\0" * first.warc_offset + data[first.warc_offset :])
    orphans, behind = fetch_in_turn(fetching)
    fetching.writer.close()
    done = records_of(fetching.database, folder).finish_own(fetching.prefix, fetching.writer.closed_files())
    assert done == Mended(files=len(names(folder)), cut=behind, orphans=len(orphans))
    path.write_bytes(data)
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans


def test_a_full_file_is_indexed_once_all_of_it_is_committed(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    fetching.fetch("a.org", "b.org")
    roll(fetching.writer)
    fetching.fetch("b.org")
    (full,) = fetching.writer.closed_files()
    records = records_of(fetching.database, folder)
    fetching.commit("b.org")
    assert not records.index_whole(full)
    assert not names(folder, ".cdxj")
    fetching.commit("a.org")
    assert records.index_whole(full)
    assert len(names(folder, ".cdxj")) == 1
    fetching.writer.close()
    assert records.finish_own(fetching.prefix, fetching.writer.closed_files()) == Mended(files=1)
    check_records(database_url, folder)


def test_a_file_that_ends_torn_is_mended_by_its_own_machine(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    """As after a full disk, when what was written in part could not be taken back either."""
    last = fetching.fetch("a.org", "b.org")
    fetching.commit("a.org", "b.org")
    fetching.writer.close()
    with (folder / last.warc_file).open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00")
    records_of(fetching.database, folder).finish_own(fetching.prefix, fetching.writer.closed_files())
    check_records(database_url, folder)


def test_what_a_power_cut_took_is_told_and_not_listed(fetching: Fetching, folder: Path, database_url: str) -> None:
    fetching.writer = WarcWriter(folder, fetching.prefix, info={}, held_bytes=0)
    rows = [fetching.fetch("a.org") for _ in range(4)]
    waiting = place(fetching.fetch("b.org"))
    rows += [fetching.fetch("a.org") for _ in range(3)]
    fetching.commit("a.org")
    fetching.vanish()
    path = folder / rows[0].warc_file
    os.truncate(path, rows[5].warc_offset + 50)
    torn = path.read_bytes()[rows[4].warc_offset + rows[4].warc_length :]
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    kept = path.with_name(path.name + ".damaged")
    assert done == Mended(files=1, orphans=1, lost=2, kept=(kept,))
    assert kept.read_bytes() == torn
    assert path.stat().st_size == rows[4].warc_offset + rows[4].warc_length
    (index,) = names(folder, ".cdxj")
    assert len((folder / index).read_bytes().splitlines()) == 5
    assert orphans_of(database_url) == {waiting}


OTHERS = {
    "shorter text": lambda data: b"notes of somebody else",
    "longer text": lambda data: b"notes of somebody else" * len(data),
    "packed text": lambda data: gzip.compress(random.Random(1).randbytes(2 * len(data))),
    "records of others": lambda data: data[: len(data) // 2] + gzip.compress(b"WARC/1.1\r\nWARC-Type: response\r\n"),
    "a shift": lambda data: b"\0" + data,
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_stands_in_the_place_of_a_file_is_kept_under_another_name(
    other: str, fetching: Fetching, folder: Path, database_url: str
) -> None:
    """Whether it is shorter or longer; the records of the crawl at its beginning stay where they are."""
    fetching.writer = WarcWriter(folder, fetching.prefix, info={}, held_bytes=0)
    rows = [fetching.fetch("a.org") for _ in range(8)]
    fetching.commit("a.org")
    fetching.vanish()
    path = folder / rows[0].warc_file
    there = OTHERS[other](path.read_bytes())
    path.write_bytes(there)
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    (kept,) = done.kept
    assert kept == path.with_name(path.name + ".damaged")
    left = path.read_bytes() if path.exists() else b""
    assert left + kept.read_bytes() == there
    whole = sum(row.warc_offset + row.warc_length <= len(left) for row in rows)
    assert (done.files, done.cut, done.orphans, done.lost) == (1, 0, 0, len(rows) - whole)
    assert whole in ((3, 4) if other == "records of others" else (0,))
    again = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    assert not again.kept
    assert (path.read_bytes() if path.exists() else b"") == left


def next_name(path: Path) -> Path:
    return path.with_name(path.name.replace("-00000.", "-00001."))


def copied(path: Path, data: bytes) -> None:
    next_name(path).write_bytes(data)


def renamed(path: Path, data: bytes) -> None:
    path.rename(next_name(path))


def of_others(path: Path, data: bytes) -> None:
    next_name(path).write_text("notes of somebody else")


@pytest.mark.parametrize("put", [copied, renamed, of_others])
def test_a_file_without_a_row_that_its_machine_has_not_begun_is_kept(
    put: Callable[[Path, bytes], None], fetching: Fetching, folder: Path, database_url: str
) -> None:
    row = fetching.fetch("a.org", "b.org")
    fetching.commit("a.org", "b.org")
    fetching.vanish()
    path = folder / row.warc_file
    put(path, path.read_bytes())
    there = next_name(path).read_bytes()
    kept = next_name(path).with_name(next_name(path).name + ".damaged")
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    assert (done.cut, done.kept) == (0, (kept,))
    assert kept.read_bytes() == there
    assert not next_name(path).exists()


def test_of_a_machine_that_ended_in_order_nothing_was_uncommitted(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    """Neither a whole file, nor what stands behind the last known record."""
    first = fetching.fetch("a.org")
    fetching.commit("a.org")
    whole = fetching.fetch("b.org")
    roll(fetching.writer)
    second = fetching.fetch("b.org")
    fetching.vanish()
    tail = (folder / first.warc_file).read_bytes()[first.warc_offset + first.warc_length :]
    file = (folder / second.warc_file).read_bytes()
    assert whole.warc_file == first.warc_file != second.warc_file
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix], {fetching.prefix})
    assert (done.files, done.cut) == (2, 0)
    assert [path.read_bytes() for path in done.kept] == [tail, file]
    assert names(folder) == [first.warc_file]
    assert (folder / first.warc_file).stat().st_size == first.warc_offset + first.warc_length


def test_damage_between_known_records_leaves_the_file_as_it_is(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    """What is whole behind it is known, or becomes an orphan; the tail is cut off; once more, it is known as such."""
    fetching.writer = WarcWriter(folder, fetching.prefix, info={}, held_bytes=0)
    rows = [fetching.fetch("a.org") for _ in range(3)]
    waiting = place(fetching.fetch("b.org"))
    rows += [fetching.fetch("a.org") for _ in range(2)]
    fetching.commit("a.org")
    fetching.fetch("b.org")
    fetching.vanish()
    path = folder / rows[0].warc_file
    at = rows[1].warc_offset + rows[1].warc_length
    asked = Span(at, rows[2].warc_offset - at)
    data = bytearray(path.read_bytes())
    data[asked.offset + asked.length // 2] ^= 1
    path.write_bytes(data)
    end = rows[-1].warc_offset + rows[-1].warc_length
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    assert done == Mended(files=1, cut=1, orphans=1, damaged=(Damage(path.name, (asked,)),))
    assert path.read_bytes() == data[:end]
    assert orphans_of(database_url) == {waiting}
    (index,) = names(folder, ".cdxj")
    assert len((folder / index).read_bytes().splitlines()) == len(rows)
    again = records_of(fetching.database, folder).mend_again(path.name)
    assert again == Mended(files=1, damaged=done.damaged)
    assert orphans_of(database_url) == {waiting, (path.name, *asked)}
    assert records_of(fetching.database, folder).mend_again(path.name) == Mended(files=1)
    assert path.read_bytes() == data[:end]


def test_what_a_finished_file_holds_behind_its_records_is_kept(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    row = fetching.fetch("a.org")
    fetching.commit("a.org")
    fetching.vanish()
    records = records_of(fetching.database, folder)
    assert records.finish_gone([fetching.prefix]) == Mended(files=1)
    path = folder / row.warc_file
    with path.open("ab") as file:
        file.write(b"notes of somebody else")
    (kept,) = records.mend_again(path.name).kept
    assert kept.read_text() == "notes of somebody else"
    kept.unlink()
    check_records(database_url, folder)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("has_rows", [True, False])
def test_what_cannot_be_read_is_told_and_passed_by(
    has_rows: bool, make: Callable[[Path], None], fetching: Fetching, folder: Path, database_url: str
) -> None:
    first = fetching.fetch("a.org")
    if has_rows:
        fetching.commit("a.org")
    roll(fetching.writer)
    second = fetching.fetch("b.org")
    fetching.commit("b.org")
    fetching.vanish()
    path = folder / first.warc_file
    path.unlink()
    make(path)
    records = records_of(fetching.database, folder)
    done = records.finish_gone([fetching.prefix])
    assert done.files == 1
    (said,) = done.told()
    assert said.startswith(f"cannot read {path}: ")
    assert names(folder, ".cdxj") == [second.warc_file.replace(".warc.gz", ".cdxj")]
    assert path.exists()
    assert len(records.finish_gone([fetching.prefix]).unreadable) == 1, "each time"


def test_files_of_a_process_that_lives_are_left_to_it(fetching: Fetching, folder: Path, database_url: str) -> None:
    """Among them one that is full, about which rows may still come."""
    fetch_in_turn(fetching)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    records = records_of(fetching.database, folder)
    assert records.finish_gone([fetching.prefix]) == Mended(in_use=(fetching.prefix,))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    fetching.fetch("a.org")
    fetching.commit("a.org")
    fetching.writer.close()
    assert records.finish_own(fetching.prefix, fetching.writer.closed_files()) == Mended(files=len(names(folder)))
    check_records(database_url, folder)
    assert not orphans_of(database_url)
