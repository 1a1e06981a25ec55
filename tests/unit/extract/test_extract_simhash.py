"""Simhash: near copies are near, other pages far, and both forms read the same of a page, whatever it holds."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import count
from time import thread_time
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract import plain_simhash
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkExtractor
from scrawler.extract.scanner import fastest_extractor
from scrawler.extract.simhash import (
    COMPILED,
    NEAR,
    Vocabulary,
    distance,
    fingerprint_of,
    is_number,
    skeleton_of,
    words_in,
)
from scrawler.features.classic.reference import Html5libExtractor
from scrawler.features.synthweb.pages import PageWriter
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.traps.pages import real_page, words
from scrawler.features.synthweb.web import SyntheticWeb
from tests.compiled import ROOT
from tests.turns import lets_others_run

from .random_pages import page_of_tags

WEB = SyntheticWeb(WebSpec(seed=5, sites=1, equal=True, mean_pages=60, page_bytes=32_000))
SOURCE = ROOT / "scrawler/extract/_simhash.c"
FORMS = [plain_simhash, COMPILED or plain_simhash]
NOT_COMPILED = pytest.mark.skipif(COMPILED is None, reason="not compiled: python setup.py build_ext --inplace")
# What a page may be made of: all that is read in a way of its own, and the edges of it.
PIECES = [
    *(b"<", b">", b"</", b"<!--", b"-->", b"<!-->", b"<!", b"<?", b"<![CDATA[", b"]]>", b"=", b"/", b"/>", b"'", b'"'),
    *(b"<script", b"<SCRIPT ", b"</script", b"</sCript>", b"<style>", b"</style >", b"<script/>", b"<title>", b"<b>"),
    *(b"<img", b" src=", b" SRC = ", b"<img src=/a.png?x>", b"<img src='data:x'>", b"<img src=' B.png ?q'>", b" b=c"),
    *(b"<img src>", b"<image src=q>", b"</img src=y>", b'<a href="x>y">', b"<br/>", b"&", b"#", b";", b"&amp;", b"&#"),
    *(b"&eacute;", b"&#39;", b"&#160;", b"&#0000160;", b"&#128;", b"&#xA0;", b"&#x41F;", b"&#1055;", b"&#xZ;", b"&#x;"),
    *(b"&#X7f;", b"&nbsp;", b"&%s;" % (b"a" * 31), b"&%s;" % (b"a" * 32), b"&#%s1;" % (b"0" * 30), b"0" * 25, b"7"),
    *(b"word", b"WORD", b"a", b"Z9", b"longerthaneightbytes", b"x" * 70, b"\xc3\xa9", b"\xff", b"\0", b"\1", b"\2"),
    *(b"\3", b" ", b"\n", b"\x0b", b"\t"),
]  # fmt: skip


def plain_form(features: list[int]) -> int:
    """The sum over bits as the paper writes it."""
    bits = sum((2 * sum(one >> bit & 1 for one in features) > len(features)) << bit for bit in range(64))
    return bits - (bits >> 63 << 64) or int(bool(features))


@pytest.fixture(scope="module")
def pages() -> list[bytes]:
    writer = PageWriter(WEB)
    return [writer.page(WEB.site(0), number) for number in range(60)]


def simhash(page: bytes) -> int:
    return fingerprint_of(page).simhash


def words_on(page: bytes, is_xml: bool = False) -> set[int]:
    found = words_in(fingerprint_of(page, is_xml).words)
    assert len(found) == len(set(found))
    return set(found)


def pages_of_pieces() -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(PIECES) | st.binary(max_size=12), max_size=60).map(b"".join)


def check_forms(page: bytes) -> None:
    assert COMPILED is not None
    for is_xml in (False, True):
        assert COMPILED.fingerprint(page, is_xml) == plain_simhash.fingerprint(page, is_xml), page
    assert COMPILED.skeleton(page) == plain_simhash.skeleton(page), page


@NOT_COMPILED
@given(pages_of_pieces())
def test_both_forms_read_the_same(page: bytes) -> None:
    check_forms(page)


@NOT_COMPILED
def test_both_forms_read_the_same_of_random_tags_and_of_whole_pages(pages: list[bytes]) -> None:
    for number in range(500):
        check_forms(page_of_tags(number))
    for page in pages:
        check_forms(page)
        check_forms(page[: len(page) // 2])


@NOT_COMPILED
@given(
    st.lists(st.integers(0, (1 << 64) - 1), max_size=40), st.integers(0, 40), st.integers(1, 60), st.integers(-1, 50)
)
def test_both_forms_have_the_same_vocabulary(all_words: list[int], known: int, size: int, most: int) -> None:
    assert COMPILED is not None
    sources = [b"".join(one.to_bytes(8, "little") for one in part) for part in (all_words, all_words[:known])]
    one, other = bytearray(size), bytearray(size)
    assert COMPILED.learn(sources[1], one) == plain_simhash.learn(sources[1], other)
    assert one == other
    found = COMPILED.unknown(sources[0], one, most)
    assert found == plain_simhash.unknown(sources[0], one, most)
    assert COMPILED.unknown(sources[1], one, 50) == b""


@NOT_COMPILED
def test_both_forms_have_the_same_limits() -> None:
    defined = dict(re.findall(r"#define (\w+) +(\d+)", SOURCE.read_text()))
    limits = {name: str(value) for name, value in vars(plain_simhash).items() if name.isupper() and name[0] != "_"}
    limits = {name: value for name, value in limits.items() if value.isdigit()}
    assert len(limits) == 6
    assert limits.items() <= defined.items()


@pytest.mark.parametrize("form", FORMS, ids=["python", "compiled"])
def test_a_simhash_is_what_the_paper_says(form: ModuleType, pages: list[bytes]) -> None:
    for page in pages[:10]:
        found, digest, read = form.fingerprint(page, False)
        features = words_in(read)
        assert found == plain_form(features)
        assert digest == sum(features) % (1 << 64)


@pytest.mark.parametrize("form", FORMS, ids=["python", "compiled"])
def test_of_very_many_words_and_images_so_many_are_read(form: ModuleType) -> None:
    shown = b"".join(b"<img src=/%d.png>" % number for number in range(300))
    page = shown + b" ".join(b"w%d" % number for number in range(40_000)) + b"<img src=/late.png>"
    found, _, read = form.fingerprint(page, False)
    features = words_in(read)
    assert len(features) == 30_000 + 200
    assert found == plain_form(features)


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
        distances.append(distance(simhash(body), simhash(copy)))
    assert sum(one <= NEAR for one in distances) >= 57
    assert max(distances) <= NEAR + 2


def test_other_pages_of_the_same_template_are_far() -> None:
    hashes = [simhash(real_page(number, "/").encode()) for number in range(100)]
    assert min(distance(one, other) for place, one in enumerate(hashes) for other in hashes[:place]) > NEAR


def test_the_order_of_words_makes_no_difference() -> None:
    text = words(1, count=200).split()
    one = fingerprint_of(" ".join(text).encode())
    other = fingerprint_of(" ".join(random.Random(3).sample(text, len(text))).encode())
    assert (one.simhash, one.digest) == (other.simhash, other.digest)
    assert one.words != other.words


def test_what_is_not_shown_does_not_count_and_images_do() -> None:
    body = b"""<title>A b</title><style>x{y:z}</style><!-- not > this --><p class="nor this">One two
        <script>var three = "</b>"</script><b>TWO</b> four-five <img alt=no src="/i/one.png?rnd=17">
        <img src="data:image/png;base64,xx">
        caf\xc3\xa9 a&amp;b caf&eacute; 7&#x41F;&#1088; x&nbsp;&#39;&#160;y"""
    expected = {*words_on("A b one two four five café 7&#x41F;&#1088; caf&eacute; x y".encode())}
    assert words_on(body) - expected == words_on(b"<img src=/i/one.png>")
    assert expected <= words_on(body)


