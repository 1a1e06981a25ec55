from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard

from scrawler.core.asking.robots_body import robots_body
from scrawler.fetch.downloader import Request, Response
from scrawler.model.results import Result
from tests.tables import each

RULES = b"User-agent: *\nDisallow: /closed"
ZIPPED = gzip.compress(RULES, mtime=0)
CODED = {
    "gzip": ZIPPED,
    "deflate": zlib.compress(RULES),
    "br": brotli.compress(RULES),
    "zstd": zstandard.compress(RULES),
}


def read(body: bytes, coding: str) -> bytes | None:
    headers = {"content-encoding": coding} if coding else {}
    return robots_body(Response(Request("http://h/robots.txt", "127.0.0.1"), Result.FETCHED, 200, b"", headers, body))


@pytest.mark.parametrize("label", ["", *CODED, "gzip, gzip", "br, gzip", "utf-8", "identity", "none"])
@pytest.mark.parametrize("body", [RULES, ZIPPED, gzip.compress(ZIPPED)], ids=["plain", "once", "twice"])
def test_labels_that_are_wrong_cost_no_rule(label: str, body: bytes) -> None:
    assert read(body, label) == RULES


@pytest.mark.parametrize(("label", "body"), CODED.items(), ids=CODED)
def test_labels_that_are_right_are_believed(label: str, body: bytes) -> None:
    assert read(body, label) == RULES
    assert read(gzip.compress(body), f"{label}, gzip, identity") == RULES


@pytest.mark.parametrize(
    "text",
    [RULES.decode().encode("utf-16"), b"#\xe4\xf6\n" + RULES, b"# \xe6\xbc\xa2" * 9, b""],
    ids=["utf-16", "latin-1", "utf-8", "empty"],
)
def test_text_in_any_code_is_seen_to_be_text(text: bytes) -> None:
    assert read(text, "gzip") == read(text, "")
    assert read(gzip.compress(text), "gzip, gzip") == read(text, "")


@each(
    ("label", "body"),
    [
        ("br", CODED["zstd"]),
        ("zstd", CODED["br"]),
        ("deflate", CODED["br"]),
        ("gzip", CODED["zstd"]),
        ("gzip", CODED["deflate"]),
        ("compress", CODED["br"]),
        ("gzip", ZIPPED[:10]),
        ("", ZIPPED[:10]),
    ],
)
def test_what_cannot_be_decoded_says_nothing(label: str, body: bytes) -> None:
    assert read(body, label) is None


def test_what_is_cut_loses_its_last_line() -> None:
    rules = b"".join(b"Disallow: /%x\n" % (number * 7919) for number in range(5_000))
    found = read(gzip.compress(rules)[:-2_000], "gzip")
    assert found
    assert rules.startswith(found)
    assert found.endswith(b"\n")
