"""How far page processors have come is stored, and who took over is not overwritten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrawler.errors import StoreError
from scrawler.features.items.processors import Processed, Processors
from scrawler.store.engines.engine import Database
from scrawler.store.reading.committed import Place
from tests.integration.store.crawling import acknowledgement_lost


def test_what_is_committed_is_there_for_the_next_one(database: Database) -> None:
    first = Processors(database)
    assert first.find("quotes") == Processed("quotes")
    assert not first.all(), "to look takes nothing over"
    begun = first.take(first.find("quotes"))
    assert replace(begun, version=0) == Processed("quotes")
    done = first.commit(
        replace(begun, place=Place(9, ((3, 4), (7, 7))), pages=5, items=8, items_file="/a b", items_bytes=99)
    )
    assert Processors(database).find("quotes") == done
    assert [one.name for one in first.all()] == ["quotes"]


def test_who_was_taken_over_cannot_commit(database: Database) -> None:
    store = Processors(database)
    mine = store.take(store.find("quotes"))
    found = store.find("quotes")
    other = store.take(found)
    with pytest.raises(StoreError, match="another program works with the page processors quotes"):
        store.commit(replace(mine, pages=1))
    assert store.commit(replace(other, pages=2)).pages == 2
    with pytest.raises(StoreError, match="another program works with the page processors quotes"):
        store.take(found)
    assert store.all()[0].pages == 2


def test_a_commit_whose_answer_was_lost_counts_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Processors(database)
    begun = store.take(store.find("quotes"))
    with acknowledgement_lost(database, monkeypatch):
        done = store.commit(replace(begun, pages=1))
    assert store.all() == [done]
