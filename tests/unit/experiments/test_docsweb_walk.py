"""The independent walk: its own URL resolution against the standard's, and its links."""

from __future__ import annotations

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.docsweb.compare import compare
from experiments.docsweb.server import LogEntry
from experiments.docsweb.walk import Visit, hrefs, is_wanted, resolve
from tests.tables import each

HOST = "127.1.0.2:8088"
PIECES = ("a", "h.x", "/", "//", ".", "..", "%2e", "?", "#", "\\", " ", "\t", ":", "http:", "é", "&", "'", "^", "|")


def _standard(base: str, href: str) -> str | None:
    try:
        url = ada_url.join_url(base, href).partition("#")[0]
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def _internal(url: str | None) -> str | None:
    return url if url and url.split("/")[2] == HOST else None


@given(st.lists(st.sampled_from((*PIECES, HOST)), max_size=7).map("".join), st.sampled_from(["/d/e/p.html?q", "/"]))
def test_internal_urls_are_resolved_as_the_standard_says(href: str, path: str) -> None:
    base = f"http://{HOST}{path}"
    assert _internal(resolve(base, href)) == _internal(_standard(base, href))


@each(
    ("element", "link"),
    [
        ("<a href='x'>", "x"),
        ("<map><area href='x'></map>", "x"),
        ("<iframe src='x'></iframe>", "x"),
        ("<link rel='NEXT' href='x'>", "x"),
        ("<link rel='alternate stylesheet' href='x'>", None),
        ("<link rel='alternate' type='application/atom+xml' href='x'>", None),
        ("<link rel='icon' href='x'>", None),
        ("<meta http-equiv='Refresh' content='0; URL=x'>", "x"),
        ("<meta http-equiv='refresh' content='30'>", None),
        ("<img src='x'>", None),
    ],
)
def test_elements_that_are_links(element: str, link: str | None) -> None:
    assert hrefs(f"<html><body>{element}".encode())[1] == ([link] if link else [])


def test_frames_and_base_are_found() -> None:
    page = b"<html><head><base href='/b/'></head><frameset><frame src='x'></frameset></html>"
    assert hrefs(page) == ("/b/", ["x"])


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (f"http://{HOST}/a.html", True),
        (f"https://{HOST}/a.txt", True),
        (f"http://{HOST}/a.PNG", False),
        (f"http://{HOST}/File:a.png", True),
        (f"http://{HOST}/png", True),
        ("http://127.1.0.3:8088/a.html", False),
    ],
)
def test_only_internal_documents_are_wanted(url: str, wanted: bool) -> None:
    assert is_wanted(url, HOST) is wanted


def test_comparison_names_each_difference() -> None:
    visits = [Visit("http://h/a", 200, "text/html", 0), Visit("http://h/b", 200, "text/html", 1)]
    asked = ["http://h/a", "http://h/a", "http://h/d", "http://h/robots.txt", "http://h/robots.txt"]
    log = [LogEntry(0.0, url, 200, "text/html", "x") for url in asked]
    examples = [finding.examples for finding in compare(visits, {"http://h/a": 404, "http://h/c": 200}, log)]
    status = ["http://h/a: 200 to the walk, 404 to SCrawler"]
    assert examples == [["http://h/b"], ["http://h/c"], status, ["http://h/a"], ["http://h/c"], ["http://h/d"]]


def test_equal_accounts_have_no_difference() -> None:
    visits = [Visit("http://h/a", 200, "text/html", 0)]
    log = [LogEntry(0.0, "http://h/a", 200, "text/html", "x")]
    assert not any(finding.examples for finding in compare(visits, {"http://h/a": 200}, log))
