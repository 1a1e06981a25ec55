"""Seed files of all kinds into real databases, and out again."""

from __future__ import annotations

import gzip
import json
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import zstandard

from scrawler.errors import InputError, ScrawlerError, StartError
from scrawler.model.scope import Scope
from scrawler.seeds import importer
from scrawler.seeds.exporter import COLUMNS, Selection, UrlKind, export_urls
from scrawler.seeds.files import open_input, read_as, written_as
from scrawler.seeds.formats import Entry, read_entries
from scrawler.seeds.importer import BATCH, ImportCounts, import_seeds
from scrawler.seeds.rejects import TOLD, open_rejects
from scrawler.seeds.table_files import open_table
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import Added, NewSeed, Seeds, Turn
from scrawler.store.engines.engine import Database, open_database
from tests.limits import HANGS

Import = Callable[[Path], tuple[ImportCounts, list[Entry]]]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    Crawls(database).open("test", Scope.HOST)
    yield database
    database.close()


@pytest.fixture
def run_import(database: Database) -> Import:
    def run(file: Path) -> tuple[ImportCounts, list[Entry]]:
        invalid: list[Entry] = []
        seen: list[ImportCounts] = []
        with open_input(str(file), Path("input_urls")) as stream:
            counts = import_seeds(
                read_entries(stream, read_as(file.name), file.name),
                Seeds(database).add,
                writers=2,
                scope=Scope.HOST,
                max_url_length=2048,
                on_invalid=invalid.append,
                on_batch=seen.append,
            )
        assert seen[-1] == counts
        return counts, invalid

    return run


def urls(database: Database) -> list[str]:
    return [view.seed.url for view in Seeds(database).list()]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_further_columns_of_seeds_are_kept_and_exported(
    suffix: str, tmp_path: Path, database: Database, run_import: Import
) -> None:
    columns = {"label": "ä, b", "n": {"deep": [1]}}
    given = tmp_path / "given.jsonl"
    bare = "".join(json.dumps({"url": f"http://{name}.example/"}) + "\n" for name in "bc")
    given.write_text(json.dumps({"url": "http://a.example/", **columns}) + "\n" + bare)
    assert run_import(given)[0].new == 3
    assert [view.columns for view in Seeds(database).list()] == [columns, {}, {}]
    out = tmp_path / f"out{suffix}"
    with open_table(str(out), written_as(out.name), COLUMNS) as table:
        export_urls(database, Selection(None, None, frozenset({UrlKind.SEED})), table, urls_alone=False)
    if suffix == ".parquet":
        texts = pytest.importorskip("pyarrow.parquet").read_table(out).column("columns").to_pylist()
        assert [text and json.loads(text) for text in texts] == [columns, None, None]
        return
    with open_input(str(out), Path("input_urls")) as stream:
        found = [entry.columns for entry in read_entries(stream, read_as(out.name), "out")]
    assert [text and json.loads(text) for text in found] == [columns, "", ""]


_TEXT = "http://a.example/\n# c\nb.example/x#top\nhttp://A.example:80\nnot a url\n"
_CSV = "n,url\n1,http://a.example/\n2,b.example/x#top\n3,http://A.example:80\n4,not a url\n"
_JSONL = '{"url":"http://a.example/"}\n{"url":"b.example/x#top"}\n{"url":"http://A.example:80"}\n{"url":"not a url"}\n'


@pytest.mark.parametrize("pack", ["", ".gz", ".zst"])
@pytest.mark.parametrize(("suffix", "text"), [(".txt", _TEXT), (".csv", _CSV), (".jsonl", _JSONL)])
def test_all_formats_give_the_same_seeds(
    suffix: str, text: str, pack: str, tmp_path: Path, database: Database, run_import: Import
) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }
    file = tmp_path / f"seeds{suffix}{pack}"
    file.write_bytes(packers[pack](text.encode()))
    counts, invalid = run_import(file)
    assert counts == ImportCounts(new=2, duplicate=1, invalid=1)
    assert [(entry.line, entry.text) for entry in invalid] == [(4 + (suffix != ".jsonl"), "not a url")]
    assert urls(database) == ["http://a.example/", "http://b.example/x"]
    assert run_import(file)[0] == ImportCounts(new=0, duplicate=3, invalid=1)
    assert urls(database) == ["http://a.example/", "http://b.example/x"]


