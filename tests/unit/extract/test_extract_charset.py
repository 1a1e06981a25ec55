"""From bytes to UTF-8, and what is HTML at all."""

from __future__ import annotations

import codecs
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.extract.charset import _prescan, declared_in_meta, to_utf8
from scrawler.extract.decoders import _errors
from scrawler.extract.lexbor import LexborExtractor
from scrawler.features.classic.reference import Html5libExtractor
from tests.tables import each
from tests.unit.urls.test_urls_query import QUERIES

EXTRACTORS = [LexborExtractor(), Html5libExtractor()]
SAID = {"gbk": "gb18030", "koi8-r": "koi8-u", "utf-16-le": "utf-16le", "utf-16-be": "utf-16be"}  # supersets, names
JAPANESE = (
    "このページはクローラーの説明です。利用者はアドレスの一覧を渡します。プログラムは同じサイトの中のすべてのページを集めて保存します。"
    "サーバーに負担をかけないように、一度に一つずつ取りに行きます。"
)
RUSSIAN = (
    "Робот обходит страницы сайта и сохраняет их в архив. Пользователь даёт список адресов, а программа сама находит "
    "остальные ссылки. Между двумя запросами она делает паузу, чтобы не мешать посетителям."
)
CHINESE = "本页面介绍网络爬虫。用户提供一个地址列表，程序抓取同一网站内的所有页面并加以保存。两次请求之间会稍作停顿。"
POLISH = (
    "Robot przegląda strony serwisu i zapisuje je w archiwum. Użytkownik podaje listę adresów, a program sam znajduje "
    "pozostałe odnośniki. Między żądaniami robi przerwę, żeby nie przeszkadzać odwiedzającym."
)
CZECH = (
    "Robot prochází stránky a ukládá je do archivu. Uživatel zadá seznam adres a program sám najde další odkazy. Mezi "
    "dvěma požadavky čeká, aby nerušil návštěvníky. Žádná stránka se nestahuje dvakrát."
)
UNDECLARED = {
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "iso-2022-jp": JAPANESE,
    "euc-kr": "이 페이지는 크롤러에 대한 설명입니다. 사용자는 주소 목록을 줍니다. "
    "프로그램은 같은 사이트의 모든 페이지를 모아 저장합니다.",
    "gbk": CHINESE,
    "gb18030": CHINESE,
    "big5": "本頁面介紹網路爬蟲。使用者提供一個位址清單，程式擷取同一網站內的所有頁面並加以保存。"
    "兩次要求之間會稍作停頓。",
    "windows-1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "koi8-u": "Робот обходить сторінки сайту і зберігає їх в архів. Його власник дає перелік адрес, а інші посилання "
    "він знаходить сам. Між двома запитами він чекає, щоб не заважати відвідувачам.",
    "iso-8859-5": RUSSIAN,
    "iso-8859-2": POLISH,
    "windows-1250": CZECH,
    "windows-1252": "Die Übersicht über größere Änderungen in München – schöne Grüße. Für Gäste ist das Menü geöffnet.",
    "utf-16-le": POLISH,
    "utf-16-be": JAPANESE,
}


def page(text: str, before: str = "") -> str:
    return f"<html><head>{before}<title>{text[:9]}</title></head><body><p>{text}</p><a href='/{text[:5]}'>x</a></body>"


@pytest.mark.parametrize(("charset", "text"), UNDECLARED.items(), ids=UNDECLARED.keys())
@pytest.mark.parametrize("extractor", EXTRACTORS, ids=["lexbor", "html5lib"])
def test_undeclared_charsets_are_detected(
    extractor: LexborExtractor | Html5libExtractor, charset: str, text: str
) -> None:
    body = page(text).encode(charset)
    found = extractor.links(body, "http://example.org/", "text/html")
    assert found.hrefs == [f"/{text[:5]}"]
    assert found.charset == SAID.get(charset, charset)


