"""Sitemaps and feeds: what they list, in which encodings, and what broken and hostile ones cost."""

from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.sitemaps import (
    BAD_XML,
    DECLARATIONS,
    MAX_URLS,
    TOO_DEEP,
    TOO_MANY_ELEMENTS,
    TOO_MANY_URLS,
    Listed,
    Sitemap,
    is_sitemap,
    read_sitemap,
)
from tests.tables import each

MAY_6 = 1_714_953_600_000  # 2024-05-06, in milliseconds
SITEMAPS = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
IMAGES = "<image:image><image:loc>http://h/i.png</image:loc></image:image><xhtml:link href='http://h/de'/>"
URLSET = f"""<?xml version="1.0" encoding="UTF-8"?><?xml-stylesheet href="x"?><!-- made by <urlset> -->
<urlset {SITEMAPS} xmlns:image="i" xmlns:xhtml="x"><loc>http://h/no</loc>
<url>{IMAGES}<loc>
  http://h/ü?a=1&amp;b=2 </loc><lastmod>2024-05-06</lastmod><priority>0.5</priority></url>
<url><lastmod>2024</lastmod></url><url><loc><![CDATA[http://h/2]]></loc><loc>http://h/no</loc></url>
</urlset>"""
INDEX = f"<s:sitemapindex {SITEMAPS.replace('xmlns', 'xmlns:s')}><s:sitemap><s:loc>/a.xml</s:loc></s:sitemap>"
INDEX += "</s:sitemapindex>"
RSS_2 = """<!DOCTYPE rss PUBLIC "-//X" "http://h/rss.dtd"><rss xmlns:atom="a"><channel><link>http://h/no</link>
<item><title>x &auml;</title><atom:link href="/no" rel="self"/><link>/1</link><pubDate>Mon, 06 May 2024 02:00:00 +0200
</pubDate></item></channel></rss>"""
RSS_1 = """<rdf:RDF xmlns:rdf="r" xmlns:dc="d"><channel><link>/no</link></channel><item rdf:about="/1"><link>/1</link>
<dc:date>2024-05-06T00:00:00Z</dc:date></item></rdf:RDF>"""
ATOM = """<feed><link href="/no"/><entry><link rel="edit" href="/no"/><link rel="alternate" href=" /1 "/>
<source><link href="/no"/></source><updated>2024-05-06T01:00:00+01:00</updated></entry></feed>"""
TEXT = "\n http://h/1\r\n\nhttps://h/2\t\nnot http://h/no\nftp://h/no\nHTTP://h/3"

ONE = [Listed("/1", MAY_6)]
KINDS = {
    "urlset": (URLSET, Sitemap(False, [Listed("http://h/ü?a=1&b=2", MAY_6), Listed("http://h/2", 0)])),
    "index": (INDEX, Sitemap(True, [Listed("/a.xml", 0)])),
    "rss2": (RSS_2, Sitemap(False, ONE)),
    "rss1": (RSS_1, Sitemap(False, ONE)),
    "atom": (ATOM, Sitemap(False, ONE)),
    "text": (TEXT, Sitemap(False, [Listed(url, 0) for url in ("http://h/1", "https://h/2", "HTTP://h/3")])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_listed(kind: str) -> None:
    text, expected = KINDS[kind]
    body = text.encode()
    zipped = gzip.compress(body)
    for stored, coding in ((body, ""), (zipped, "gzip"), (zipped, ""), (gzip.compress(zipped), "gzip")):
        assert read_sitemap(stored, coding, "") == expected
        assert is_sitemap(stored, coding, "text/plain")


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1", "cp1251"]
)
@pytest.mark.parametrize("by_header", [False, True])
def test_encodings(encoding: str, by_header: bool) -> None:
    letter = "ж" if encoding == "cp1251" else "ü"
    label = "windows-1251" if encoding == "cp1251" else encoding
    declaration = "" if by_header else f' encoding="{label}"'
    text = f'<?xml version="1.0"{declaration}?><urlset><url><loc>http://h/{letter}</loc></url></urlset>'
    content_type = f"application/xml; charset={label}" if by_header else "application/xml"
    assert read_sitemap(text.encode(encoding), "", content_type) == Sitemap(False, [Listed(f"http://h/{letter}", 0)])


@pytest.mark.parametrize("encoding", ["shift_jis", "gb18030", "euc-jp", "big5", "iso-2022-jp"])
def test_encodings_of_several_bytes(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><urlset><url><loc>http://h/日本</loc></url></urlset>'
    assert read_sitemap(text.encode(encoding), "", "text/xml") == Sitemap(False, [Listed("http://h/日本", 0)])


def test_invalid_bytes_are_no_end() -> None:
    body = b"  \n<urlset><url><loc>/\xff</loc></url><url><loc>/2</loc></url></urlset>"
    assert read_sitemap(body, "", "") == Sitemap(False, [Listed("/\ufffd", 0), Listed("/2", 0)])


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<!DOCTYPE html><html><a href=x>", "text/html"),
        ("http://h/1\nhttp://h/2", "text/html"),
        ("see http://h/1", "text/plain"),
        ("User-agent: *\nSitemap: http://h/x", "text/plain"),
        ("<svg><urlset/></svg>", "image/svg+xml"),
        ("", ""),
        ("\0", ""),
    ],
)
def test_what_is_none(body: str, content_type: str) -> None:
    assert read_sitemap(body.encode(), "", content_type) is None
    assert not is_sitemap(body.encode(), "", content_type)


