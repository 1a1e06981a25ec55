"""The WARC writer where disk, memory or other programs fail it: what is written stays, what is told is so."""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrawler.archive.archive import UnrecordableError
from scrawler.archive.record import RecordRef
from scrawler.errors import ArchiveError
from tests.allocations import UNWINDS_WITHOUT_MEMORY
from tests.integration.archive.conftest import PAGE, Anything
from tests.rolling import roll


def test_a_folder_that_cannot_be_made_is_one_clear_line(
    tmp_path: Path, new_writer: Anything, exchange: Anything
) -> None:
    (tmp_path / "taken").write_text("a file")
    writer = new_writer(tmp_path / "taken" / "pages")
    with pytest.raises(ArchiveError, match=r"^cannot write .*/taken/pages/m1-.*: Not a directory$"):
        writer.write(exchange("/", PAGE))
    (tmp_path / "taken").unlink()
    assert writer.write(exchange("/", PAGE)).file
    writer.close()


@pytest.fixture
def size_limit() -> Iterator[Callable[[int], None]]:
    """Let files of this process grow to so many bytes only; 0 takes the limit away again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size or soft, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def answers(read: Anything, warcio_check: Anything) -> Callable[[Path], list[Any]]:
    """Have warcio check a file, and return the answers in it."""

    def checked(path: Path) -> list[Any]:
        warcio_check([path])
        return [record for record in read(path) if record.kind == "response"]

    return checked


def test_a_record_written_in_part_is_taken_back(
    tmp_path: Path, new_writer: Anything, exchange: Anything, answers: Anything, size_limit: Callable[[int], None]
) -> None:
    noise = random.Random(2).randbytes(50_000)
    writer = new_writer()
    first = writer.write(exchange("/1", noise))
    path = tmp_path / "pages" / first.file
    end = path.stat().st_size
    size_limit(end + 20_000)
    for _ in range(2):
        with pytest.raises(ArchiveError, match=r"^cannot write .*: File too large$"):
            writer.write(exchange("/2", noise))
        assert path.stat().st_size == end
    small = writer.write(exchange("/small", PAGE))
    assert small.offset > end
    size_limit(0)
    writer.write(exchange("/3", noise))
    writer.close()
    assert [record.url.rpartition("/")[2] for record in answers(path)] == ["1", "small", "3"]


def test_held_records_that_cannot_be_written_stay_held(
    tmp_path: Path, new_writer: Anything, exchange: Anything, answers: Anything, size_limit: Callable[[int], None]
) -> None:
    noise = random.Random(6).randbytes(20_000)
    writer = new_writer(held_bytes=50_000)
    refs = [writer.write(exchange("/1", noise))]
    path = tmp_path / "pages" / refs[0].file
    size_limit(10_000)
    refs += [writer.write(exchange("/2", noise))]
    for refused in (writer.flush, lambda: writer.write(exchange("/refused", noise)), lambda: roll(writer)):
        with pytest.raises(ArchiveError, match=r"^cannot write .*: File too large$"):
            refused()
        assert path.stat().st_size == 0
    size_limit(0)
    refs += [writer.write(exchange("/3", noise))]
    writer.close()
    assert [(record.offset, record.length) for record in answers(path)] == [(ref.offset, ref.length) for ref in refs]


def test_records_that_never_came_into_the_file_are_not_counted(
    tmp_path: Path, new_writer: Anything, exchange: Anything, size_limit: Callable[[int], None]
) -> None:
    noise = random.Random(7).randbytes(20_000)
    writer = new_writer(held_bytes=50_000)
    first = writer.write(exchange("/1", noise))
    writer.flush()
    writer.write(exchange("/2", noise))
    size_limit(30_000)
    with pytest.raises(ArchiveError):
        writer.close()
    with pytest.raises(ArchiveError):
        writer.flush()
    size_limit(0)
    assert writer.closed_files() == [(first.file, 1, first.offset + first.length)]
    assert (tmp_path / "pages" / first.file).stat().st_size == first.offset + first.length
    assert not (tmp_path / "pages" / "m1.lock").exists()


def test_a_first_record_that_fails_leaves_no_file(
    tmp_path: Path, new_writer: Anything, exchange: Anything, size_limit: Callable[[int], None], warcio_check: Anything
) -> None:
    noise = random.Random(3).randbytes(50_000)
    writer = new_writer()
    size_limit(20_000)
    with pytest.raises(ArchiveError):
        writer.write(exchange("/1", noise))
    assert [path.name for path in (tmp_path / "pages").iterdir()] == ["m1.lock"]
    size_limit(0)
    ref = writer.write(exchange("/1", noise))
    writer.close()
    assert writer.closed_files() == [(ref.file, 1, ref.offset + ref.length)]
    warcio_check([tmp_path / "pages" / ref.file])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a full disk needs the right to mount: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_loses_only_what_did_not_fit(
    small_disk: Path, new_writer: Anything, exchange: Anything, answers: Anything
) -> None:
    rng = random.Random(4)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 100_000)
    writer = new_writer(small_disk / "pages")
    written: list[RecordRef] = []

    def fill() -> None:
        for number in range(20):
            written.append(writer.write(exchange(f"/{number}", rng.randbytes(30_000))))

    with pytest.raises(ArchiveError, match=r"^cannot write .*: No space left on device$"):
        fill()
    assert 2 <= len(written) < 6
    path = small_disk / "pages" / written[0].file
    assert path.stat().st_size == written[-1].offset + written[-1].length
    ballast.unlink()
    written.append(writer.write(exchange("/after", rng.randbytes(30_000))))
    writer.close()
    records = answers(path)
    assert [(record.offset, record.length) for record in records] == [(ref.offset, ref.length) for ref in written]
    assert records[-1].url.endswith("/after")


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    if os.geteuid():
        folder.chmod(0o500)
        with pytest.raises(ArchiveError, match=r"^cannot write .*: Permission denied$"):
            new_writer().write(exchange("/", PAGE))
        return
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"for root a read-only folder needs the right to mount: {done.stderr.strip()}")
    try:
        with pytest.raises(ArchiveError, match=r"^cannot write .*: Read-only file system$"):
            new_writer().write(exchange("/", PAGE))
    finally:
        subprocess.run(["umount", folder], check=True)


def removed(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replaced(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def without_its_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("gone"))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (removed, "No such file or directory"),
        (moved, "No such file or directory"),
        (replaced, "another program has put another file in its place"),
        (cut, "another program has cut it"),
        (without_its_folder, "No such file or directory"),
    ],
)
def test_a_flush_finds_what_was_written_or_says_so(
    harm: Callable[[Path], None], words: str, full: bool, tmp_path: Path, new_writer: Anything, exchange: Anything
) -> None:
    """Also of a file that became full since the last flush; one that was full before may go."""
    writer = new_writer(max_file_bytes=3_000, held_bytes=0)
    first = writer.write(exchange("/0", os.urandom(2_500)))
    second = writer.write(exchange("/1", os.urandom(2_500)))
    assert second.file != first.file
    writer.flush()
    removed(tmp_path / "pages" / first.file)
    writer.flush()
    if full:
        writer.write(exchange("/2", os.urandom(2_500)))
    harm(tmp_path / "pages" / second.file)
    for _ in range(2):
        with pytest.raises(ArchiveError, match=rf"^cannot write .*{re.escape(second.file)}: {words}$"):
            writer.flush()
    writer.close()


@UNWINDS_WITHOUT_MEMORY
@pytest.mark.interpreted("compiled code ends the process where there is no memory for a number")
def test_whichever_allocation_fails_records_are_where_the_writer_says(
    tmp_path: Path, new_writer: Anything, exchange: Anything, read: Anything
) -> None:
    """One that could not be told where its record is may be in the file, as an orphan, but not in others' places."""
    memory = pytest.importorskip("_testcapi")
    number = done = 0
    while done < 10:
        folder = tmp_path / str(number)
        writer = new_writer(folder, held_bytes=4_000)
        written = [("/0", writer.write(exchange("/0", PAGE)))]
        filling, last = exchange("/1", random.Random(2).randbytes(6_000)), exchange("/2", PAGE)
        number += 1
        memory.set_nomemory(number, number + 1)
        try:
            written.append(("/1", writer.write(filling)))  # all that is held comes into the file with it
            done += 1
        except (MemoryError, UnrecordableError, ArchiveError):
            done = 0
        finally:
            memory.remove_mem_hooks()
        written.append(("/2", writer.write(last)))
        writer.close()
        (file,) = folder.glob("*.warc.gz")
        found = {record.url: record for record in read(file) if record.kind == "response"}
        for path, ref in written:
            there = found[f"http://127.1.0.1:8080{path}"]
            assert (there.offset, there.length) == (ref.offset, ref.length), number
    assert number > 20