@each(("charset", "text"), UNDECLARED.items())
def test_what_is_plain_does_not_tell_the_charset(charset: str, text: str) -> None:
    """Long scripts before the first letters of a language; ISO-2022-JP is plain everywhere."""
    script = "<script>" + "var a = 1;" * 5_000 + "</script>"
    utf8, name = to_utf8(page(text, script).encode(charset), "text/html")
    assert (utf8.decode(), name) == (page(text, script), SAID.get(charset, charset))


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["plain", "Grüße", JAPANESE], ids=["plain", "western", "japanese"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["bare", "marked"])
def test_utf16_without_declaration(order: str, text: str, mark: str) -> None:
    for markup in (page(text), "\n<!DOCTYPE html>\n" + page(text), "<p>"):
        assert to_utf8((mark + markup).encode(order), "text/html")[0].decode() == markup


def test_zeros_alone_make_no_utf16() -> None:
    for body in (b"\0\0<p>\0a</p>", b"\0" * 2_000, b"\0", b"<p>a\0b</p>" * 100, b"\0<\0" + b"<p>a</p>" * 9):
        assert to_utf8(body, "text/html") == (body, "utf-8")


def test_utf8_is_handed_back_as_it_came() -> None:
    for body in (b"plain", page("Grüße, 이 페이지").encode(), b"declared \xff"):
        assert to_utf8(body, "text/html; charset=UTF-8")[0] is body
    for body in (b"plain", page("Grüße, 이 페이지").encode(), ("ü" * 65_535).encode(), "ü".encode()[:1]):
        utf8, charset = to_utf8(body, "text/html")
        assert utf8 is body
        assert charset == "utf-8"


LATIN, CYRILLIC = "grüße".encode("windows-1252"), RUSSIAN.encode("windows-1251")


@each(
    ("body", "header", "text", "charset"),
    [
        # a byte order mark is stronger than the header, the header than a <meta>
        (codecs.BOM_UTF8 + "ü".encode(), "text/html; charset=windows-1251", "ü", "utf-8"),
        (codecs.BOM_UTF16_LE + "grüße".encode("utf-16-le"), "text/html; charset=utf-8", "grüße", "utf-16le"),
        (codecs.BOM_UTF16_BE + "grüße".encode("utf-16-be"), "", "grüße", "utf-16be"),
        ("grüße".encode("utf-16-le"), "text/html;charset=utf-16", "grüße", "utf-16le"),
        (b"<meta charset=utf-8>\xec", 'text/html; Charset="cp1251"', "<meta charset=utf-8>м", "windows-1251"),
        (LATIN, "text/html; charset=iso-8859-1", "grüße", "windows-1252"),
        (b"<meta charset=latin1>" + LATIN, "text/html", "<meta charset=latin1>grüße", "windows-1252"),
        # a <meta> that could be read is not in UTF-16
        (b"<meta charset=utf-16>" + "ü".encode(), "", "<meta charset=utf-16>ü", "utf-8"),
        (b"<meta charset=x-user-defined>\x80", "", "<meta charset=x-user-defined>€", "windows-1252"),
        # labels that nobody knows, or nobody should use, are not there
        (CYRILLIC, "text/html; charset=nonsense", RUSSIAN, "windows-1251"),
        (b"plain", "text/html; charset=hz-gb-2312", "plain", "utf-8"),
        # more characters than Python's codec of that name has
        ("①髙".encode("cp932"), "text/html; charset=Shift_JIS", "①髙", "shift_jis"),
        ("똠방각하".encode("cp949"), "text/html; charset=ks_c_5601-1987", "똠방각하", "euc-kr"),
        ("鎔€".encode("gb18030"), "text/html; charset=gb2312", "鎔€", "gbk"),
        # lies never raise
        (b"a\xffb", "text/html; charset=utf-16", "\uff61\ufffd", "utf-16le"),
        (b"a\xff\xffb", "text/html; charset=euc-kr", "a\ufffd\ufffdb", "euc-kr"),
        (b"", "text/html; charset=big5", "", "big5"),
        (b"", "", "", "utf-8"),
    ],
)
def test_order_of_declarations(body: bytes, header: str, text: str, charset: str) -> None:
    utf8, name = to_utf8(body, header)
    assert (utf8.decode(), name) == (text, charset)