def test_packed_files_are_known_by_their_content_and_may_have_several_parts(tmp_path: Path, run_import: Import) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(gzip.compress(b"a.example\n") + gzip.compress(b"b.example\n"))
    assert run_import(file)[0] == ImportCounts(new=2)
    pack = zstandard.ZstdCompressor().compress
    file.write_bytes(pack(b"c.example\n") + pack(b"d.example\n"))
    assert run_import(file)[0] == ImportCounts(new=2)


def test_many_batches_are_counted_and_a_break_keeps_what_came_before(
    tmp_path: Path, database: Database, run_import: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = BATCH // 10
    monkeypatch.setattr(importer, "BATCH", batch)
    lines = "".join(f"http://h{number}.example/\n" for number in range(2 * batch + 7))
    whole = tmp_path / "whole.txt"
    whole.write_text(lines)
    torn = tmp_path / "torn.txt.gz"
    torn.write_bytes(gzip.compress(lines.encode())[:-500])
    with pytest.raises(InputError, match="broken archive"):
        run_import(torn)
    kept = len(urls(database))
    assert kept in (batch, 2 * batch)
    assert run_import(whole)[0] == ImportCounts(new=2 * batch + 7 - kept, duplicate=kept)


@pytest.mark.parametrize("name", ["seeds.gz", "seeds.zst"])
def test_what_is_named_packed_but_is_not(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("http://a.example/\n")
    with pytest.raises(InputError, match="broken archive"), open_input(str(tmp_path / name), tmp_path) as stream:
        stream.read()


def test_a_broken_zstd_file(tmp_path: Path) -> None:
    file = tmp_path / "seeds.zst"
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(os.urandom(30_000).hex().encode())
    file.write_bytes(packed[:-4] + b"oops")
    with pytest.raises(InputError, match="broken archive"), open_input(str(file), tmp_path) as stream:
        stream.read()


def zstd_frames(*texts: str) -> bytes:
    """A file of several frames, with others between them that hold nothing for us, as pzstd and seekable files have."""
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    return b"".join(skippable + zstandard.compress(text.encode()) for text in texts) + skippable


def test_all_frames_of_a_zstd_file_are_read(tmp_path: Path, database: Database, run_import: Import) -> None:
    (tmp_path / "seeds.txt").write_bytes(zstd_frames("http://a.example/\nhttp://b.ex", "ample/\n", ""))
    assert run_import(tmp_path / "seeds.txt")[0] == ImportCounts(new=2)
    assert urls(database) == ["http://a.example/", "http://b.example/"]


@pytest.mark.parametrize("kind", ["zst", "gz"])
def test_of_a_truncated_archive_the_cut_line_is_no_seed(
    kind: str, tmp_path: Path, database: Database, run_import: Import
) -> None:
    """Wherever it is cut: in a frame, its checksum, or one that is passed over."""
    text = "".join(f"http://{os.urandom(8).hex()}.example/\n" for _ in range(200))
    whole = gzip.compress(text.encode()) if kind == "gz" else zstd_frames(text[:3000], text[3000:])
    file = tmp_path / f"seeds.txt.{kind}"
    boundaries = {len(zstd_frames()), len(zstd_frames(text[:3000]))} if kind == "zst" else set()
    boundaries |= {size - len(zstd_frames()) for size in (len(whole), *boundaries)} if kind == "zst" else set()
    for size in {*range(4, len(whole), 97), *range(len(whole) - 16, len(whole))} - boundaries:
        file.write_bytes(whole[:size])
        with pytest.raises(InputError, match="broken archive"):
            run_import(file)
    assert set(urls(database)) <= set(text.split())
    file.write_bytes(whole + b"garbage")
    with pytest.raises(InputError, match="broken archive"):
        run_import(file)


def test_a_line_cut_within_a_letter_is_told(tmp_path: Path, database: Database, run_import: Import) -> None:
    file = tmp_path / "seeds.jsonl"
    file.write_bytes('{"url": "http://a.example/"}\n{"url": "http://b.example/ü'.encode()[:-1])
    counts, invalid = run_import(file)
    assert counts == ImportCounts(new=1, invalid=1)
    assert [(entry.line, entry.problem) for entry in invalid] == [(2, "not UTF-8 text")]


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "http://a.example/\n".encode("utf-16")])
def test_binary_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_bytes(content)
    with pytest.raises(InputError, match="binary"), open_input(str(tmp_path / "seeds.txt"), tmp_path):
        pass


