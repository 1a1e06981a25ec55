"""SURT keys are those by which replay tools look URLs up."""

from __future__ import annotations

from pathlib import Path

import pytest
from ada_url import URL
from hypothesis import given
from hypothesis import strategies as st

from scrawler.archive.surt import surt

# Made once with the package surt 0.3.1, which pywb uses: URL, tab, key.
KEYS = [line.split("\t") for line in Path(__file__).with_name("surt_keys.tsv").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_key_equals_that_of_the_reference(url: str, key: str) -> None:
    assert surt(url) == key


@given(st.text(), st.text())
def test_any_normalised_url_has_one_ascii_key_without_spaces(path: str, query: str) -> None:
    key = surt(URL(f"http://example.com/{path}?{query}").href)
    assert key.startswith("com,example)/")
    assert key.isascii()
    assert " " not in key
    assert "\n" not in key


def test_other_text_is_its_own_key() -> None:
    assert surt("urn:some:id") == "urn:some:id"