@each(
    ("charset", "body", "text"),
    [
        ("euc-jp", b"\xad\xa1\xa1\xc1\xa1\xdd\xa1\xc2\xf9\xa1\xad\xfc\xfc\xfb", "①～－∥纊∪￢"),
        ("euc-jp", b"\x8e\xb1\x8f\xb0\xa1\xb0\xa1\xff<\xad", "ｱ丂亜\ufffd<\ufffd"),
        ("iso-2022-jp", b"\x1b$B-!!A\x1b(B<\x1b(I1\x1b(J\\\x1b(B", "①～<ｱ¥"),
        ("shift_jis", b"\x87@\x81`\xfa\\\x81|", "①～纊－"),
        ("gbk", b"\x80\xa3\xa0\xd6\xd0\x81\x30\x81\x30\xff", "€\u3000中\x80\ufffd"),
        ("gb18030", b"\x80\xa2\xe3", "€€"),
        ("big5", b"\xa4\xa4\xa3\xe1\xa1\x45\xa1\xe3\xa2\x44\xa3\xc0\xc6\xdf\xff", "中€‧～￥␀仝\ufffd"),
        ("big5", b"\x87z\x87\x7b\x8e\x69\xa2A\xa2B\xa1\xa2A\x88\x62", "㡵𡵓箸∕﹨﹜AÊ̄"),
        ("big5", b"\x81\x80\x81<\xa4", "\ufffd\ufffd<\ufffd"),
        ("gb18030", b"\xa6\xd9\xfe\x59\xa8\xbc\x81\x35\xf4\x37", "\ufe10\u9fb4ḿ\ue7c7"),
        ("gb18030", b"\x84\x31\xa5\x30<\x81\xff\x81\x30<\x81\x30\x81", "\ufffd<\ufffd\ufffd0<\ufffd"),
        ("gbk", b"\xa6\xf3\xff6", "\ufe19\ufffd6"),
        (
            "euc-jp",
            b"\x8f\xa2\xb7\x8f\xa2\x95\x8e\x80\x8f\x80<\x8f\xa1<\x8f\xf2\xdd",
            "～\ufffd\ufffd\ufffd<\ufffd<\ufffd",
        ),
        (
            "shift_jis",
            b"\xa0\xfd\xfe\xffh\xeb\x80\x85\x92\x81<\x80",
            "\ufffd\ufffd\ufffd\ufffdh\ufffd\ufffd\ufffd<\x80",
        ),
        ("euc-kr", b"\xc7\xd1\xc9\x87\x81<", "한\ufffd\ufffd<"),
        # An escape is one wherever it stands: the character that it cuts is lost, and nothing else.
        ("iso-2022-jp", b"\x1b$B0\x1b(B cut<\x1b$B4A;z\x1b(B", "\ufffd cut<漢字"),
        ("iso-2022-jp", b"\x1b$B\n\x1b(B<\x1b$B\x1b(B\x1b(J~", "\ufffd<\ufffd\ufffd‾"),
        ("iso-2022-jp", b"\x1bx\x1b(I1\x05\x1b(B\x0e\xff\x1b$B0", "\ufffdxｱ\ufffd\ufffd\ufffd\ufffd"),
        ("iso-2022-jp", b"\x1b$B4A\n</p>\x1b", "漢\ufffd鹿霈\ufffd"),
        ("windows-1252", b"\x80\x81\x8d\xe9", "€\x81\x8dé"),
        ("windows-1253", b"\x81\xaa\xe1", "\x81\ufffdα"),
        ("windows-1255", b"\xca\xf9", "\u05baש"),
        ("koi8-u", b"\xae\xbe\xa4", "ўЎє"),
        ("x-user-defined", b"a\x80\xff", "a\uf780\uf7ff"),
    ],
)
def test_bytes_mean_what_they_mean_to_browsers(charset: str, body: bytes, text: str) -> None:
    assert to_utf8(body, f"text/html; charset={charset}") == (text.encode(), charset)