ENTRY = "<url><loc>/1</loc></url>"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BROKEN = {
    "cut": (f"<urlset>{ENTRY}<url><loc>/2", BAD_XML, 1),
    "bad-tag": (f"<urlset>{ENTRY}</b>{ENTRY}", BAD_XML, 2),
    "unknown-entity": (f"<urlset>{ENTRY}<url><loc>&nbsp;", BAD_XML, 1),
    "laughs": (f'<!DOCTYPE urlset [<!ENTITY l0 "ha">{LAUGHS}]><urlset><url><loc>&l9;', DECLARATIONS, 0),
    "file": ('<!DOCTYPE urlset [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;', DECLARATIONS, 0),
    "parameter": ('<!DOCTYPE urlset [<!ENTITY % p SYSTEM "http://h/">%p;]><urlset>', DECLARATIONS, 0),
    "attributes": ("<!DOCTYPE urlset [<!ATTLIST a b CDATA 'c'>]><urlset>", DECLARATIONS, 0),
    "deep": (f"<urlset>{ENTRY}{'<a>' * 1_000_000}", TOO_DEEP, 1),
    "elements": (f"<urlset>{ENTRY}{'<a/>' * 2_000_001}{ENTRY}", TOO_MANY_ELEMENTS, 1),
    "urls": ("<urlset>" + ENTRY * (MAX_URLS + 1), TOO_MANY_URLS, MAX_URLS),
    "lines": ("http://h/\n" * (MAX_URLS + 1), TOO_MANY_URLS, MAX_URLS),
    "long-url": (f"<urlset><url><loc>{'x' * 1_000_000}</loc></url>{ENTRY}</urlset>", "", 1),
    "long-attribute": (f"<urlset a='{'x' * 10_000_000}'>{ENTRY}</urlset>", "", 1),
}


LOOSE = {  # a whole entry with something wrong -> what it lists
    "ampersand": ("<url><loc>http://h/?a=1&b=2</loc></url>", ["http://h/?a=1&b=2"]),
    "like-a-reference": ("<url><loc>http://h/?a&copy=2&amp;b&lt=3</loc></url>", ["http://h/?a&copy=2&b&lt=3"]),
    "undeclared": ("<url><loc>/&eacute;&quux;&#xe9;&#233;&#0;</loc></url>", ["/é&quux;éé\ufffd"]),
    "in-cdata": ("<url>&<loc><![CDATA[/?a&amp;b]]></loc></url>", ["/?a&amp;b"]),
    "control": ("<url><loc>/a</loc><lastmod>\x0b\x1b</lastmod></url>", ["/a"]),
    "not-closed": ("<url><loc>/a</url><url><loc>/b</loc><url><loc>/c</loc></url>", ["/a", "/b", "/c"]),
    "not-opened": ("</url></loc><url></b><loc>/a</loc></url>", ["/a"]),
    "upper-end": ("<url><loc>/a</LOC></loc></url>", ["/a"]),
    "angle": ("<url><loc>/a</loc><note>1 < 2 <3</note></url>", ["/a"]),
    "attribute": ("<url a=b c><loc a=b>/a</loc></url>", ["/a"]),
    "attribute-twice": ("<url a='b' a='c'><loc>/a</loc></url>", ["/a"]),
    "comment": ("<!-- a -- b --><url><loc>/<!-- & -->a</loc></url>", ["/a"]),
    "declaration": ("<?xml version='1.0'?><url><loc>/a</loc></url>", ["/a"]),
}