def test_words_in_references_alone_are_words() -> None:
    """Pages whose every letter is written as a reference say something, each page something else."""
    said = [fingerprint_of("".join(f"&#{ord(sign)};" for sign in word).encode()) for word in ("слово", "другое")]
    assert said[0].simhash != said[1].simhash
    assert [is_number(word) for one in said for word in words_in(one.words)] == [False, False]


def test_numbers_are_known_as_such() -> None:
    assert {is_number(word) for word in words_on(b"a1 17 x&#1088;9 longer-than-8-letters")} == {True, False}
    assert not any(map(is_number, words_on("a bc été &#1088; <img src=17.png>".encode())))
    assert all(map(is_number, words_on(b"abcdefgh1 12345678 1 9abcdefghijklmnopq")))


def test_in_xml_a_script_can_close_itself() -> None:
    page = b"<html><script/><p>shown</p><![CDATA[text]]></html>"
    assert words_on(page, is_xml=True) == words_on(b"shown text")
    assert words_on(page) == set()


def test_a_page_without_words_has_none() -> None:
    assert simhash(b"<p></p>") == 0
    assert simhash(b"x") != 0


@pytest.mark.parametrize("extractor", [fastest_extractor(), LexborExtractor(), Html5libExtractor()])
def test_extractors_hand_over_the_page_in_utf8(extractor: LinkExtractor) -> None:
    page = "<p>été <a href=x>y</a>"
    assert extractor.links(page.encode("latin-1"), "http://h/", "text/html; charset=latin-1").page == page.encode()
    deep = b"<div>" * 6_000
    assert extractor.links(deep, "http://h/", "text/html; charset=utf-8").page == deep


