"""What robots meta elements, X-Robots-Tag and Link headers say, and to whom."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.directives import Directives, directives
from scrawler.extract.link_header import canonical_targets
from tests.tables import each

NOW = 1_700_000_000_000  # 14 November 2023
NEITHER, NOINDEX, NOFOLLOW, BOTH = (
    Directives(),
    Directives(True, False),
    Directives(False, True),
    Directives(True, True),
)
PAST, FUTURE = "25 Jun 2010 15:00:00 PST", "25 Jun 2040 15:00:00 PST"


@each(
    ("contents", "said"),
    [
        ([], NEITHER),
        (["noindex"], NOINDEX),
        (["NoFollow"], NOFOLLOW),
        ([" noindex ,nofollow"], BOTH),
        (["none"], BOTH),
        (["noindex", "nofollow"], BOTH),  # all that is said adds up
        (["noindex, index", "all"], NOINDEX),
        (["nofollow noindex"], BOTH),
        (["noarchive;nofollow"], NOFOLLOW),
        (["index, follow, noarchive, max-snippet:-1, max-image-preview:large, klingon, klingon:3"], NEITHER),
        (["max-snippet: 20, noindex, new-directive: 7, nofollow"], BOTH),
        (["nonofollow, no follow, noindexed, -noindex"], NEITHER),
        (["", ",,,", ":", ":noindex"], NOINDEX),
    ],
)
def test_meta(contents: list[str], said: Directives) -> None:
    assert directives(contents, [], "MyBot", NOW) == said


@each(
    ("values", "said"),
    [
        (["noindex, nofollow"], BOTH),
        (["otherbot: noindex, nofollow"], NEITHER),
        (["otherbot: noindex", "nofollow"], NOFOLLOW),  # a header line begins anew
        (["nofollow, otherbot: noindex"], NOFOLLOW),
        (["MYBOT: noindex"], NOINDEX),
        (["otherbot: none, mybot: nofollow, noarchive, thirdbot: noindex"], NOFOLLOW),
        (["*: noindex", "robots: nofollow"], BOTH),
        (["mybot2: noindex", "bot: noindex"], NEITHER),
        (["otherbot: max-snippet: 3, noindex"], NEITHER),
        (["klingon: 3, noindex"], NOINDEX),  # no robot: a directive that is unknown
        ([f"otherbot: unavailable_after: {PAST}"], NEITHER),
        ([f"mybot: unavailable_after: {PAST}, otherbot: nofollow"], NOINDEX),
        (["unavailable_after: Friday, 25-Jun-10 15:00:00 PST, nofollow"], BOTH),
    ],
)
def test_headers(values: list[str], said: Directives) -> None:
    assert directives([], values, "MyBot", NOW) == said


@each(
    ("date", "past"),
    [
        (PAST, True),
        (FUTURE, False),
        ("Fri, 25 Jun 2010 15:00:00 GMT", True),
        ("Friday, 25-Jun-10 15:00:00 EST", True),
        ("Saturday, 25-Jun-40 15:00:00 UTC", False),
        ("2010-06-25T15:00:00+02:00", True),
        ("2010-06-25t15:00:00z", True),
        ("2010-06-25", True),
        ("2040-06-25 15:00", False),
        ("2023-11-14T22:13:19Z", True),  # a second before
        ("2023-11-14T22:13:21Z", False),
        ("2023-11-14T21:13:21-02:00", False),
        ("", False),
        ("soon", False),
        ("Friday,", False),
        ("25 Jun", False),
        ("99 Foo 99999 99:99:99 PST", False),
        ("2010-13-45", False),
        ("9" * 5_000, False),
    ],
)
def test_unavailable_after(date: str, past: bool) -> None:
    for text in (f"unavailable_after: {date}", f"noarchive, Unavailable_After:{date}"):
        assert directives([text], [], "mybot", NOW) == Directives(past, False)


@given(st.text(alphabet="noindexfw:, ;*unavailable_after0123456789-TZ+", max_size=200))
def test_whatever_is_said_never_raises(text: str) -> None:
    directives([text, f"unavailable_after:{text}"], [text, f"bot:{text}"], "bot", NOW)


@each(
    ("value", "targets"),
    [
        ('<http://h/a>; rel="canonical"', ["http://h/a"]),
        ("<a>;rel=Canonical", ["a"]),
        ('<a>; rel="next canonical"; title="x, <b>; rel=canonical"', ["a"]),
        ('<a>; rel=next, <b>; rel="canonical", <c,d>; title=x;rel=canonical', ["b", "c,d"]),
        ("<a>; rel=next; rel=canonical", []),  # the first rel counts
        ('<a>; rel=canonical; anchor="/other"', []),
        ('<a>; rel=canonical; anchor=""', ["a"]),
        ('<a>; rel="canonical', ["a"]),
        ("<a> rel=canonical", []),
        ("a; rel=canonical", []),
        ("<a>; relx=canonical; xrel=canonical", []),
        ("canonical <", []),
        ("", []),
    ],
)
def test_link_header(value: str, targets: list[str]) -> None:
    assert canonical_targets(value) == targets


@pytest.mark.parametrize(
    "part", ["<", "<a>", "<a>;", '<a>;x="', "<a>;rel=canonical,", '"', "\\", '<a>;x="\\', "; ", "<a>;="]
)
def test_link_headers_of_any_size_take_linear_time(part: str) -> None:
    began = time.process_time()
    canonical_targets("canonical" + part * (400_000 // len(part)))
    assert time.process_time() - began < 5


def test_directives_of_any_size_take_little_time() -> None:
    began = time.process_time()
    for part in ("a:", "noindex,", "unavailable_after:", "bot: noindex, ", ",", " ", "unavailable_after:1,"):
        directives([part * (4_000_000 // len(part)), *["none"] * 1_000_000], [part * 10_000], "bot", NOW)
    assert time.process_time() - began < 5
