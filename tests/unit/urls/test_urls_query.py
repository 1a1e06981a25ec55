"""Queries of links in the encoding of their page; the expected bytes are those of the Encoding Standard's tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.extract.rules import LinkCollector
from scrawler.model.scope import Scope
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.lookup import COMPILED, KnownLinks
from scrawler.urls.query import encode_query
from scrawler.urls.scope import scope_of
from tests.tables import each

PAGE = "http://h/docs/page.html"
FORMS = [None, COMPILED]

QUERIES = [
    ("gbk", "中文", "%D6%D0%CE%C4"),
    ("gbk", "€", "%80"),
    ("gbk", "𠀀", "%26%23131072%3B"),
    ("gbk", "☃", "%26%239731%3B"),
    ("gbk", "㐀", "%26%2313312%3B"),
    ("gbk", "丂", "%81@"),
    ("gbk", "é", "%A8%A6"),
    ("gb18030", "中文", "%D6%D0%CE%C4"),
    ("gb18030", "€", "%A2%E3"),
    ("gb18030", "𠀀", "%952%826"),
    ("gb18030", "☃", "%817%A30"),
    ("gb18030", "é", "%A8%A6"),
    ("gb18030", "\ue5e5", "%26%2358853%3B"),
    ("gb18030", "ḿ", "%A8%BC"),
    ("gb18030", "︐", "%A6%D9"),
    ("gb18030", "龴", "%FEY"),
    ("big5", "中文", "%A4%A4%A4%E5"),
    ("big5", "€", "%A3%E1"),
    ("big5", "†", "%26%238224%3B"),
    ("big5", "功能", "%A5\\%AF%E0"),
    ("big5", "許", "%B3\\"),
    ("big5", "嘅", "%FBH"),
    ("big5", "␀", "%A3%C0"),
    ("big5", "═", "%F9%F9"),
    ("big5", "Я", "%C8T"),
    ("big5", "é", "%26%23233%3B"),
    ("euc-jp", "日本語", "%C6%FC%CB%DC%B8%EC"),
    ("euc-jp", "ｱ", "%8E%B1"),
    ("euc-jp", "①", "%AD%A1"),
    ("euc-jp", "¥", "\\"),
    ("euc-jp", "‾", "~"),
    ("euc-jp", "−", "%A1%DD"),
    ("euc-jp", "é", "%26%23233%3B"),
    ("euc-jp", "纊", "%F9%A1"),
    ("euc-jp", "丂", "%26%2319970%3B"),
    ("euc-jp", "～", "%A1%C1"),
    ("shift_jis", "日本語", "%93%FA%96{%8C%EA"),
    ("shift_jis", "ｱ", "%B1"),
    ("shift_jis", "①", "%87@"),
    ("shift_jis", "¥", "\\"),
    ("shift_jis", "‾", "~"),
    ("shift_jis", "−", "%81|"),
    ("shift_jis", "é", "%26%23233%3B"),
    ("shift_jis", "表示", "%95\\%8E%A6"),
    ("shift_jis", "ソ", "%83\\"),
    ("shift_jis", "纊", "%FA\\"),
    ("shift_jis", "ⅰ", "%FA@"),
    ("shift_jis", "∪", "%81%BE"),
    ("shift_jis", "\x80", "%80"),
    ("euc-kr", "한국어", "%C7%D1%B1%B9%BE%EE"),
    ("euc-kr", "똠", "%8Cc"),
    ("euc-kr", "†", "%A2%D3"),
    ("euc-kr", "€", "%A2%E6"),
    ("euc-kr", "漢", "%F9%D3"),
    ("euc-kr", "𠀀", "%26%23131072%3B"),
    ("windows-1250", "Žluťoučký", "%8Elu%9Dou%E8k%FD"),
    ("windows-1250", "€", "%80"),
    ("windows-1250", "Я", "%26%231071%3B"),
    ("windows-1251", "Москва", "%CC%EE%F1%EA%E2%E0"),
    ("windows-1251", "₽", "%26%238381%3B"),
    ("windows-1251", "é", "%26%23233%3B"),
    ("windows-1252", "café", "caf%E9"),
    ("windows-1252", "€", "%80"),
    ("windows-1252", "†", "%86"),
    ("windows-1252", "中", "%26%2320013%3B"),
    ("windows-1252", "\x81", "%81"),
    ("windows-1252", "ﬁ", "%26%2364257%3B"),
    ("windows-1253", "Αθήνα", "%C1%E8%DE%ED%E1"),
    ("windows-1253", "é", "%26%23233%3B"),
    ("windows-1254", "İstanbul", "%DDstanbul"),
    ("windows-1254", "ğ", "%F0"),
    ("windows-1255", "שלום", "%F9%EC%E5%ED"),
    ("windows-1255", "ֺ", "%CA"),
    ("windows-1256", "سلام", "%D3%E1%C7%E3"),
    ("windows-1256", "ی", "%26%231740%3B"),
    ("windows-1257", "Rīga", "R%EEga"),
    ("windows-1258", "ă", "%E3"),
    ("windows-1258", "ế", "%26%237871%3B"),
    ("windows-874", "ไทย", "%E4%B7%C2"),
    ("windows-874", "…", "%85"),
    ("iso-8859-2", "Łódź", "%A3%F3d%BC"),
    ("iso-8859-2", "€", "%26%238364%3B"),
    ("iso-8859-3", "Ħ", "%A1"),
    ("iso-8859-4", "Ģ", "%AB"),
    ("iso-8859-5", "Москва", "%BC%DE%E1%DA%D2%D0"),
    ("iso-8859-6", "سلام", "%D3%E4%C7%E5"),
    ("iso-8859-7", "Αθήνα", "%C1%E8%DE%ED%E1"),
    ("iso-8859-7", "€", "%A4"),
    ("iso-8859-8", "שלום", "%F9%EC%E5%ED"),
    ("iso-8859-8-i", "שלום", "%F9%EC%E5%ED"),
    ("iso-8859-10", "Þ", "%DE"),
    ("iso-8859-13", "ė", "%EB"),
    ("iso-8859-14", "Ŵ", "%D0"),
    ("iso-8859-15", "€", "%A4"),
    ("iso-8859-15", "½", "%26%23189%3B"),
    ("iso-8859-16", "ș", "%BA"),
    ("koi8-r", "Москва", "%ED%CF%D3%CB%D7%C1"),
    ("koi8-r", "Ї", "%26%231031%3B"),
    ("koi8-u", "Їжак", "%B7%D6%C1%CB"),
    ("koi8-u", "ў", "%AE"),
    ("ibm866", "Москва", "%8C%AE%E1%AA%A2%A0"),
    ("macintosh", "é", "%8E"),
    ("macintosh", "∞", "%B0"),
    ("x-mac-cyrillic", "Москва", "%8C%EE%F1%EA%E2%E0"),
    ("x-mac-cyrillic", "€", "%FF"),
    ("x-user-defined", "\uf780", "%80"),
    ("x-user-defined", "\uf7ff", "%FF"),
    ("x-user-defined", "é", "%26%23233%3B"),
    ("utf-8", "中文", "%E4%B8%AD%E6%96%87"),
    ("utf-16le", "é", "%C3%A9"),
    ("utf-16be", "é", "%C3%A9"),
    ("replacement", "é", "%C3%A9"),
    ("hz-gb-2312", "中", "%E4%B8%AD"),
    ("of-tomorrow", "é", "%C3%A9"),
    ("", "é", "%C3%A9"),
]
# The one that has a state: each set of characters is switched to, and ASCII again at the end.
ISO_2022_JP = [
    ("日本", "%1B$BF|K\\%1B(B"),
    ("日a本", "%1B$BF|%1B(Ba%1B$BK\\%1B(B"),
    ("a日", "a%1B$BF|%1B(B"),
    ("日☃本", "%1B$BF|%1B(B%26%239731%3B%1B$BK\\%1B(B"),
    ("é", "%26%23233%3B"),
    ("\u203e\\", "%1B(J~%1B(B\\"),
    ("¥é¥", "%1B(J\\%26%23233%3B\\%1B(B"),
    ("¥a日", "%1B(J\\a%1B$BF|%1B(B"),
    ("¥~", "%1B(J\\%1B(B~"),
    ("ｶﾞ", "%1B$B%+!+%1B(B"),
    ("−", "%1B$B!]%1B(B"),
    ("①", "%1B$B-!%1B(B"),
    ("纊", "%1B$By!%1B(B"),
    ("、", "%1B$B!%22%1B(B"),
    ("１", "%1B$B%231%1B(B"),
    ("\x0eA", "%26%2365533%3BA"),
    ("日\x1b日", "%1B$BF|%1B(B%26%2365533%3B%1B$BF|%1B(B"),
    ("日 x", "%1B$BF|%1B(B%20x"),
    ("日\n本", "%1B$BF|K\\%1B(B"),
    ("日\x01", "%1B$BF|%1B(B"),
    ("a b", "a%20b"),
]


def analyzer(compiled: Callable[[], KnownLinks] | None = None, max_length: int = 2048) -> UrlAnalyzer:
    return UrlAnalyzer(scope_of("http://h/", Scope.HOST), compiled=compiled, max_length=max_length)


def led_to(href: str, charset: str, page: str = PAGE) -> str:
    return analyzer().analyze(page, [href], "", charset).internal[0]


@each(("charset", "written", "asked"), QUERIES)
def test_a_query_is_encoded_as_its_page(charset: str, written: str, asked: str) -> None:
    assert led_to(f"s?q={written}&x", charset) == f"http://h/docs/s?q={asked}&x"


@each(("written", "asked"), ISO_2022_JP)
def test_a_query_in_iso_2022_jp(written: str, asked: str) -> None:
    assert led_to(f"?q={written}", "iso-2022-jp") == f"http://h/docs/page.html?q={asked}"


def test_path_and_fragment_are_utf_8() -> None:
    found = analyzer().analyze(PAGE, ["é/é?é#é", "é#?é", "#é?é", "é?"], "", "windows-1252")
    assert found.internal == ["http://h/docs/%C3%A9/%C3%A9?%E9", "http://h/docs/%C3%A9", "http://h/docs/%C3%A9?"]
    assert found.counts == {"internal": 3, "same-page": 1}


def test_what_is_ascii_is_encoded_as_ever() -> None:
    assert led_to("?a=é b'c\"<d>\\`{|}^%zz&e=%E9", "windows-1252") == (
        "http://h/docs/page.html?a=%E9%20b%27c%22%3Cd%3E\\`{|}^%zz&e=%E9"
    )
    assert led_to("?é\t\né \x01", "windows-1252") == "http://h/docs/page.html?%E9%E9"
    assert led_to("?é \x01#x", "windows-1252") == "http://h/docs/page.html?%E9%20%01"


@pytest.mark.parametrize("compiled", FORMS, ids=["python", "compiled"])
def test_what_is_known_of_a_link_in_one_encoding_is_not_taken_for_another(
    compiled: Callable[[], KnownLinks] | None,
) -> None:
    known = analyzer(compiled)
    for _ in range(3):
        for charset, query in (("gbk", "%D6%D0"), ("", "%E4%B8%AD"), ("big5", "%A4%A4"), ("utf-8", "%E4%B8%AD")):
            for href in ("s?中", "/s?中", "//h/s?中", "?中", "s?中#x"):
                found = known.analyze(PAGE, [href], "", charset).internal
                assert [url.partition("?")[2] for url in found] == [query], (href, charset)
    found = known.analyze_any_type(PAGE, ["a.png?中"], "", "gbk").internal
    assert found == ["http://h/docs/a.png?%D6%D0"]
    assert known.resolve("?中", PAGE, "gbk") == "http://h/docs/page.html?%D6%D0"


def test_what_stands_in_no_query_is_left_alone() -> None:
    for href in ("a?b=c", "", "é#?é", "é", "é?", "javascript:é"):
        for charset in ("gbk", "windows-1252", "iso-2022-jp", "utf-8", ""):
            assert encode_query(href, charset, 2048) == href


def test_what_is_too_long_is_not_encoded() -> None:
    short = analyzer(max_length=60)
    for href in ("?" + "é" * 61, "?" + "é" * 30):
        assert short.analyze(PAGE, [href], "", "windows-1252").counts == {"length": 1}
    assert short.analyze(PAGE, ["?é#" + "é" * 61], "", "windows-1252").internal == ["http://h/docs/page.html?%E9"]


def test_a_base_is_encoded_as_its_page() -> None:
    for charset, query in (("gbk", "%D6%D0"), ("utf-8", "%E4%B8%AD")):
        collector = LinkCollector(PAGE)
        collector.element("base", {"href": "/é?中"})
        assert collector.result(charset).base == f"http://h/%C3%A9?{query}"
