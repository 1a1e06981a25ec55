"""What a killed process leaves is mended, wherever it was cut."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrawler.archive.record import RecordRef
from scrawler.archive.repair import Repaired, Span, cut_back, repair
from scrawler.errors import ArchiveError

Anything = Callable[..., Any]


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


def test_a_cut_at_every_byte_leaves_whole_exchanges(
    three: tuple[Path, list[RecordRef]], warcio_check: Anything
) -> None:
    path, refs = three
    whole = path.read_bytes()
    ends = [end_of(ref) for ref in refs]
    assert ends[2] == len(whole)
    for size in range(ends[1] + 1, ends[2]):
        path.write_bytes(whole[:size])
        (done,) = repair(path.parent, "m1", {path.name: ends[0]})
        assert done == Repaired(path.name, size - ends[1], 0, (Span(refs[1].offset, refs[1].length),))
        assert path.stat().st_size == ends[1]
    warcio_check([path])


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("back", [0, 1, 8, 50_000, 91_000])
def test_a_cut_in_a_large_record(back: int, known: bool, three: tuple[Path, list[RecordRef]]) -> None:
    path, refs = three
    size = end_of(refs[0]) - back
    with path.open("r+b") as file:
        file.truncate(size)
    done = repair(path.parent, "m1", {path.name: 0} if known else {})
    if back:
        assert done == [Repaired(path.name, size, 0, ())]
        assert not path.exists()
    else:
        assert done == [Repaired(path.name, 0, 0, (Span(refs[0].offset, refs[0].length),))]
        assert path.stat().st_size == size


def test_an_empty_file_goes(three: tuple[Path, list[RecordRef]]) -> None:
    path, _ = three
    path.write_bytes(b"")
    assert repair(path.parent, "m1") == []
    assert not path.exists()


def test_a_file_that_is_known_to_its_end_is_left_alone(three: tuple[Path, list[RecordRef]]) -> None:
    path, refs = three
    before = path.read_bytes()
    assert repair(path.parent, "m1", {path.name: end_of(refs[2])}) == []
    assert path.read_bytes() == before


def test_records_beyond_the_known_end_stay_until_they_are_cut(
    three: tuple[Path, list[RecordRef]], warcio_check: Anything
) -> None:
    path, refs = three
    (done,) = repair(path.parent, "m1", {path.name: end_of(refs[0])})
    assert done.unknown == tuple(Span(ref.offset, ref.length) for ref in refs[1:])
    assert done.cut == 0
    assert cut_back(path, end_of(refs[0])) == end_of(refs[2]) - end_of(refs[0])
    assert repair(path.parent, "m1", {path.name: end_of(refs[0])}) == []
    warcio_check([path])


@pytest.mark.parametrize("tail", [b"\0" * 200_000, b"\x1f\x8b\x08", b"garbage" * 10_000])
def test_bytes_that_are_no_record_go(tail: bytes, three: tuple[Path, list[RecordRef]]) -> None:
    path, refs = three
    with path.open("ab") as file:
        file.write(tail)
    (done,) = repair(path.parent, "m1", {path.name: end_of(refs[1])})
    assert (done.cut, done.unknown) == (len(tail), (Span(refs[2].offset, refs[2].length),))
    assert path.stat().st_size == end_of(refs[2])


def test_good_records_behind_damage_are_never_cut(three: tuple[Path, list[RecordRef]]) -> None:
    path, refs = three
    data = bytearray(path.read_bytes())
    data[end_of(refs[0]) - 4] ^= 0xFF  # in the length that closes the member
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=f"damaged at byte {refs[0].offset} "):
        repair(path.parent, "m1")
    assert path.read_bytes() == bytes(data)


def test_a_file_shorter_than_known_tells_what_was_lost(
    three: tuple[Path, list[RecordRef]], warcio_check: Anything
) -> None:
    path, refs = three
    with path.open("r+b") as file:
        file.truncate(end_of(refs[1]) - 10)
    (done,) = repair(path.parent, "m1", {path.name: end_of(refs[2])})
    assert done.lost == end_of(refs[2]) - end_of(refs[1]) + 10
    assert done.unknown == ()
    assert path.stat().st_size == end_of(refs[0])
    warcio_check([path])


def test_a_page_that_inflates_to_much_is_passed_over(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    writer = new_writer()
    bodies = (b"\0" * 20_000_000, b"small")
    refs = [writer.write(exchange(f"/{n}", body)) for n, body in enumerate(bodies)]
    writer.close()
    assert refs[0].length < 100_000
    (done,) = repair(tmp_path / "pages", "m1")
    assert done == Repaired(refs[0].file, 0, 0, tuple(Span(ref.offset, ref.length) for ref in refs))


def test_only_files_of_the_own_prefix_are_touched(
    tmp_path: Path, three: tuple[Path, list[RecordRef]], new_writer: Anything, exchange: Anything
) -> None:
    mine, _ = three
    others = []
    for prefix in ("m10", "m1-a", "xm1"):
        writer = new_writer(prefix=prefix)
        others.append(tmp_path / "pages" / writer.write(exchange("/", b"x" * 500)).file)
        writer.close()
    for path in (mine, *others):
        with path.open("ab") as file:
            file.write(b"torn")
    assert [done.file for done in repair(tmp_path / "pages", "m1")] == [mine.name]
    assert all(path.read_bytes().endswith(b"torn") for path in others)


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert repair(tmp_path / "none", "m1") == []


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
    print(ref.offset + ref.length, flush=True)
"""


def test_after_kill_9_all_that_was_acknowledged_is_there(
    tmp_path: Path, warcio_check: Anything, read: Anything
) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    ends = [int(process.stdout.readline()) for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    ends += [int(line) for line in process.stdout if line.endswith("\n")]
    process.wait()
    process.stdout.close()
    (path,) = tmp_path.iterdir()
    repair(tmp_path, "m1")
    assert path.stat().st_size >= ends[-1]
    warcio_check([path])
    kinds = [record.kind for record in read(path)]
    assert kinds.count("response") == kinds.count("request") >= len(ends)
    assert os.path.getsize(path) == sum(read(path)[-1].__dict__[name] for name in ("offset", "length"))
