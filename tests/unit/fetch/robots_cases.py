"""robots.txt files as data: what each allows to the crawler TOKEN, path by path."""

from __future__ import annotations

import codecs
from typing import NamedTuple

TOKEN = "FooBot"


class Case(NamedTuple):
    """A file, and the verdict on some paths: True is allowed."""

    name: str
    body: bytes
    verdicts: dict[str, bool]


def case(name: str, text: str | bytes, **verdicts: str) -> Case:
    """Make a case of paths between blanks: those of `allowed` and those of `denied`."""
    body = text if isinstance(text, bytes) else text.encode()
    sides = {"allowed": True, "denied": False}
    return Case(name, body, {path: sides[side] for side, paths in verdicts.items() for path in paths.split()})


_SIMPLE = """User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: {}
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: {}
Disallow: /example/page.html

User-Agent: {}

EOF
"""
_ALL = "User-agent: *\n"
_X = "User-agent: *\nDisallow: /x"

RFC_9309 = [
    case("5.1 everybody", _SIMPLE.format("a", "b", "c"),
         allowed="/ /publications/a.gif /a.gif?x /a.gif.html /examples /publications/",
         denied="/example/ /example/page.html /a.gif /b/c.gif"),
    case("5.1 foobot", _SIMPLE.format("foobot", "b", "c"),
         allowed="/example/page.html /example/allowed.gif /example/page.html?x /robots.txt",
         denied="/ /publications/ /example/ /example/other.gif"),
    case("5.1 bazbot", _SIMPLE.format("a", "foobot", "c"),
         allowed="/ /example/ /a.gif /example/page", denied="/example/page.html /example/page.html5"),
    case("5.1 quxbot", _SIMPLE.format("a", "b", "foobot"), allowed="/ /example/page.html /a.gif"),
    case("5.2 longest match",
         "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
         allowed="/example/page/ /example/page/allowed.gif /example/page/disallowed /",
         denied="/example/page/disallowed.gif"),
    case("2.2.1 groups of one name are one",
         "user-agent: FooBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: FooBot\ndisallow: /baz\n"
         "user-agent: *\ndisallow: /all\n",
         allowed="/ /all", denied="/foo /bar /baz"),
    case("2.2.1 everybody's group is for those whom no group names",
         "user-agent: *\ndisallow: /foo\ndisallow: /bar\nuser-agent: BazBot\ndisallow: /baz\n",
         allowed="/baz", denied="/foo /bar"),
    case("2.2.1 no group at all", "user-agent: BazBot\ndisallow: /baz\n", allowed="/baz /"),
    case("2.2.1 any case", "USER-AGENT: fOObOT\nDISALLOW: /x\nallow: /x/y\n", allowed="/x/y", denied="/x"),
    case("2.2.1 part of a name is no name",
         "User-agent: foo\nUser-agent: bot\nUser-agent: myfoobot\nUser-agent: foobots\nUser-agent: foobot-images\n"
         "Disallow: /x\n\nUser-agent: *\nDisallow: /y",
         allowed="/x", denied="/y"),
    case("2.2.1 with a version", "User-agent: FooBot/2.1 (like Bar)\nDisallow: /x", allowed="/", denied="/x"),
    case("2.2.1 a star behind the name", "User-agent: FooBot*\nDisallow: /x", allowed="/", denied="/x"),
    case("2.2.2 query", f"{_ALL}Disallow: /foo/bar?baz=quz",
         allowed="/foo/bar /foo/bar?baz=qux", denied="/foo/bar?baz=quz /foo/bar?baz=quz&a /foo/bar?baz=quzz"),
    case("2.2.2 reserved characters", f"{_ALL}Disallow: /foo/bar?baz=https://foo.bar",
         allowed="/foo/bar?baz=https:foo.bar",
         denied="/foo/bar?baz=https://foo.bar /foo/bar?baz=https%3A%2F%2Ffoo.bar /foo/bar?baz=https%3a%2f%2ffoo.bar"),
    case("2.2.2 reserved characters, encoded", f"{_ALL}Disallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar",
         denied="/foo/bar?baz=https://foo.bar /foo/bar?baz=https%3A%2F%2Ffoo.bar"),
    case("2.2.2 beyond ASCII", f"{_ALL}Disallow: /foo/bar/\u30c4",
         allowed="/foo/bar/%E3%83%85", denied="/foo/bar/%E3%83%84 /foo/bar/%e3%83%84"),
    case("2.2.2 beyond ASCII, encoded", f"{_ALL}Disallow: /foo/bar/%E3%83%84",
         allowed="/foo/bar/%E3%83", denied="/foo/bar/%E3%83%84 /foo/bar/%e3%83%84/x"),
    case("2.2.2 needlessly encoded", f"{_ALL}Disallow: /foo/bar/%62%61%7A",
         allowed="/foo/bar/ba", denied="/foo/bar/baz /foo/bar/%62%61%7A /foo/bar/%62az"),
    case("2.2.2 letters have their case", f"{_ALL}Disallow: /Foo", allowed="/foo /FOO", denied="/Foo"),
    case("2.2.2 the one that allows wins", f"{_ALL}Disallow: /page\nAllow: /page", allowed="/page /page1"),
    case("2.2.2 robots.txt itself", f"{_ALL}Disallow: /", allowed="/robots.txt /robots.txt?x", denied="/ /robots.txt2"),
    case("2.2.3 comments", "# a\nUser-agent: * # b\n#Disallow: /a\nDisallow: /b # c\nDisallow: /c#d\n",
         allowed="/a", denied="/b /c"),
    case("2.2.3 end", f"{_ALL}Disallow: /this/path/exactly$",
         allowed="/this/path/exactly/ /this/path/exactly?x", denied="/this/path/exactly"),
    case("2.2.3 star", f"{_ALL}Disallow: /this/*/exactly",
         allowed="/this/exactly", denied="/this//exactly /this/a/b/exactly /this/path/exactly1"),
    case("2.2.3 star and end, meant as such", f"{_ALL}Disallow: /path/file-with-a-%2A.html\nDisallow: /path/foo-%24",
         allowed="/path/file-with-a-b.html /path/foo-", denied="/path/file-with-a-*.html /path/foo-$ /path/foo-%24x"),
    case("2.2.4 unknown lines end no group",
         "User-agent: BazBot\nSitemap: http://h/s.xml\nHost: h\nClean-param: x /y\nUser-agent: FooBot\nNoindex: /n\n"
         "Disallow: /x\nSitemaps: none\nDisallow: /y\n",
         allowed="/n", denied="/x /y"),
    case("2.2.4 nor does a pause between the names",
         "User-agent: FooBot\nCrawl-delay: 10\nUser-agent: BazBot\nDisallow: /private/\n",
         allowed="/", denied="/private/ /private/x"),
    case("2.2.4 nor do many lines of others",
         "User-agent: FooBot\nRequest-rate: 1/5\nVisit-time: 0600-0845\nCrawl-delay\nHost: h\n\n# a\nCrawl-delay: x\n"
         "Sitemap: http://h/s.xml\nUser-agent: BazBot\nNoindex: /\nDisallow: /x\n\nUser-agent: BazBot\nDisallow: /y\n",
         allowed="/y", denied="/x"),
    case("2.2.4 a pause after a rule keeps the group closed",
         "User-agent: FooBot\nDisallow: /x\nCrawl-delay: 10\nUser-agent: BazBot\nDisallow: /y\n",
         allowed="/y", denied="/x"),
]  # fmt: skip

