"""What a killed process leaves is mended, wherever it was cut."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
from errno import ENOSPC
from pathlib import Path

import pytest

from scrawler.archive import members
from scrawler.archive.locks import take_lock
from scrawler.archive.proof import open_warc
from scrawler.archive.record import RecordRef, RevisitOf
from scrawler.archive.repair import Span, Tail, cut_tail, records_between, set_aside
from scrawler.errors import ArchiveError, UnreadableError
from tests.forks import python
from tests.integration.archive.conftest import Anything


@pytest.fixture
def three(tmp_path: Path, new_writer: Anything, exchange: Anything) -> tuple[Path, list[RecordRef]]:
    """A file of three exchanges, the last of them small."""
    rng = random.Random(5)
    writer = new_writer()
    refs = [writer.write(exchange(f"/{n}", rng.randbytes(size))) for n, size in enumerate((90_000, 2_000, 120))]
    writer.close()
    return tmp_path / "pages" / refs[0].file, refs


def end_of(ref: RecordRef) -> int:
    return ref.offset + ref.length


def spans(refs: list[RecordRef]) -> list[Span]:
    return [Span(ref.offset, ref.length) for ref in refs]


def test_wherever_the_file_was_cut_the_committed_records_stay(
    three: tuple[Path, list[RecordRef]], warcio_check: Anything
) -> None:
    path, refs = three
    whole = path.read_bytes()
    ends = [end_of(ref) for ref in refs]
    assert ends[2] == len(whole)
    for size in range(ends[1], ends[2] + 1):
        path.write_bytes(whole[:size])
        whole_records = 2 if size == ends[2] else 1
        assert cut_tail(path, ends[0]) == Tail(ends[0], whole_records, size - ends[0])
        assert path.read_bytes() == whole[: ends[0]]
    warcio_check([path])


@pytest.mark.parametrize("size", [0, 1, 8, 50_000, None])
def test_a_file_without_a_committed_record_goes(size: int | None, three: tuple[Path, list[RecordRef]]) -> None:
    path, _ = three
    data = path.read_bytes()[:size]
    path.write_bytes(data)
    assert cut_tail(path, 0) == Tail(0, 3 if size is None else 0, len(data))
    assert not path.exists()


def test_a_file_that_is_known_to_its_end_is_left_alone(three: tuple[Path, list[RecordRef]]) -> None:
    path, refs = three
    before = path.read_bytes()
    assert cut_tail(path, end_of(refs[2])) == Tail(len(before), 0, 0)
    assert path.read_bytes() == before


@pytest.mark.parametrize("tail", [b"\0" * 200_000, b"\x1f\x8b\x08", b"garbage" * 10_000])
def test_bytes_that_are_no_record_go(tail: bytes, three: tuple[Path, list[RecordRef]]) -> None:
    path, refs = three
    with path.open("ab") as file:
        file.write(tail)
    assert cut_tail(path, end_of(refs[2])) == Tail(end_of(refs[2]), 0, len(tail))
    assert path.stat().st_size == end_of(refs[2])


@pytest.mark.parametrize("of_first", [True, False])
def test_what_is_set_aside_is_kept_byte_for_byte_each_time_under_another_name(
    of_first: bool, three: tuple[Path, list[RecordRef]]
) -> None:
    path, refs = three
    whole = path.read_bytes()
    start = end_of(refs[0]) if of_first else 0
    for name in (f"{path.name}.damaged", f"{path.name}.damaged.2", f"{path.name}.damaged.3"):
        path.write_bytes(whole)
        kept = set_aside(path, start)
        assert kept == path.with_name(name)
        assert kept.read_bytes() == whole[start:]
        assert (path.read_bytes() if start else path.exists()) == (whole[:start] or False)
    assert len(os.listdir(path.parent)) == 3 + of_first


@pytest.mark.parametrize("zeros", [0, 1, 200_000])
def test_zeros_are_not_kept(zeros: int, three: tuple[Path, list[RecordRef]]) -> None:
    path, _ = three
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(bytes(zeros))
    assert set_aside(path, len(whole)) is None
    assert path.read_bytes() == whole
    path.write_bytes(bytes(zeros))
    assert set_aside(path, 0) is None
    assert os.listdir(path.parent) == []


def test_nothing_is_cut_that_could_not_be_kept(
    three: tuple[Path, list[RecordRef]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, refs = three
    whole = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArchiveError, match=r"^cannot repair .*: No space left on device$"):
        set_aside(path, end_of(refs[0]))
    assert path.read_bytes() == whole
    assert os.listdir(path.parent) == [path.name]


def between(path: Path, known: list[Span], end: int) -> list[Span]:
    """The records that are not known, of a file without damage."""
    damaged: list[Span] = []
    found = list(records_between(path, iter(known), end, damaged.append))
    assert damaged == []
    return found


def test_damage_between_records_is_told_and_what_stands_behind_it_is_found(
    three: tuple[Path, list[RecordRef]],
) -> None:
    path, refs = three
    data = bytearray(path.read_bytes())
    damaged: list[Span] = []
    data[end_of(refs[0]) - 4] ^= 0xFF  # in the length that closes the member
    path.write_bytes(data)
    asked = end_of(refs[0])  # where the request of the first exchange without damage is
    assert list(records_between(path, [], end_of(refs[2]), damaged.append)) == spans(refs[1:])
    assert damaged == spans(refs[:1])
    assert between(path, spans(refs[:1]), end_of(refs[2])) == spans(refs[1:])
    data[asked + 20] ^= 0xFF
    path.write_bytes(data)
    damaged.clear()
    assert list(records_between(path, spans(refs), end_of(refs[2]), damaged.append)) == []
    assert damaged == [Span(asked, refs[1].offset - asked)]
    data[-200:] = bytes(200)
    path.write_bytes(data)
    damaged.clear()
    assert list(records_between(path, spans(refs[:2]), end_of(refs[2]), damaged.append)) == []
    assert sum(damaged[-1]) == end_of(refs[2]), "nothing is whole behind it"
    assert path.read_bytes() == bytes(data)


@pytest.mark.parametrize("committed", [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_records_that_are_not_committed_are_found(
    committed: tuple[int, ...], three: tuple[Path, list[RecordRef]]
) -> None:
    path, refs = three
    known = spans([refs[n] for n in committed])
    others = spans([ref for n, ref in enumerate(refs) if n not in committed])
    assert between(path, known, end_of(refs[2])) == others


@pytest.mark.parametrize("size", [1, 2, 7, 64, 200, 1000])
def test_records_are_found_in_whatever_pieces_they_are_read(
    size: int, three: tuple[Path, list[RecordRef]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, refs = three
    monkeypatch.setattr(members, "_READ", size)
    assert between(path, spans(refs[:1]), end_of(refs[2])) == spans(refs[1:])
    data = path.read_bytes()
    path.write_bytes(bytes(100) + data[100:])
    damaged: list[Span] = []
    assert list(records_between(path, [], end_of(refs[2]), damaged.append)) == spans(refs)
    assert [one.offset for one in damaged] == [0]


def test_revisits_are_found_as_well(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    writer = new_writer()
    first = exchange("/1", b"the same")
    again = exchange("/2", b"the same", revisit_of=RevisitOf(first.url, first.date_ms))
    refs = [writer.write(one) for one in (first, again)]
    writer.close()
    path = tmp_path / "pages" / refs[0].file
    assert between(path, spans(refs[:1]), end_of(refs[1])) == spans(refs[1:])
    assert cut_tail(path, end_of(refs[0])).records == 1


def test_a_page_that_inflates_to_much_is_passed_over(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    writer = new_writer()
    bodies = (b"\0" * 20_000_000, b"small")
    refs = [writer.write(exchange(f"/{n}", body)) for n, body in enumerate(bodies)]
    writer.close()
    assert refs[0].length < 100_000
    assert between(tmp_path / "pages" / refs[0].file, [], end_of(refs[1])) == spans(refs)


def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"^cannot repair .*m1\.warc\.gz: No such file or directory$"):
        cut_tail(tmp_path / "m1.warc.gz", 10)
    with pytest.raises(ArchiveError, match=r"^cannot read .*m1\.warc\.gz: No such file or directory$"):
        between(tmp_path / "m1.warc.gz", [], 10)


TORN = (0, 1, 2, 3, 9, 40, 100, 200)


@pytest.mark.parametrize("size", [*TORN, None])
def test_a_file_says_itself_whether_it_was_begun_under_its_name(
    size: int | None, three: tuple[Path, list[RecordRef]]
) -> None:
    """Cut within its first record as well, of which a kill leaves any part."""
    path, _ = three
    path.write_bytes(path.read_bytes()[:size])
    assert begun(path)
    copy = path.with_name(path.name.replace("00000", "00001"))
    path.rename(copy)
    assert begun(copy) == (size is not None), "as long as no name is there to be read"


@pytest.mark.parametrize(
    "data",
    [
        b"n",
        b"notes of somebody else",
        gzip.compress(b"packed notes of somebody else"),
        gzip.compress(random.Random(3).randbytes(5_000))[:3_000],
        gzip.compress(b"WARC/1.1\r\nWARC-Type: response\r\n\r\n"),
        bytes(10),
    ],
)
def test_what_others_wrote_was_not_begun_under_its_name(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m1-00000.warc.gz"
    path.write_bytes(data)
    assert not begun(path)


def begun(path: Path) -> bool:
    with open_warc(path) as file:
        assert file
        return file.was_begun_as(path.name)


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    """Nobody writes to the pipe: whoever opened it to read it would wait for ever."""
    path = tmp_path / "m1-00000.warc.gz"
    os.mkfifo(path)
    with pytest.raises(UnreadableError, match=r"^cannot read .*: is no file, but a pipe or a device$"), open_warc(path):
        pass
    with pytest.raises(ArchiveError, match=r"^cannot repair .*: is no file, but a pipe or a device$"):
        cut_tail(path, 10)
    with pytest.raises(ArchiveError, match=r"^cannot repair .*: is no file, but a pipe or a device$"):
        set_aside(path, 10)
    assert path.is_fifo()


KILLED = """
import random, sys
from pathlib import Path
from scrawler.archive.record import Exchange, digest
from scrawler.archive.warc import WarcWriter
writer = WarcWriter(Path(sys.argv[1]), "m1", info={})
body = random.Random(6).randbytes(300_000)
head = b"HTTP/1.1 200 OK\\r\\n\\r\\n"
page = Exchange("http://127.0.0.1/", "127.0.0.1", 0, b"GET / HTTP/1.1\\r\\n\\r\\n", head, body, digest(body))
while True:
    ref = writer.write(page)
    print(ref.offset, ref.length, flush=True)
"""


def test_after_kill_9_all_that_was_acknowledged_is_there(
    tmp_path: Path, warcio_check: Anything, read: Anything
) -> None:
    process = python("-c", KILLED, tmp_path, stdout=subprocess.PIPE)
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(20)]
    assert take_lock(tmp_path, "m1") is None
    process.send_signal(signal.SIGKILL)
    lines += [line for line in process.stdout if line.endswith("\n")]
    process.wait()
    process.stdout.close()
    lock = take_lock(tmp_path, "m1")
    assert lock
    acknowledged = [Span(*map(int, line.split())) for line in lines]
    (path,) = tmp_path.glob("*.warc.gz")
    assert path.stat().st_size >= sum(acknowledged[-1])
    cut_tail(path, sum(acknowledged[-1]))
    lock.release()
    assert os.listdir(tmp_path) == [path.name]
    warcio_check([path])
    assert [(one.offset, one.length) for one in read(path) if one.kind == "response"] == acknowledged
