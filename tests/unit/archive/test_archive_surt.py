"""SURT keys are those by which replay tools look URLs up."""

from __future__ import annotations

from pathlib import Path

from ada_url import URL
from hypothesis import given
from hypothesis import strategies as st

from scrawler.archive.surt import key_by_rule, surt
from tests.tables import each

# Made once with the package surt 0.3.1, which pywb uses: URL, tab, key.
KEYS = [line.split("\t") for line in Path(__file__).with_name("surt_keys.tsv").read_text("utf-8").splitlines()]


@each(("url", "key"), KEYS)
def test_key_equals_that_of_the_reference(url: str, key: str) -> None:
    assert surt(url) == key
    assert key_by_rule(url) == key


@given(st.text(), st.text())
def test_any_normalised_url_has_one_ascii_key_without_spaces(path: str, query: str) -> None:
    key = surt(URL(f"http://example.com/{path}?{query}").href)
    assert key.startswith("com,example)/")
    assert key.isascii()
    assert " " not in key
    assert "\n" not in key


@given(
    st.sampled_from(["http://a.example", "https://www2.a.example:443", "http://u:p@a.example:81", "http://[::1]"]),
    st.text("Aa0/.%2(~"),
    st.text("Aa0&=%2?/~") | st.from_regex(r"(a=1&)?(PHPsessid|SID|jsessionid)=[0-9A-Z]{32}(&b)?", fullmatch=True),
)
def test_the_short_way_leads_to_the_same_key(site: str, path: str, query: str) -> None:
    for url in (f"{site}/{path}?{query}", URL(f"{site}/{path}?{query}").href):
        assert surt(url) == key_by_rule(url)


def test_other_text_is_its_own_key() -> None:
    assert surt("urn:some:id") == "urn:some:id"