@each("kind", LOOSE)
def test_a_flaw_costs_nothing_but_itself(kind: str) -> None:
    flawed, urls = LOOSE[kind]
    text = f"<?xml version='1.0'?><urlset {SITEMAPS}>{ENTRY}{flawed}{ENTRY}</urlset>"
    found = read_sitemap(text.encode(), "", "text/xml")
    assert found is not None
    assert (found.note, [one.url for one in found.listed]) == (BAD_XML, ["/1", *urls, "/1"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_what_is_read_loosely_lists_what_is_read_strictly(kind: str) -> None:
    text, expected = KINDS[kind]
    assert read_sitemap(f"{text}&".encode(), "", "") == expected._replace(note=BAD_XML)


@pytest.mark.parametrize(
    "piece",
    ["<", "<a", "<a ", "<!--", "<![CDATA[", "<!", "<?", "&", "<a b='", "</", "<url><loc>", "a", " ", "'", "=", 'a="'],
)
def test_reading_loosely_takes_linear_time(piece: str) -> None:
    def seconds(times: int) -> float:
        text = f"<urlset>{ENTRY}&{piece * times}><a {piece * times}>{piece * times}"
        begin = time.thread_time()
        found = read_sitemap(text.encode(), "", "")
        assert found is not None
        assert found.listed[:1] == [Listed("/1", 0)]
        return time.thread_time() - begin

    # The machine may be busy with other things in one measurement, not in each.
    assert any(seconds(40_000) < 8 * 4 * seconds(5_000) + 0.1 for _ in range(5))


@pytest.mark.parametrize("kind", BROKEN)
def test_what_came_before_the_break_is_kept_with_a_note(kind: str) -> None:
    text, note, urls = BROKEN[kind]
    begin = time.thread_time()
    found = read_sitemap(text.encode(), "", "text/plain")
    assert time.thread_time() - begin < 30  # of CPU; about 1 s
    assert found is not None
    assert (found.note, len(found.listed)) == (note, urls)


def test_nothing_beyond_the_limits_is_decoded() -> None:
    text = f"<urlset>{ENTRY}" + " " * (60 << 20)
    bomb = gzip.compress(text.encode(), 1)
    for stored, coding in ((bomb, ""), (bomb, "gzip"), (gzip.compress(bomb), "gzip")):
        found = read_sitemap(stored, coding, "")
        assert found == Sitemap(False, [Listed("/1", 0)], "decoded-too-large")
    assert read_sitemap(gzip.compress(URLSET.encode()), "", "", max_bytes=40) is None


@given(
    st.lists(st.sampled_from([*"<>/&;!['\" \n", "urlset", "<url>", "<loc>", "</loc>", "<!--", "<?xml", "feed", "é"]))
)
def test_any_text_is_read_or_is_none(parts: list[str]) -> None:
    for start in ("", "<urlset>", "http://h/"):
        found = read_sitemap((start + "".join(parts)).encode("utf-16" if len(parts) % 2 else "utf-8"), "", "")
        assert found is None or all(one.url for one in found.listed)


@pytest.mark.parametrize("date", ["1969", "yesterday", ""])
def test_what_is_no_date_of_a_change_is_not_told(date: str) -> None:
    text = f"<urlset><url><loc>http://h/1</loc><lastmod>{date}</lastmod></url></urlset>"
    assert read_sitemap(text.encode(), "", "") == Sitemap(False, [Listed("http://h/1", 0)])


LENIENT = {
    "guid": ("<rss><channel><item><guid>http://h/1</guid></item><item><guid>http://h/no</guid><link>/2</link></item>"
             "<item><guid isPermaLink='false'>http://h/no</guid></item><item><guid>tag:1</guid></item></channel></rss>",
             ["http://h/1", "/2"]),
    "bases": ("<feed xml:base='http://h/x/'><entry xml:base='y/'><link href='1'/></entry>"
              "<entry><link href='2'/></entry><entry><link xml:base='/z/' href='3'/></entry><entry><link href='http://o/4'/></entry></feed>",
              ["http://h/x/y/1", "http://h/x/2", "http://h/z/3", "http://o/4"]),
    "relative-base": ("<feed xml:base='x/'><entry><link href='1'/></entry></feed>", ["x/1"]),
    "bad-base": ("<feed xml:base='http://['><entry><link href='1'/></entry></feed>", ["1"]),
    "bare": ("<sitemapindex><sitemap>\nhttp://h/s?a=1&amp;b=2\n</sitemap><sitemap><loc>/t</loc></sitemap></sitemapindex>",
             ["http://h/s?a=1&b=2", "/t"]),
    "bare-and-raw": ("<urlset><url>http://h/1?a&b</url><url>words</url><url>http://h/2<lastmod>2024</lastmod></url></urlset>",
                     ["http://h/1?a&b", "http://h/2"]),
    "bare-and-loc": ("<urlset><url>http://h/no<loc>/1</loc></url></urlset>", ["/1"]),
    "capitals": ("<URLSET><URL><LOC>/1</LOC></URL><Url><Loc>/2</Loc></Url></URLSET>", ["/1", "/2"]),
    "capitals-in-feed": ("<FEED><ENTRY><LINK HREF='/1' REL='alternate'/></ENTRY></FEED>", ["/1"]),
    "carriage-returns": ("http://h/1\rhttp://h/2\r\rhttp://h/3", ["http://h/1", "http://h/2", "http://h/3"]),
    "all-line-ends": ("http://h/1\r\nhttp://h/2\nhttp://h/3\r", ["http://h/1", "http://h/2", "http://h/3"]),
}  # fmt: skip


@each(("text", "urls"), LENIENT.values())
def test_what_others_read_is_read(text: str, urls: list[str]) -> None:
    content_type = "text/plain" if text.startswith("http") else "text/xml"
    assert is_sitemap(text.encode(), "", content_type)
    found = read_sitemap(text.encode(), "", content_type)
    assert found is not None
    assert [one.url for one in found.listed] == urls