def test_copies_that_differ_in_a_number_or_a_short_text_have_the_same_skeleton() -> None:
    def page(name: str, number: int, text: str) -> bytes:
        return f"<p>{name}</p><div>Seen {number} times by people who look for such pages<p>{text}</p>".encode()

    first = skeleton_of(page("Room", 17, words(1)))
    assert first == skeleton_of(page("Chamber", 23, words(1)))
    assert first != skeleton_of(page("Room", 17, words(2)))
    assert first != skeleton_of(page("Room", 17, words(1)[::-1])), "what is as long is told apart by its middle"
    assert first == skeleton_of(page("Room", 17, "x" + words(1)[1:]))
    assert skeleton_of(b"<p>short</p><p>texts</p>") == skeleton_of(b"") == 0


def test_a_vocabulary_knows_what_it_learned_and_little_else() -> None:
    known, other = (fingerprint_of(" ".join(map("{}".format, numbers)).encode()).words
                    for numbers in (range(8_192), range(8_192, 20_000)))  # fmt: skip
    vocabulary = Vocabulary(8_192)
    vocabulary.learn(known)
    assert vocabulary.unknown(known, 1) == []
    assert 8_000 < vocabulary.count <= 8_192
    assert len(vocabulary.unknown(other, 20_000)) > 0.98 * (20_000 - 8_192)
    vocabulary.clear()
    assert len(vocabulary.unknown(known, 10)) == 10


SHAPES = {
    "brackets": b"<",
    "ends": b"</",
    "comments": b"<!--",
    "short comments": b"<!-->",
    "dashes": b"<!---",
    "tags": b"<a ",
    "attributes": b" x=",
    "quotes": b"<a b='",
    "scripts": b"<script>",
    "styles": b"<style></styl",
    "sections": b"<![CDATA[",
    "letters": b"x",
    "words": b"a ",
    "zeros": b"\0",
    "references": b"&#0",
    "long references": b"&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "words of references": b"&#1055;",
    "pictures": b"<img src",
    "sources": b"<img src='",
}


@pytest.mark.parametrize("piece", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("form", FORMS, ids=["python", "compiled"])
def test_a_hostile_page_takes_no_longer_than_its_length(form: ModuleType, piece: bytes) -> None:
    page = piece * (300_000 // len(piece))
    begin = thread_time()
    form.fingerprint(page, True)
    form.fingerprint(b"<p " + page, False)
    form.skeleton(page)
    assert thread_time() - begin < 3  # at most 0.6 s on a quiet machine; anything quadratic takes many minutes


@NOT_COMPILED
def test_an_allocation_that_fails_is_a_memory_error() -> None:
    memory = pytest.importorskip("_testcapi")
    assert COMPILED is not None
    page = b" ".join(b"w%d" % number for number in range(5_000))
    failed = 0
    for number in count():
        memory.set_nomemory(number, number + 1)
        try:
            COMPILED.fingerprint(page, False)
        except MemoryError:
            failed += 1
            continue
        finally:
            memory.remove_mem_hooks()
        break
    assert failed >= 6  # two for each time that there is no more room, and those of the result


@NOT_COMPILED
def test_wrong_arguments_are_refused() -> None:
    assert COMPILED is not None
    wrong: list[Callable[[], object]] = [
        lambda: COMPILED.learn(b"x" * 8, bytearray()),
        lambda: COMPILED.unknown(b"x" * 8, b"", 1),
        lambda: COMPILED.learn(b"x" * 8, b"not writable"),
        lambda: COMPILED.fingerprint("text", False),
        lambda: COMPILED.skeleton("text"),
    ]
    for ask in wrong:
        with pytest.raises((ValueError, TypeError, BufferError)):
            ask()


@NOT_COMPILED
def test_other_threads_run_while_a_long_page_is_read() -> None:
    form = COMPILED
    assert form is not None
    page = b"<a href='" + b"=x " * 10_000_000
    assert lets_others_run(lambda: form.fingerprint(page, False))
