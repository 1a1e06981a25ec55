"""What is taken away, or replaced, while a site is served: its folder, and the file of its state."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scrawler.features.serving.catalogue import Catalogue, CatalogueError
from scrawler.features.serving.folder import Folder, FolderError
from scrawler.features.serving.scanner import Scanner
from scrawler.features.serving.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Scanner, Site]]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("one")
    with closing(Folder(tmp_path / "site")) as folder:
        catalogue = Catalogue(tmp_path / "state.db")
        yield Scanner(catalogue, folder), Site("http://a/", catalogue, folder, None, None, 1000)


def body(site: Site, target: str) -> bytes:
    answer = site.answer(target, "", {}, "")
    assert answer.status == 200
    return b"".join(answer.pieces)


def test_a_folder_that_another_one_replaces(site: tuple[Scanner, Site], tmp_path: Path) -> None:
    scanner, served = site
    assert scanner.scan(threading.Event()) == 1
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a").write_text("another")
    (tmp_path / "site").rename(tmp_path / "old")
    assert body(served, "/a") == b"one"  # between the two renames it is as it was
    (tmp_path / "new").rename(tmp_path / "site")
    assert body(served, "/a") == b"another"
    assert scanner.scan(threading.Event()) == 1
    descriptors = len(os.listdir("/proc/self/fd"))
    (tmp_path / "site").rename(tmp_path / "older")
    (tmp_path / "site").symlink_to("old")
    assert body(served, "/a") == b"one"
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_state_that_was_moved_away_is_begun_anew(site: tuple[Scanner, Site], tmp_path: Path) -> None:
    scanner, served = site
    scanner.scan(threading.Event())
    before = served.answer("/resourcesync/resourcelist.xml", "", {}, "").headers["ETag"]
    for file in tmp_path.glob("state.db*"):
        file.rename(tmp_path / f"moved-{file.name}")
    assert served.answer("/resourcesync/resourcelist.xml", "", {}, "").status == 503  # it is read for the first time
    assert body(served, "/a") == b"one"
    assert scanner.scan(threading.Event()) == 1
    assert b"http://a/a" in body(served, "/resourcesync/resourcelist.xml")
    assert served.answer("/resourcesync/resourcelist.xml", "", {}, "").headers["ETag"] != before


def test_what_is_no_state_is_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    (tmp_path / "text").write_text("no database at all\n" * 100)
    before = other.read_bytes()
    for path, said in ((other, "is a database of another program"), (tmp_path / "text", "not a database")):
        with pytest.raises(CatalogueError, match=said):
            Catalogue(path)
    assert other.read_bytes() == before


def test_what_the_system_says_in_a_scan_is_one_line(
    site: tuple[Scanner, Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanner, served = site
    scanner.scan(threading.Event())
    for file in tmp_path.glob("state.db*"):
        file.write_text("spoilt " * 1_000)
    with pytest.raises(CatalogueError, match=r"cannot keep the state of the site in .*state.db"):
        scanner.scan(threading.Event())
    with pytest.raises(CatalogueError):
        served.answer("/sitemap.xml", "", {}, "")

    def broken(_folder: Folder) -> Iterator[object]:
        raise OSError(5, "Input/output error", "site/a")
        yield

    for file in tmp_path.glob("state.db*"):
        file.unlink()
    monkeypatch.setattr(Folder, "files", broken)
    with pytest.raises(FolderError, match="cannot read site/a: Input/output error"):
        scanner.scan(threading.Event())
