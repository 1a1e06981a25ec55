"""What stands in the bodies: pages, robots.txt files and sitemaps, odd already before they are damaged."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.mutate import TOKENS, maybe

CHARSETS = (
    "utf-8", "iso-8859-1", "windows-1252", "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr",
    "utf-16", "utf-16le", "utf-16be", "utf-7", "utf-32", "koi8-r", "x-user-defined", "replacement", "hz-gb-2312",
    "iso-2022-kr", "macintosh", "x-mac-cyrillic", "tis-620", "nosuch", "", "undefined", "idna", "punycode", "base64",
    "unicode_escape", "rot13", "zlib", "hex", "mbcs", "utf-8-sig", "utf_8", "\u0130so-8859-9", "cp037",
)  # fmt: skip
_TEXTS = ("text", "中文", "Ünïcödé", "日本語", "\ud7ff\ue000", "🙂", "\u202e", "א", "\x80\x9f", "ﬀ", "İ", "ſ")
URLS = (
    "", "#", "?", "?a=b", "/", "//", "///", "//[::1]/", "http://", "http:/", "http:x", "https://a.test:0/", "/a b",
    "http://a.test:99999/", "http://[::1", "http://[fe80::1%25eth0]/", "http://0x7f.1/", "http://1.2.3.4.5/",
    "http://xn--/", "http://xn--a/", "http://a..b/", "http://\u200d/", "http://ａ.test/", "/%", "/%0", "/%00", "/%ff",
    "http://user:pw@a.test/", "javascript:1", "data:,x", "mailto:a@b", "ftp://a.test/", "\\\\a.test\\b", "/a/../../b",
    "/a/./b/..", "/\x01", "/\u2028", "/中文?q=中文#中文", "/\ud7ff", "?" + "&".join(f"a{n}={n}" for n in range(40)),
    "/" + "x" * 3000, "/" + "a/" * 60, "http://" + "a" * 70 + ".test/", "http://" + "a." * 130 + "test/", "/%E4%B8",
    "http://a.test\t/", " /x ", "/\n/x", "http:\\\\a.test", "//a.test:80/", "/;x=1;y", "/?jsessionid=1", "/*", "/$",
)  # fmt: skip
_ELEMENTS = (
    '<a href="{u}">{t}</a>', "<a href={u}>{t}", "<a href='{u}' rel='nofollow ugc'>", '<area href="{u}">',
    '<base href="{u}">', '<link rel=canonical href="{u}">', '<link rel="stylesheet" href="{u}">',
    '<frame src="{u}">', '<iframe src="{u}" srcdoc="&lt;a href=x>">', '<img src="{u}" srcset="{u} 2x, {u} 1x,,{u}">',
    '<meta http-equiv=refresh content="0;url={u}">', '<meta http-equiv="refresh" content="{u}">',
    '<meta name=robots content="noindex,nofollow,{t}">', '<meta charset="{c}">', "<meta charset={c}",
    '<meta http-equiv="Content-Type" content="text/html; charset={c}">', "<svg><a xlink:href='{u}'></svg>",
    "<math><mi><a href='{u}'><p></math>", "<template><a href='{u}'></template>", "<noscript><a href='{u}'></noscript>",
    "<script>'<a href={u}>'</script>", "<script><!--<script></script>", "<style>a{{b}}</style>", "<textarea>{t}",
    "<title>{t}", "<plaintext>", "<table><tr><td><a href='{u}'><table>", "<select><option><a href='{u}'>",
    "<form action='{u}'><a href='{u}'>", "<!--{t}--><!--", "<!-->", "<![CDATA[{t}]]>", "<?php {t} ?>", "<b><i></b></i>",
    "<button><button>", "</p></br></body></html>", "<frameset>", "<object data='{u}'>", "<embed src='{u}'>",
    '<a href="{u}&#x{n};&amp;&nosuch;&not{t}">', "<a{t}{t}={u}>", "<html manifest={u}><body><html lang={t}>",
    "<dl><dt><dd><li>", "<nobr><nobr>", "<a><a><a href='{u}'>", "<video poster={u}><source src={u}>", "&{t};&#{n};",
)  # fmt: skip


def url(chance: Random) -> str:
    """Return a URL, mostly a bad one, sometimes that of another case."""
    if chance.random() < 0.3:
        return f"/case/{chance.randrange(100)}"
    return chance.choice(URLS)


def encode(chance: Random, text: str) -> bytes:
    """Encode a text as some charset would have it."""
    name = chance.choice(("utf-8", "utf-8", "gbk", "shift_jis", "utf-16", "utf-16-le", "latin-1", "iso2022_jp"))
    return text.encode(name, chance.choice(("replace", "ignore", "xmlcharrefreplace")))


def html(chance: Random) -> bytes:
    """Return a page."""
    parts = [
        chance.choice(("<!DOCTYPE html>", "", "\ufeff", "<?xml version='1.0' encoding='x'?>", "<!DOCTYPE x [<!--"))
    ]
    for _ in range(chance.randint(0, 25)):
        values = {"u": url(chance), "t": chance.choice(_TEXTS), "c": chance.choice(CHARSETS), "n": chance.randrange(99)}
        parts.append(chance.choice(_ELEMENTS).format(**values))
    if chance.random() < 0.02:
        parts.append(chance.choice(("<div>", "<b><p>", "<a href=x>", "</p>", "<svg><g>")) * chance.randint(1, 3000))
    if chance.random() < 0.1:
        parts.append(f"{chance.choice(_TEXTS)} words of a text {chance.randrange(9)} that goes on " * 40)
    return maybe(chance, encode(chance, "".join(parts)), 0.5)


def xml_page(chance: Random) -> bytes:
    """Return a page in XHTML, a feed or an image, whatever its type says."""
    root = chance.choice(("html", "svg", "rss", "feed", "x:html"))
    namespace = chance.choice((' xmlns="http://www.w3.org/1999/xhtml"', "", ' xmlns:x="y"', ' xmlns="http://['))
    inner = "".join(f'<a href="{url(chance)}"/><title/>{chance.choice(_TEXTS)}' for _ in range(5)).replace("&", "&amp;")
    declared = f'<?xml version="1.{chance.randrange(3)}" encoding="{chance.choice(CHARSETS)}"?>'
    entity = chance.choice(("", "<!DOCTYPE html [<!ENTITY a 'b'>]>", "<!DOCTYPE html SYSTEM 'file:///etc/passwd'>"))
    return maybe(chance, encode(chance, f"{declared}{entity}<{root}{namespace}>{inner}</{root}>"), 0.4)


def noise(chance: Random) -> bytes:
    """Return bytes that are no document."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.randbytes(chance.randrange(2000))
    if kind == 1:
        return b"".join(chance.choices(TOKENS, k=chance.randrange(60)))
    return b"" if kind == 2 else b"<" * chance.randrange(5000)


