"""A file of a database that is damaged: one line says so."""

from __future__ import annotations

import pytest

from scrawler.errors import StoreError
from scrawler.store.engines.faults import mapped, read_json


@pytest.mark.parametrize("text", ["", '{"a" 1}', "[", b"\xff"])
def test_what_is_no_json_any_more(text: str | bytes) -> None:
    with pytest.raises(StoreError, match="the database is damaged"):
        read_json(text)
    assert read_json('{"a": 1}') == {"a": 1}


def test_words_of_the_driver_that_are_no_text() -> None:
    with pytest.raises(StoreError, match="database sqlite:///x is damaged"), mapped("sqlite:///x"):
        b"malformed \x82".decode()