@pytest.mark.parametrize("charset", ["euc-jp", "gbk", "gb18030", "big5"])
def test_two_threads_may_meet_an_encoding_for_the_first_time_at_once(charset: str) -> None:
    """Each of them makes what knows its errors then, and Python calls the one that was made last."""
    header = f"text/html; charset={charset}"
    both = [_errors.__wrapped__(charset), _errors(charset)]
    for errors in (both[0], both[1], both[0]):
        codecs.register_error(errors.name, errors.meant)
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(to_utf8, b"<a href=1>\xff<", header).result()[0] == b"<a href=1>\xef\xbf\xbd<"


@pytest.mark.parametrize("charset", ["euc-jp", "iso-2022-jp", "gbk", "windows-1253"])
@pytest.mark.parametrize("junk", [b"\xff", b"\x80", b"\xad\xa1\xff"])
def test_a_body_of_errors_is_not_looked_up_for_ever(charset: str, junk: bytes) -> None:
    body, _ = to_utf8(b"<a href=1>" + junk * 2_000_000, f"text/html; charset={charset}")
    assert body.startswith(b"<a href=1>")


def test_what_was_decoded_is_encoded_back() -> None:
    for charset, written, asked in QUERIES:
        text, name = to_utf8(unquote_to_bytes(asked), f"text/html; charset={charset}")
        lossy = written in "¥‾−ḿ︐龴" or "%26%23" in asked
        if name == charset and not lossy and not name.startswith("utf-16"):
            assert text.decode() == written, charset


def test_declaration_beyond_the_prescan_is_better_than_a_guess() -> None:
    late = b"<!--" + b"x" * 2_000 + b"--><meta charset=koi8-r>"
    assert to_utf8(late + b"\xc1", "")[1] == "koi8-r"
    assert to_utf8(late + "ü".encode(), "")[1] == "utf-8"


@given(st.binary(max_size=300), st.sampled_from(["", "utf-16", "shift_jis", "gbk", "big5", "iso-2022-jp", "euc-jp"]))
def test_to_utf8_never_raises(body: bytes, label: str) -> None:
    utf8, name = to_utf8(body, f"text/html; charset={label}")
    assert name
    if name != "utf-8":
        utf8.decode()


_PIECES = (
    "<", ">", "/", "!", "--", "<!--", "-->", "=", "'", '"', " ", "<a title=", "<meta ", "<META/", "charset", "CHARSET",
    "charset=latin1", "charset='koi8-r'", "charset=nonsense", 'http-equiv="content-type" content="charset=gbk"',
    "<meta charset=utf-8>", "<meta charset=koi8-r", "<title>", "</title>",
    "<title>a page</title>", "x",
)  # fmt: skip


@settings(max_examples=700)
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join), st.integers(0, 1_030))
def test_what_follows_a_declaration_changes_nothing_of_it(markup: str, padding: int) -> None:
    start = (markup + " " * padding).encode()[:1_024]
    assert declared_in_meta(start) == _prescan(start)


def test_pages_that_begin_alike_and_go_on_differently_are_told_apart() -> None:
    """In the first page the <meta> is one, in the others it stands in a value, or in a comment, that begins before."""
    meta = b"<meta charset=koi8-r>"
    assert declared_in_meta(b"<p>" + meta + b"<p>") == "koi8-r"
    assert declared_in_meta(b"<p title='" + meta + b"'><meta charset=utf-8>") == "utf-8"
    assert declared_in_meta(b"<p title='" + meta) == ""
    assert declared_in_meta(b"<!--" + meta + b"--><meta charset=utf-8>") == "utf-8"