_ROBOTS_LINES = (
    "User-agent: *", "User-agent: SCrawler-fuzz", "user-agent:*", "User-agent", "User-agent: ", "USER-AGENT : x/1.0",
    "Allow: /", "Disallow:", "Disallow: /private/", "Disallow: /*.php$", "Disallow: " + "*a" * 100, "Disallow: /%",
    "Disallow: /%zz%00", "Disallow: /中文", "Allow: $", "Allow: *", "Allow: /good*$$", "Disallow: " + "x" * 9000,
    "Crawl-delay: 0", "Crawl-delay: -1", "Crawl-delay: nan", "Crawl-delay: inf", "Crawl-delay: 1e-400",
    "Crawl-delay: 0.0000001", "Crawl-delay: ٣", "Crawl-delay:" + "0" * 5000, "Crawl-delay: 1_0", "Crawl-delay: 0x1",
    "Request-rate: 1/5", "Visit-time: 0600-0845", "Host: a.test", "# comment", "\ufeff", "nonsense", ":", "::", "",
    "Sitemap: /map/0.xml", "Sitemap: http://[", "Sitemap:", "Sitemap: \x00", "Sitemap: ftp://x/", "Clean-param: a /",
)  # fmt: skip


def robots(chance: Random) -> bytes:
    """Return a robots.txt."""
    end = chance.choice(("\n", "\r\n", "\r", "\n\n", "\x85", "\u2028"))
    return maybe(chance, encode(chance, end.join(chance.choices(_ROBOTS_LINES, k=chance.randint(0, 25)))), 0.5)


def _date(chance: Random) -> str:
    dates = ("2024-01-01", "2024-13-45T99:99:99Z", "0000-00-00", "99999-01-01", "Mon, 01 Jan 2024 00:00:00 GMT", "-1")
    return chance.choice((*dates, "2024-02-30", "2024-01-01T00:00:00+99:99", "1970-01-01T00:00:00-23:59", "9" * 400))


def sitemap(chance: Random) -> bytes:
    """Return a sitemap, an index of sitemaps, a feed or a list of URLs."""
    if chance.random() < 0.1:
        lines = [f"http://a.test{url(chance)}" for _ in range(20)]
        return maybe(chance, encode(chance, "\n".join(lines)), 0.5)
    root, entry = chance.choice((("urlset", "url"), ("sitemapindex", "sitemap"), ("rss><channel", "item")))
    if chance.random() < 0.2:
        root, entry = chance.choice((("feed", "entry"), ("x:urlset", "x:url"), ("rdf:RDF", "item"), ("urlset", "loc")))
    entries = []
    for _ in range(chance.randint(0, 12)):
        raw = url(chance)
        text = raw if chance.random() < 0.3 else raw.replace("&", "&amp;")
        link = chance.choice((f"<loc>{text}</loc>", f"<link>{text}</link>", f"<link href='{text}'/>", "<loc/>"))
        entries.append(f"<{entry}>{link}<lastmod>{_date(chance)}</lastmod><updated>{_date(chance)}</updated></{entry}>")
    declared = chance.choice(("", f'<?xml version="1.0" encoding="{chance.choice(CHARSETS)}"?>'))
    doctype = chance.choice(("", "", "", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "<!-- x -->", "<?pi?>"))
    text = f"{declared}{doctype}<{root}>{''.join(entries)}</{root.partition('>')[0]}>"
    return maybe(chance, encode(chance, text), 0.5)


PAGES: tuple[Callable[[Random], bytes], ...] = (html, html, html, html, xml_page, sitemap, robots, noise)