HARD = [
    case("empty", b"", allowed="/ /x"),
    case("one line end", b"\n", allowed="/ /x"),
    case("HTML", "<!DOCTYPE html>\n<html><head>\n<title>User-agent: *</title>\n<p>Disallow: /x</p>\n", allowed="/ /x"),
    case("a name and nothing else", "User-agent: FooBot", allowed="/ /x"),
    case("names of many, rules of none", "User-agent: FooBot\nUser-agent: *\n", allowed="/ /x"),
    case("rules before any group", f"Disallow: /a\nAllow: /b\n{_X}", allowed="/a", denied="/x"),
    case("no final line end", _X, allowed="/", denied="/x"),
    case("CR LF", _X.replace("\n", "\r\n") + "\r\nDisallow: /y\r\n", allowed="/", denied="/x /y"),
    case("CR", _X.replace("\n", "\r") + "\rDisallow: /y\r", allowed="/", denied="/x /y"),
    case("other line ends are none", "User-agent: *\nDisallow: /x\u2028Allow: /x\n", allowed="/x"),
    case("blanks and tabs", " \t User-agent \t : \t * \t\n\t Disallow\t:\t/x\t \n", allowed="/", denied="/x"),
    case("empty lines in a group", "User-agent: *\n\n\nDisallow: /a\n\n\nDisallow: /b\n", denied="/a /b"),
    case("UTF-8 mark", codecs.BOM_UTF8 + _X.encode(), allowed="/", denied="/x"),
    case("half a UTF-8 mark", b"\xef\xbb" + _X.encode(), allowed="/", denied="/x"),
    case("a star, and words behind it", "User-agent: * (all)\nDisallow: /x", allowed="/", denied="/x"),
    case("a star with letters is a name", "User-agent: *bot\nDisallow: /x", allowed="/ /x"),
    case("two UTF-8 marks", codecs.BOM_UTF8 * 2 + _X.encode(), allowed="/", denied="/x"),
    case("UTF-16 LE", codecs.BOM_UTF16_LE + _X.encode("utf-16-le"), allowed="/", denied="/x"),
    case("UTF-16 BE", codecs.BOM_UTF16_BE + f"{_X}\n\u30c4".encode("utf-16-be"), allowed="/", denied="/x"),
    case("UTF-16 LE without a mark", _X.encode("utf-16-le"), allowed="/", denied="/x"),
    case("UTF-16 BE without a mark", _X.encode("utf-16-be"), allowed="/", denied="/x"),
    case("Latin-1", f"# f\xfcr alle\n{_ALL}Disallow: /caf\xe9\n".encode("latin-1"),
         allowed="/caf /caf%EF%BF%BD /caf%C3%A9 /caf%E8", denied="/caf%E9 /caf%e9/x"),
    case("bytes of no text", b"\xff\x00\xfe\nUser-agent: *\nDisallow: /x\n\x00\x80", allowed="/", denied="/x"),
    case("zeros", bytes(1000), allowed="/ /x"),
    case("Disallow of nothing", f"{_ALL}Disallow:\n", allowed="/ /x"),
    case("Disallow of nothing, and Allow", f"{_ALL}Disallow:\nAllow: /a\n", allowed="/ /a /x"),
    case("Disallow of a blank and a comment", f"{_ALL}Disallow: # /\n", allowed="/ /x"),
    case("Disallow of nothing ends the names", "User-agent: a\nDisallow:\nUser-agent: *\nDisallow: /x", denied="/x"),
    case("Disallow of all but", f"{_ALL}Disallow: /\nAllow: /a\nAllow: /$\n", allowed="/ /a /ab", denied="/b /?x"),
    case("Disallow of a star", f"{_ALL}Disallow: *\n", denied="/ /x /x?y", allowed="/robots.txt"),
    case("%2F is no slash in a path", f"{_ALL}Disallow: /a%2Fb\nDisallow: /c/d\n",
         allowed="/a/b /c%2Fd", denied="/a%2Fb /a%2fb /c/d"),
    case("%3F begins no query", f"{_ALL}Disallow: /a?b\nDisallow: /c%3Fd\n",
         allowed="/a%3Fb /c?d", denied="/a?b /c%3Fd /c%3fd"),
    case("encoded beside a star", f"{_ALL}Disallow: /*%2Fx\nDisallow: /*u=a/y\nDisallow: /*%7Ez\n",
         allowed="/a/x /b?u=a%2Fy", denied="/a%2Fx /b?u=%2fx /c?u=a/y /~z /a?%7ez"),
    case("blanks in a path", f"{_ALL}Disallow: /a b\n", allowed="/ab /a", denied="/a%20b"),
    case("half an escape", f"{_ALL}Disallow: /a%\nDisallow: /b%4\nDisallow: /c%zz\n",
         allowed="/a /b4", denied="/a% /b%4 /b%4x /c%zz"),
    case("%25 is decoded once", f"{_ALL}Disallow: /a%2541\n", allowed="/aA /a%41", denied="/a%2541"),
    case("$ in the middle", f"{_ALL}Disallow: /a$b\n", allowed="/a /ab", denied="/a$b /a%24bc"),
    case("$ twice", f"{_ALL}Disallow: /a$$\n", allowed="/a /a$b", denied="/a$"),
    case("$ alone", f"{_ALL}Disallow: $\n", allowed="/ /x"),
    case("* and $ at the end", f"{_ALL}Disallow: /a*$\n", allowed="/", denied="/a /ab /a/b?c"),
    case("many stars", f"{_ALL}Disallow: /a***b****c\n", allowed="/ab /acb", denied="/abc /axbyc /abcd"),
    case("parts do not overlap", f"{_ALL}Disallow: /ab*ba$\nDisallow: /c*cd*d\n",
         allowed="/aba /abab /ccd", denied="/abba /abxba /ccdd /cxcdxdx"),
    case("a star at the end adds to the length", f"{_ALL}Disallow: /a*\nAllow: /a\n", denied="/a /ab"),
    case("length counts, not order", f"{_ALL}Allow: /\nDisallow: /a\nAllow: /a/b\nDisallow: /*/b/c\n",
         allowed="/ /a/b", denied="/a /a/c /a/b/c"),
    case("equally long, with and without a star", f"{_ALL}Disallow: /a*c\nAllow: /abc\nAllow: /d*f\nDisallow: /def\n",
         allowed="/abc /def", denied="/axc"),
    case("length is that of the octets, whatever they are",
         f"{_ALL}Allow: /*?\nDisallow: /app\nAllow: /*%C3%A9\nDisallow: /12345678\n",
         allowed="/ap? /app%C3%A9", denied="/app?a /12345678%C3%A9"),
    case("an index is not its folder", f"{_ALL}Disallow: /\nAllow: /a/index.html\n",
         allowed="/a/index.html /a/index.html?x", denied="/a/ /a /"),
    case("an end is no $", f"{_ALL}Disallow: /a$\nDisallow: /b*c$\n", allowed="/a$b /a%24 /bc%24", denied="/a /bc"),
    case("a star in a path is one", f"{_ALL}Disallow: /a%2Ab*c\n", allowed="/axb-c", denied="/a*bc /a%2ab%2A*c"),
    case("an end is longer", f"{_ALL}Allow: /a\nDisallow: /a$\n", allowed="/ab", denied="/a"),
    case("a short path is not mistaken for a long one", f"{_ALL}Allow: /a\nAllow: /abcdefgh\nDisallow: /*a$\n",
         allowed="/abcdefgh /ab", denied="/a /aba"),
    case("no slash in front", f"{_ALL}Disallow: x\nDisallow: http://h/y\nDisallow: .gif\n", allowed="/x /y /a.gif"),
    case("without colons", "user agent *\ndisalow /x\nuser  agent FooBot2\nallow /x", allowed="/", denied="/x"),
    case("misspelt", "useragent: *\nDissallow: /a\nDisalow: /b\nDisallaw: /c\nAlow: /a/b\n", denied="/a /b /c /a/b"),
    case("queries", f"{_ALL}Disallow: /*?\nAllow: /*?page=\n", allowed="/a /a?page=2", denied="/a? /a?b /a?b&page=1"),
    case("a query behind the root", f"{_ALL}Disallow: /?\n", allowed="/ /a?b", denied="/? /?a"),
    case("the name's group holds, wherever it stands", f"{_X}\n\nUser-agent: FooBot\nDisallow: /y\n\n{_X}2\n",
         allowed="/x /x2", denied="/y"),
    case("everybody's groups are one, too", f"{_X}\nUser-agent: a\nDisallow: /\n\n{_ALL}Disallow: /y\n",
         allowed="/", denied="/x /y"),
    case("very many groups", "".join(f"User-agent: bot{n}\nDisallow: /{n}\n\n" for n in range(10_000)) + _X,
         allowed="/1 /9999", denied="/x"),
    case("very many names",
         "".join(f"User-agent: foobot{n}\n" for n in range(15_000)) + "User-agent: foobot\nDisallow: /x",
         allowed="/", denied="/x"),
    case("1 MB", (_X + "\n").encode() + b"# and so on\n" * 90_000 + b"Disallow: /y\n", allowed="/y", denied="/x"),
    case("a line of 1 MB", f"{_X}\nDisallow: /y" + "y" * 1_000_000, allowed="/y", denied="/x"),
]  # fmt: skip