def test_a_nul_deep_in_a_file_is_one_bad_line(tmp_path: Path, run_import: Import) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(b"# comment\n" * 1000 + b"http://a.example/\0\nhttp://b.example/\n")
    counts, invalid = run_import(file)
    assert counts == ImportCounts(new=1, invalid=1)
    assert invalid[0].line == 1001


def test_files_are_found_here_then_in_the_folder_then_on_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "input_urls"

    def content() -> bytes:
        with open_input("sample.txt", Path("input_urls")) as stream:
            return stream.read()

    assert b"example.com" in content()
    folder.mkdir()
    (folder / "sample.txt").write_text("in the folder")
    assert content() == b"in the folder"
    (tmp_path / "sample.txt").write_text("here")
    assert content() == b"here"


@pytest.mark.parametrize("name", ["nowhere.txt", "nowhere/seeds.txt", "."])
def test_what_is_not_there_or_no_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such file|cannot be read"), open_input(name, Path("input_urls")):
        pass


def test_rejects_tell_twenty_and_write_all(tmp_path: Path) -> None:
    told: list[str] = []
    file = tmp_path / "rejects.tsv"
    with open_rejects(file, told.append) as report:
        for number in range(TOLD + 5):
            report(Entry(number, "a\tb\x1b[31m" + "x" * 200, "bad"))
    assert len(told) == TOLD + 1
    assert str(file) in told[-1]
    assert all(line.isprintable() for line in told)
    lines = file.read_text().splitlines()
    assert len(lines) == TOLD + 5
    assert lines[3].split("\t") == ["3", "bad", r"a\tb\x1b[31m" + "x" * 200]


def test_rejects_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(ScrawlerError, match="cannot be written"), open_rejects(tmp_path / "x" / "y", print):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: what cannot be written is not tried")
def test_rejects_on_a_full_disk_are_no_fault_of_the_seed_file(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("no url\n")
    with (
        pytest.raises(ScrawlerError, match=r"^/dev/full: rejects cannot be written: No space left") as raised,
        open_input(str(file), tmp_path) as stream,
        open_rejects(Path("/dev/full"), print) as report,
    ):
        report(Entry(1, stream.read().decode(), "bad"))
    assert raised.value.exit_code == 1


@pytest.mark.heavy
def test_memory_is_flat() -> None:
    """The importer holds three batches, whatever the number of seeds."""

    def peak(entries: int) -> int:
        tracemalloc.start()
        import_seeds(
            (Entry(number, f"http://h{number}.example/") for number in range(entries)),
            lambda batch, _turn: Added(len(batch), 0),
            writers=2,
            scope=Scope.HOST,
            max_url_length=2048,
            on_invalid=print,
            on_batch=lambda counts: None,
        )
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)  # what is loaded on first use does not count
    assert peak(6 * BATCH) < 1.2 * peak(3 * BATCH)


def test_an_import_that_gets_no_second_thread_says_so_and_keeps_what_it_has_added(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = threading.Event()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "seed-writer_1":
            refused.set()
            raise RuntimeError("can't start new thread")
        start(thread)

    def add(batch: Sequence[NewSeed], turn: Turn) -> Added:
        assert refused.wait(HANGS)  # so that the first thread is at work when a second one is wanted
        return Seeds(database).add(batch, turn)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(StartError, match=r"no room for another thread \(can't start new thread\); allow more"):
        import_seeds(
            (Entry(number, f"http://a.example/{number}") for number in range(2 * BATCH)),
            add,
            writers=2,
            scope=Scope.HOST,
            max_url_length=2048,
            on_invalid=pytest.fail,
            on_batch=lambda counts: None,
        )
    assert len(urls(database)) % BATCH == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("seed-writer")]
