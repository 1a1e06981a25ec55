"""Conditional requests and ranges, as RFC 9110 has them."""

from __future__ import annotations

import pytest

from scrawler.features.serving.ranges import UNSATISFIABLE, Part, http_date, is_unchanged, wanted_part
from tests.tables import each

AT = 1_700_000_000_500
TAG = '"abc"'


@each(
    ("headers", "unchanged"),
    [
        ({}, False),
        ({"if-none-match": TAG}, True),
        ({"if-none-match": 'W/"abc"'}, True),
        ({"if-none-match": '"x", W/"y","abc"'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": "abc"}, False),
        ({"if-none-match": '"x"', "if-modified-since": http_date(AT)}, False),  # the tag has the word
        ({"if-modified-since": http_date(AT)}, True),
        ({"if-modified-since": http_date(AT + 5_000)}, True),
        ({"if-modified-since": http_date(AT - 1_000)}, False),
        ({"if-modified-since": "yesterday"}, False),
        ({"if-none-match": '"abc"' + "," * 10_000}, False),
    ],
)
def test_what_is_as_it_was(headers: dict[str, str], unchanged: bool) -> None:
    assert is_unchanged(headers, TAG, AT) is unchanged


def test_without_a_date_only_the_tag_says_it() -> None:
    assert not is_unchanged({"if-modified-since": http_date(AT)}, TAG, 0)


@each(
    ("value", "part"),
    [
        ("bytes=0-9", Part(0, 10)),
        ("bytes=90-", Part(90, 100)),
        ("bytes=90-1000", Part(90, 100)),
        ("bytes=-10", Part(90, 100)),
        ("bytes=-1000", Part(0, 100)),
        ("bytes=100-", UNSATISFIABLE),
        ("bytes=-0", UNSATISFIABLE),
        ("bytes=9-0", None),
        ("bytes=0-1,2-3", None),  # of several none is heeded
        ("bytes=" + ",".join("0-" for _ in range(1_000)), None),
        ("lines=0-9", None),
        ("bytes=a-b", None),
        ("bytes=9999999999999999999999-", None),
        ("", None),
    ],
)
def test_ranges(value: str, part: Part | None) -> None:
    assert wanted_part({"range": value}, 100, TAG, AT) == part


@pytest.mark.parametrize(
    ("if_range", "applies"), [(TAG, True), ('W/"abc"', False), ('"x"', False), (http_date(AT), True), ("x", False)]
)
def test_a_part_of_what_has_changed_is_no_use(if_range: str, applies: bool) -> None:
    found = wanted_part({"range": "bytes=0-9", "if-range": if_range}, 100, TAG, AT)
    assert (found is not None) is applies


def test_of_an_empty_file_there_is_no_part() -> None:
    assert wanted_part({"range": "bytes=0-"}, 0, TAG, AT) == UNSATISFIABLE
