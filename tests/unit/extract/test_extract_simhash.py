"""Simhash: near copies are near, other pages far, and both extractors say nearly the same of a page."""

from __future__ import annotations

import random
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.html5lib import Html5libExtractor
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.simhash import IMAGE, NEAR, distance, simhash, words_of
from scrawler.synthweb.pages import PageWriter
from scrawler.synthweb.spec import WebSpec
from scrawler.synthweb.traps.pages import real_page, words
from scrawler.synthweb.web import SyntheticWeb

WEB = SyntheticWeb(WebSpec(seed=5, sites=1, equal=True, mean_pages=60, page_bytes=32_000))


def plain_simhash(features: frozenset[bytes]) -> int:
    """The sum over bits as the paper writes it."""
    hashes = [int.from_bytes(blake2b(word, digest_size=8).digest(), "little") for word in features]
    bits = sum((2 * sum(one >> bit & 1 for one in hashes) > len(hashes)) << bit for bit in range(64))
    return bits - (bits >> 63 << 64) or int(bool(features))


@pytest.fixture(scope="module")
def pages() -> list[bytes]:
    writer = PageWriter(WEB)
    return [writer.page(WEB.site(0), number) for number in range(60)]


def words_on(body: bytes) -> frozenset[bytes]:
    found = LexborExtractor().links(body, "http://h/", wants_words=lambda hrefs: True)
    assert found.words is not None
    return found.words


@given(st.frozensets(st.binary(min_size=1, max_size=80), max_size=300))
def test_lanes_add_up_to_what_the_paper_says(features: frozenset[bytes]) -> None:
    assert simhash(features) == plain_simhash(features)


def test_a_page_of_very_many_words_does_not_overflow() -> None:
    features = words_of(" ".join(f"w{number}" for number in range(40_000)))
    assert len(features) == 30_001
    assert simhash(features) == plain_simhash(features)


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
def test_distance_is_that_of_the_64_bits(one: int, other: int) -> None:
    bits = f"{one % (1 << 64):064b}", f"{other % (1 << 64):064b}"
    assert distance(one, other) == sum(a != b for a, b in zip(*bits, strict=True))


@pytest.mark.parametrize(
    "change", ["Monday, 3 March 2031", "visitor 48,213", "http://h/some/path?id=17", "A sentence that was not there."]
)
def test_near_copies_are_near(pages: list[bytes], change: str) -> None:
    distances = []
    for body in pages:
        copy = body.replace(b"</h1>", f"</h1><p>{change}</p>".encode())
        distances.append(distance(simhash(words_on(body)), simhash(words_on(copy))))
    assert sum(one <= NEAR for one in distances) >= 57
    assert max(distances) <= NEAR + 2


def test_other_pages_of_the_same_template_are_far() -> None:
    hashes = [simhash(words_on(real_page(number, "/").encode())) for number in range(100)]
    assert min(distance(one, other) for place, one in enumerate(hashes) for other in hashes[:place]) > NEAR


def test_the_order_of_words_makes_no_difference() -> None:
    text = words(1, count=200).split()
    assert words_of(" ".join(text)) == words_of(" ".join(random.Random(3).sample(text, len(text))))


def test_what_is_not_shown_does_not_count_and_images_do() -> None:
    body = b"""<title>A b</title><style>x{y:z}</style><p>One two<script>var three = 3</script><b>TWO</b> four-five
        <img src="/i/one.png?rnd=17"><img src="data:image/png;base64,xx">caf\xc3\xa9"""
    expected = {b"a", b"b", b"one", b"two", b"four", b"five", "café".encode(), IMAGE + b"/i/one.png"}
    assert words_on(body) == expected
    text = Html5libExtractor().text(body).text
    assert words_of(text) == expected - {IMAGE + b"/i/one.png", b"a", b"b"}


def test_a_page_without_words_has_none() -> None:
    assert simhash(words_on(b"<p></p>")) == 0
    assert simhash(frozenset([b"x"])) != 0
