"""The WARC writer against warcio, with real files and threads."""

from __future__ import annotations

import gzip
import random
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrawler.archive.archive import ClosedFile, UnrecordableError
from scrawler.archive.gzipping import Compress, isal_member, zlib_member
from scrawler.archive.members import members, open_file
from scrawler.archive.record import RevisitOf
from scrawler.archive.warc import WarcWriter
from scrawler.assembly.archives import make_archive
from scrawler.settings import Settings
from tests.integration.archive.conftest import PAGE, Anything
from tests.rolling import roll

DAY = 86_400_000


@pytest.fixture(params=[isal_member, zlib_member])
def compress(request: pytest.FixtureRequest) -> Compress:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("block_digests", [False, True])
def test_records_read_back_as_written(
    tmp_path: Path,
    new_writer: Anything,
    exchange: Anything,
    read: Anything,
    warcio_check: Anything,
    compress: Compress,
    block_digests: bool,
) -> None:
    zipped = gzip.compress(PAGE)
    written = [
        exchange("/", PAGE),
        exchange("/empty", b"", fields=b"Content-Length: 0\r\n"),
        exchange("/chunked", PAGE, fields=b"Transfer-Encoding: chunked\r\n"),
        exchange("/zipped", zipped, fields=b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
        exchange("/cut", PAGE[:100], fields=b"Content-Length: 9000\r\n", truncated="disconnect"),
        exchange("/white", PAGE, fields=b"A: b\r\n \r\nC: d\r\n"),
        exchange("/binary", bytes(range(256)) * 9),
        replace(exchange("/found", PAGE), metadata=b"outlink: http://a.example/ L a/@href\r\n"),
        exchange("/again", PAGE, revisit_of=RevisitOf("http://127.1.0.1:8080/", 1_700_000_000_123)),
    ]
    writer = new_writer(compress=compress, block_digests=block_digests)
    refs = [writer.write(item) for item in written]
    writer.close()
    (path,) = (tmp_path / "pages").iterdir()
    assert re.fullmatch(r"m1-\d{17}-00000\.warc\.gz", path.name)
    assert writer.closed_files() == [ClosedFile(path.name, len(written), path.stat().st_size)]
    warcio_check([path])
    first, *records = read(path)
    assert (first.kind, first.offset) == ("warcinfo", 0)
    assert b"operator: tests" in first.payload
    kinds = ["request", "response"] * 7 + ["metadata", "request", "response", "request", "revisit"]
    assert [record.kind for record in records] == kinds
    assert [record.payload for record in records if record.kind == "metadata"] == [written[-2].metadata]
    records = [record for record in records if record.kind != "metadata"]
    for item, ref, asked, answer in zip(written, refs, records[::2], records[1::2], strict=True):
        assert asked.url == answer.url == item.url
        assert (ref.file, ref.offset, ref.length) == (path.name, answer.offset, answer.length)
        assert (ref.digest, ref.revisit) == (item.payload_digest, answer.kind == "revisit")
        assert answer.status == "200"
        assert answer.payload == (b"" if ref.revisit else item.body)
        assert answer.truncated == item.truncated
    assert refs[-1].offset + refs[-1].length == path.stat().st_size


def test_an_exchange_of_which_no_record_can_be_made_leaves_the_file_as_it_was(
    tmp_path: Path, new_writer: Anything, exchange: Anything, read: Anything
) -> None:
    writer = new_writer()
    first = writer.write(exchange("/", PAGE))
    with pytest.raises(UnrecordableError) as raised:
        writer.write(replace(exchange("/", PAGE), url="http://127.1.0.1:8080/\ud800"))
    assert isinstance(raised.value.__context__, UnicodeEncodeError)
    second = writer.write(exchange("/next", PAGE))
    writer.close()
    responses = [record for record in read(tmp_path / "pages" / first.file) if record.kind == "response"]
    assert [(record.offset, record.length) for record in responses] == [one[1:3] for one in (first, second)]


def test_a_body_that_is_packed_already_is_kept_as_it_is(
    tmp_path: Path, new_writer: Anything, exchange: Anything
) -> None:
    zipped = gzip.compress(b"".join(b"<p>%d %d</p>" % (number, number * number) for number in range(2_000)))
    writer = new_writer()
    plain, packed = (writer.write(exchange("/", body)) for body in (PAGE, zipped))
    again = writer.write(exchange("/", zipped, revisit_of=RevisitOf("http://127.1.0.1:8080/", 1_700_000_000_123)))
    writer.close()
    written = (tmp_path / "pages" / packed.file).read_bytes()
    assert zipped in written[packed.offset : packed.offset + packed.length]
    assert PAGE not in written
    assert plain.length < 1_000
    assert again.length < len(gzip.decompress(written[again.offset : again.offset + again.length]))


@pytest.mark.parametrize("asked", [False, True])
def test_blocks_have_digests_where_the_settings_say_so(tmp_path: Path, exchange: Anything, asked: bool) -> None:
    archive = make_archive(Settings(pages_dir=tmp_path, block_digests=asked), "m1")
    archive.write(exchange("/", PAGE))
    archive.close()
    (file,) = archive.closed_files()
    with open_file(tmp_path / file.name) as pages:
        records = [head for _, head in members(pages, 0, file.end, 1_000)]
    assert [b"WARC-Block-Digest" in record for record in records] == [True, asked, asked]


def test_a_record_is_a_gzip_member_of_its_own(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    writer = new_writer()
    ref = writer.write(exchange("/", PAGE))
    with (tmp_path / "pages" / ref.file).open("rb") as file:
        file.seek(ref.offset)
        record = gzip.decompress(file.read(ref.length))
    assert record.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
    assert record.endswith(PAGE + b"\r\n\r\n")
    writer.close()


def test_nothing_is_created_before_the_first_record(tmp_path: Path, new_writer: Anything) -> None:
    writer = new_writer()
    writer.flush()
    roll(writer)
    writer.close()
    assert list(tmp_path.iterdir()) == []
    assert writer.closed_files() == []


def test_files_roll_below_their_limit(
    tmp_path: Path, new_writer: Anything, exchange: Anything, read: Anything, warcio_check: Anything
) -> None:
    limit = 20_000
    rng = random.Random(1)
    big = rng.randbytes(3 * limit)
    writer = new_writer(max_file_bytes=limit)
    bodies = [big if n == 7 else rng.randbytes(3_000) for n in range(30)]
    refs = [writer.write(exchange(f"/{n}", body)) for n, body in enumerate(bodies)]
    open_now = refs[-1].file
    assert open_now not in [file.name for file in writer.closed_files()]
    writer.close()
    writer.close()
    names = sorted(path.name for path in (tmp_path / "pages").iterdir())
    assert len(names) > 5
    closed = [(name, [ref for ref in refs if ref.file == name]) for name in names]
    assert writer.closed_files() == [(name, len(mine), mine[-1].offset + mine[-1].length) for name, mine in closed]
    assert names == list(dict.fromkeys(ref.file for ref in refs))
    paths = [tmp_path / "pages" / name for name in names]
    warcio_check(paths)
    answers = [record for path in paths for record in read(path) if record.kind == "response"]
    assert [record.payload for record in answers] == bodies
    sizes = {name: (tmp_path / "pages" / name).stat().st_size for name in names}
    assert [name for name, size in sizes.items() if size > limit] == [refs[7].file]
    assert [ref.file for ref in refs].count(refs[7].file) == 1
    assert all(read(path)[0].kind == "warcinfo" for path in paths)


def test_each_day_has_a_file_of_its_own(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    """Also one on which nothing is written any more: its file is closed, and so indexed and copied."""
    writer, now = new_writer(), int(time.time() * 1000)
    writer.end_day(now + DAY)
    first = writer.write(exchange("/1", PAGE))
    writer.end_day()
    assert writer.write(exchange("/2", PAGE)).file == first.file
    writer.end_day(now + 2 * DAY)
    assert [(file.name, file.records) for file in writer.closed_files()] == [(first.file, 2)]
    writer.end_day(now + 3 * DAY)
    assert writer.write(exchange("/3", PAGE)).file != first.file
    writer.flush()
    writer.close()
    assert len(list(tmp_path.rglob("*.warc.gz"))) == 2


def test_after_roll_a_new_file_begins(new_writer: Anything, exchange: Anything) -> None:
    writer = new_writer()
    first = writer.write(exchange("/1", PAGE))
    roll(writer)
    assert writer.closed_files() == [(first.file, 1, first.offset + first.length)]
    second = writer.write(exchange("/2", PAGE))
    assert second.file > first.file
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(exchange("/3", PAGE))


def test_many_threads_share_a_writer(
    tmp_path: Path, new_writer: Anything, exchange: Anything, read: Anything, warcio_check: Anything
) -> None:
    writer: WarcWriter = new_writer(max_file_bytes=200_000, fsync=True)
    threads, each = 8, 60
    refs: list[dict[str, Any]] = [{} for _ in range(threads)]
    start = threading.Barrier(threads)

    def work(number: int) -> None:
        rng = random.Random(number)
        start.wait()
        for page in range(each):
            item = exchange(f"/{number}/{page}", rng.randbytes(rng.randrange(5_000)))
            refs[number][item.url] = (item.body, writer.write(item))
            if page % 20 == 0:
                writer.flush()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    writer.close()
    paths = sorted((tmp_path / "pages").iterdir())
    assert len(paths) > 3
    warcio_check(paths)
    found = {
        (record.url, record.payload, path.name, record.offset, record.length)
        for path in paths
        for record in read(path)
        if record.kind == "response"
    }
    assert found == {
        (url, body, ref.file, ref.offset, ref.length) for mine in refs for url, (body, ref) in mine.items()
    }
    assert len(found) == threads * each


@pytest.mark.parametrize("prefix", ["", "../up", "a/b", "-x", "a b"])
def test_a_prefix_must_be_part_of_a_file_name(prefix: str, new_writer: Anything) -> None:
    with pytest.raises(ValueError, match="prefix"):
        new_writer(prefix=prefix)


def test_held_records_come_into_the_file_together(
    tmp_path: Path, new_writer: Anything, exchange: Anything, read: Anything, warcio_check: Anything
) -> None:
    noise = random.Random(5).randbytes(10_000)
    writer = new_writer(held_bytes=25_000, max_file_bytes=100_000)
    refs = [writer.write(exchange("/0", noise))]
    path = tmp_path / "pages" / refs[0].file
    assert path.stat().st_size == 0
    writer.flush()
    assert path.stat().st_size == refs[0].offset + refs[0].length
    refs += [writer.write(exchange(f"/{n}", noise)) for n in (1, 2)]
    assert path.stat().st_size == refs[0].offset + refs[0].length
    refs += [writer.write(exchange("/3", noise))]
    assert path.stat().st_size == refs[3].offset + refs[3].length
    refs += [writer.write(exchange(f"/{n}", noise)) for n in range(4, 12)]
    writer.close()
    files = list(dict.fromkeys(ref.file for ref in refs))
    assert len(files) == 2
    assert [file.name for file in writer.closed_files()] == files
    for file in writer.closed_files():
        mine = [ref for ref in refs if ref.file == file.name]
        assert (file.records, file.end) == (len(mine), mine[-1].offset + mine[-1].length)
        answers = [record for record in read(tmp_path / "pages" / file.name) if record.kind == "response"]
        assert [(record.offset, record.length) for record in answers] == [(ref.offset, ref.length) for ref in mine]
    warcio_check([tmp_path / "pages" / name for name in files])
