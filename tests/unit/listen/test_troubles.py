"""What is told while the database refuses, and what when its file is taken away."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from scrawler.errors import StoreError
from scrawler.features.push.store.pushes import KnownSite, Pushes
from scrawler.features.push.troubles import Troubles
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import open_database


def test_a_trouble_is_told_once_while_it_lasts() -> None:
    said: list[str] = []
    troubles = Troubles(said.append)
    troubles.over()
    for text in ("the disk is full", "the disk is full", "it is locked"):
        troubles.note(StoreError(text))
    troubles.over()
    troubles.over()
    troubles.note(StoreError("it is locked"))
    assert [line.partition("; what")[0] for line in said] == [
        "scrawler: warning: the disk is full",
        "scrawler: warning: it is locked",
        "the database takes what is sent again",
        "scrawler: warning: it is locked",
    ]


def test_a_file_that_was_taken_away_takes_nothing_and_is_not_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "a folder? #1 100%"
    folder.mkdir()
    with closing(open_database(f"sqlite:///{folder}/crawl.db".replace("?", "%3F"), create=True)) as database:
        Crawls(database).open("crawl", Scope.HOST)
        pushes = Pushes(database, 10, 10)
        site = KnownSite(1, "example.org", ("http://example.org/",), None)
        assert pushes.accept(site, ["http://example.org/a"], "ping").accepted == 1
        names = os.listdir(folder)
        for name in names:
            (folder / name).rename(tmp_path / name)
        for _ in range(2):
            with pytest.raises(StoreError, match="was moved away, removed or replaced while it was in use"):
                pushes.accept(site, ["http://example.org/b"], "ping")
            with pytest.raises(StoreError, match="was moved away"):
                pushes.accept_unproved(site, ["http://example.org/b"], "indexnow", "x")
        database._engine.dispose()
        with pytest.raises(StoreError, match="cannot be opened"):
            database.now()
        assert os.listdir(folder) == []
        for name in names:
            (tmp_path / name).rename(folder / name)
        assert pushes.accept(site, ["http://example.org/c"], "ping").accepted == 1
