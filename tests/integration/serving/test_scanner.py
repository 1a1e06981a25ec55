"""What a scan finds of a folder: created, updated, deleted, and nothing where nothing has changed; and after a kill."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrawler.features.serving import catalogue as catalogue_module
from scrawler.features.serving.catalogue import Catalogue, CatalogueError, Change
from scrawler.features.serving.folder import Folder, FolderError
from scrawler.features.serving.scanner import Scanner

LONG_AGO = 1_700_000_000


class Watched:
    """A folder and its catalogue."""

    def __init__(self, folder: Path, state: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.catalogue = Catalogue(state)
        self.files = Folder(folder)
        self.now = time.time_ns()

    def write(self, path: str, text: str, at: float = LONG_AGO) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (at, at))
        return file

    def scan(self, keep: int = 1_000_000) -> int | None:
        self.now += 3_600 * 10**9
        return Scanner(self.catalogue, self.files, keep=keep, clock=lambda: self.now).scan(threading.Event())

    def changes(self) -> list[tuple[str, str]]:
        pages = self.catalogue.change_pages()
        return [(one.kind, one.path) for page in pages for one in self.catalogue.changes(page.number)]

    def resources(self) -> dict[str, int]:
        pages = self.catalogue.resource_pages()
        return {one.path: one.changed_at for page in pages for one in self.catalogue.resources(page.number)}


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path / "site", tmp_path / "state.db")
    yield made
    made.files.close()


def test_changes_of_a_folder(watched: Watched) -> None:
    watched.write("index.html", "home")
    watched.write("a/index.html", "a")
    gone = watched.write("a/b c&d.txt", "text")
    watched.write(".hidden", "x")
    watched.write(".git/config", "x")
    os.symlink("/etc/passwd", watched.folder / "link")
    os.symlink(watched.folder / "a", watched.folder / "folder")
    os.mkfifo(watched.folder / "pipe")
    assert watched.scan() == 3
    assert watched.resources() == dict.fromkeys(("", "a/", "a/b%20c&d.txt"), LONG_AGO * 1000)
    assert watched.changes() == [], "what the first scan finds has not changed"
    assert watched.scan() == 0
    watched.write("index.html", "another", LONG_AGO + 60)
    watched.write("new.html", "new", LONG_AGO)
    watched.write("a/index.html", "a", LONG_AGO + 60)  # only its date
    gone.unlink()
    assert watched.scan() == 2
    assert sorted(watched.changes()) == [("created", "new.html"), ("deleted", "a/b%20c&d.txt"), ("updated", "")]
    found = watched.resources()
    assert found["a/"] == LONG_AGO * 1000
    assert found[""] == watched.now // 1_000_000, "its date lies before the last scan, when it was another one"


def test_a_date_between_two_scans_is_the_time_of_the_change(watched: Watched) -> None:
    watched.write("a", "1")
    watched.scan()
    between = watched.now / 1e9 + 1_800
    watched.write("a", "2", between)
    watched.scan()
    assert abs(watched.resources()["a"] - between * 1000) < 2
    watched.write("a", "3", between + 10**7)  # in the future
    watched.scan()
    assert watched.resources()["a"] == watched.now // 1_000_000


def test_the_same_size_and_date_with_another_text_is_found_if_it_was_written_at_once(watched: Watched) -> None:
    now = time.time()
    watched.write("a", "1", now)
    assert watched.scan() == 1
    watched.write("a", "2", now)
    assert watched.scan() == 1


def test_dates_of_the_change_list_only_grow(watched: Watched) -> None:
    watched.write("a", "1")
    watched.scan()
    begin = watched.now / 1e9
    for number, offset in enumerate((900, 100, 500)):
        watched.write(f"n{number}", "x", begin + offset)
    watched.scan()
    listed = [one.at for page in watched.catalogue.change_pages() for one in watched.catalogue.changes(page.number)]
    assert len(listed) == 3
    assert listed == sorted(listed)


def test_a_scan_that_is_cut_short_says_nothing_of_what_is_gone(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cut as a kill cuts it: what is committed stays, and nothing else."""
    for number in range(600):
        watched.write(f"f{number}", str(number))
    watched.scan()
    for number in range(0, 600, 2):
        watched.write(f"f{number}", f"another {number}", LONG_AGO + 5)
    (watched.folder / "f1").unlink()
    finish = catalogue_module.CatalogueWriter.finish
    written = catalogue_module.CatalogueWriter.write
    calls = []

    def cut(self: object, *args: object) -> int:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return written(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(catalogue_module.CatalogueWriter, "write", cut)
    with pytest.raises(KeyboardInterrupt):
        watched.scan()
    monkeypatch.undo()
    assert catalogue_module.CatalogueWriter.finish is finish
    some = watched.changes()
    assert 0 < len(some) < 300
    assert ("deleted", "f1") not in some
    watched.scan()
    assert len(watched.changes()) == 301, "each change once"
    assert len(set(watched.changes())) == 301
    assert watched.scan() == 0


def test_old_changes_go_a_page_at_a_time(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_module, "CHANGES", 4)
    watched.write("a", "0")
    watched.scan()
    before = watched.catalogue.state().since
    for number in range(1, 12):
        watched.write("a", str(number), LONG_AGO + number)
        watched.scan(keep=4)
    left = [one for page in watched.catalogue.change_pages() for one in watched.catalogue.changes(page.number)]
    assert [one.seq for one in left] == list(range(5, 12))
    state = watched.catalogue.state()
    assert before < state.since <= left[0].at


def test_pages_of_lists_are_those_of_their_ids(watched: Watched) -> None:
    for number in range(10):
        watched.write(f"f{number}", str(number))
    watched.scan()
    first = [page.tag for page in watched.catalogue.resource_pages(4)]
    assert len(first) == 3
    victim = next(one.path for one in watched.catalogue.resources(2, 4))
    (watched.folder / victim).unlink()
    watched.write("later", "x")
    watched.scan()
    second = [page.tag for page in watched.catalogue.resource_pages(4)]
    assert [one == other for one, other in zip(first, second, strict=True)] == [True, False, False]


def test_a_file_that_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("this is no database, and longer than the head of one: " * 10)
    with pytest.raises(CatalogueError, match="cannot keep the state"):
        Catalogue(tmp_path / "x")
    with pytest.raises(CatalogueError):
        Catalogue(tmp_path / "no" / "folder" / "x")


def test_a_change_is_told_as_it_was(watched: Watched) -> None:
    watched.write("a", "1")
    watched.scan()
    watched.write("a", "22", LONG_AGO + 1)
    watched.scan()
    (one,) = watched.catalogue.changes(1)
    assert isinstance(one, Change)
    assert (one.size, one.digest[:6], one.media_type) == (2, "785f3e", "application/octet-stream")


def test_a_folder_that_is_empty_all_at_once_is_not_gone(watched: Watched) -> None:
    watched.write("a", "1")
    watched.scan()
    (watched.folder / "a").rename(watched.folder.parent / "a")
    with pytest.raises(FolderError, match="is it mounted"):
        watched.scan()
    assert watched.changes() == []
    (watched.folder.parent / "a").rename(watched.folder / "a")
    assert watched.scan() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be nobody for a while")
def test_what_cannot_be_read_is_not_gone(watched: Watched) -> None:
    watched.write("a/b", "1")
    watched.folder.chmod(0o755)
    (watched.folder / "a").chmod(0o700)
    os.seteuid(65_534)
    try:
        assert list(watched.files.files()) == []
    finally:
        os.seteuid(0)
    assert watched.files.unreadable == ["a/"]
    assert [one.path for one in watched.files.files()] == ["a/b"]
    assert watched.files.unreadable == []
