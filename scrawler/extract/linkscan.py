"""The link scanner in Python: one pass over the bytes of a page, the same as `linkscan_c` makes where it was built.

This is the tokenizer of the HTML Standard (13.2.5); `treeless` says what its tags and texts mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from scrawler.extract.treeless import limits
from scrawler.extract.treeless.dispatcher import end_tag, start_tag
from scrawler.extract.treeless.foreign import is_foreign
from scrawler.extract.treeless.state import HTML, State, Token
from scrawler.extract.treeless.text import text

WITH_ASSETS, WITH_REL = 1, 2  # flags: note assets too, and the rel of <a> and <area>

Other = tuple[int, str, dict[str, str], bool, bool]  # hrefs before it, tag, attributes, in a template, in the head
Scan = Callable[[bytes, int, Mapping[str, str]], tuple[list[str], list[Other], bool]]

_SPACE = b" \t\n\f\r"
_NAME = re.compile(rb"[^ \t\n\f\r/>]*")
_ATTRIBUTE = re.compile(
    rb"[ \t\n\f\r]*(?:(?P<slash>/(?P<self_closing>>)?)|(?P<end>>)"
    rb"|(?P<name>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*)[ \t\n\f\r]*"
    rb"""(?:=[ \t\n\f\r]*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?=>)|(?P<bare>[^"' \t\n\f\r>][^ \t\n\f\r>]*)"""
    rb"|(?P<cut>.?)))?)",
    re.DOTALL,
)
_COMMENT_END = re.compile(rb"-?>|.*?(?:--!?>|\Z)", re.DOTALL)
_RAW_END = {
    name: re.compile(rb"</(?=%s[ \t\n\f\r/>])" % name, re.IGNORECASE)
    for name in (b"iframe", b"noembed", b"noframes", b"style", b"textarea", b"title", b"xmp")
}
_SCRIPT_PLAIN = re.compile(rb"<!(?=--)|(?P<end></(?=script[ \t\n\f\r/>]))", re.IGNORECASE)
_SCRIPT_ESCAPED = re.compile(rb"(?P<plain>-->)|(?P<end></(?=script[ \t\n\f\r/>]))|<script[ \t\n\f\r/>]", re.IGNORECASE)
_SCRIPT_DOUBLE = re.compile(rb"(?P<plain>-->)|</script[ \t\n\f\r/>]", re.IGNORECASE)
# In attributes a named reference without semicolon stands for itself before "=" and alphanumerics: ?a=1&copy=2.
_REFERENCE = re.compile(
    rb"&(?:#(?:[xX](?P<hex>[0-9a-fA-F]+)|(?P<decimal>[0-9]+));?|(?P<name>[0-9a-zA-Z]+(?:;|(?![0-9a-zA-Z=]))))"
)
_LARGEST = 0x10FFFF
_LONGEST_NUMBER = 30  # digits, leading zeros left out; any longer one is too large

_LINKING = {
    **dict.fromkeys((b"a", b"area", b"base"), ((b"href",),)),
    **dict.fromkeys((b"iframe", b"frame"), ((b"src",),)),
    b"link": ((b"href",), (b"rel",)),
    b"meta": ((b"http-equiv", b"name"),),
}
_SHOWN = {
    **dict.fromkeys((b"input", b"script"), ((b"src",),)),
    b"img": ((b"src", b"srcset"),),
    b"source": ((b"srcset",),),
    b"video": ((b"poster",),),
    **dict.fromkeys((b"image", b"use"), ((b"href",),)),
}
_ATTRIBUTES = {
    **dict.fromkeys((b"a", b"area", b"base"), (b"href",)),
    **dict.fromkeys((b"iframe", b"frame"), (b"src",)),
    b"link": (b"href", b"rel", b"type", b"as"),
    b"meta": (b"http-equiv", b"content", b"name"),
    b"input": (b"type",),
    b"annotation-xml": (b"encoding",),
    b"font": (b"color", b"face", b"size"),
}
_ASSET_ATTRIBUTES = {
    **dict.fromkeys((b"img", b"image"), (b"src", b"srcset")),
    b"source": (b"srcset",),
    b"video": (b"poster",),
    b"script": (b"src",),
    b"input": (b"type", b"src"),
    b"use": (b"href",),
}
_FOREIGN_ATTRIBUTES = {b"a": (b"href", b"xlink:href")}
_FOREIGN_ASSET_ATTRIBUTES = dict.fromkeys((b"image", b"use"), (b"href", b"xlink:href"))


def scan(page: bytes, flags: int, entities: Mapping[str, str]) -> tuple[list[str], list[Other], bool]:
    """Scan a page, bytes in UTF-8, with the named character references of html.entities.

    Returns the hrefs of <a> and <area>, what else says something, and whether a tree builder would have taken too long.
    """
    scanner = _Scanner(page, flags)
    scanner.run()
    hrefs: list[str] = []
    others: list[Other] = []
    made: dict[int, dict[str, str]] = {}  # a copied link has the string of the first: a long one may be copied often
    for one in scanner.state.found:
        key = id(one.attributes)
        if key not in made:
            made[key] = {name.decode(): _value(value, entities) for name, value in one.attributes.items()}
        if one.name in (b"a", b"area") and b"rel" not in one.attributes:
            hrefs.append(made[key]["href"])
        else:
            others.append((len(hrefs), one.name.decode(), made[key], one.in_template, one.in_head))
    return hrefs, others, scanner.state.deep


def _value(source: bytes, entities: Mapping[str, str]) -> str:
    if b"&" in source or b"\r" in source or b"\0" in source:
        source = source.replace(b"\0", b"\xef\xbf\xbd").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        source = _REFERENCE.sub(lambda reference: _resolved(reference, entities), source)
    return source.strip(_SPACE).decode("utf-8", "replace")


def _resolved(reference: re.Match[bytes], entities: Mapping[str, str]) -> bytes:
    digits, is_hex = reference["hex"] or reference["decimal"], reference["hex"] is not None
    if digits is None:
        known = entities.get(reference["name"].decode())
        return reference[0] if known is None else known.encode()
    digits = digits.lstrip(b"0") or b"0"
    code = int(digits, 16 if is_hex else 10) if len(digits) <= _LONGEST_NUMBER else _LARGEST + 1
    if 0x80 <= code < 0xA0:
        return bytes((code,)).decode("cp1252", "replace").replace("\ufffd", chr(code)).encode()
    valid = 0 < code <= _LARGEST and not 0xD800 <= code < 0xE000
    return (chr(code) if valid else "\ufffd").encode()


class _Scanner:
    def __init__(self, page: bytes, flags: int) -> None:
        self._page = page
        wanted = {**_LINKING, **(_SHOWN if flags & WITH_ASSETS else {})}
        self.state = State(len(page), {name: tuple(map(frozenset, conditions)) for name, conditions in wanted.items()})
        assets = flags & WITH_ASSETS
        self._attributes = {**_ATTRIBUTES, **(_ASSET_ATTRIBUTES if assets else {})}
        foreign: dict[bytes, tuple[bytes, ...]] = dict(_FOREIGN_ATTRIBUTES)
        if assets:
            foreign.update(_FOREIGN_ASSET_ATTRIBUTES)
        if flags & WITH_REL:
            self._attributes.update(dict.fromkeys((b"a", b"area"), (b"href", b"rel")))
            foreign[b"a"] += (b"rel",)
        self._foreign_attributes = {**self._attributes, **foreign}

    def run(self) -> None:
        page, position, end = self._page, 0, len(self._page)
        while position < end:
            bracket = page.find(b"<", position)
            if bracket < 0:
                bracket = end
            if bracket > position:
                text(self.state, page, position, bracket)
            position = self._markup(bracket) if bracket < end else end

    def _markup(self, bracket: int) -> int:
        """Read what begins at a "<"; returns the place after it."""
        page = self._page
        after = page[bracket + 1 : bracket + 2]
        if after.isalpha():
            return self._tag(bracket + 1, is_end=False)
        if after == b"/" and bracket + 2 < len(page):
            if page[bracket + 2 : bracket + 3].isalpha():
                return self._tag(bracket + 2, is_end=True)
            return self._skip_to(bracket + 2, b">")
        if after == b"!":
            return self._declaration(bracket + 2)
        if after == b"?":
            return self._skip_to(bracket + 2, b">")
        text(self.state, page, bracket, bracket + 1)
        return bracket + 1

    def _skip_to(self, position: int, what: bytes) -> int:
        place = self._page.find(what, position)
        return len(self._page) if place < 0 else place + len(what)

    def _declaration(self, position: int) -> int:
        page = self._page
        if page.startswith(b"--", position):
            comment = _COMMENT_END.match(page, position + 2)
            return comment.end() if comment else len(page)
        if page[position : position + 7].lower() == b"doctype":
            end = self._skip_to(position + 7, b">")
            if self.state.quirks is None and not self.state.open:
                self.state.quirks = _asks_for_quirks(page[position + 7 : min(end, position + 519)])
            return end
        if page.startswith(b"[CDATA[", position) and self._takes_cdata():
            end = self._skip_to(position + 7, b"]]>")
            closed = page.endswith(b"]]>", position + 7, end)
            text(self.state, page, position + 7, end - 3 if closed else end, has_references=False)
            return end
        return self._skip_to(position, b">")

    def _takes_cdata(self) -> bool:
        return bool(self.state.open) and self.state.open[-1].namespace != HTML and not self.state.flat

    def _tag(self, position: int, is_end: bool) -> int:
        """Read a tag whose name begins at a place; returns the place after it, or the end if the page ends in it."""
        token, position = self._token(position, is_end)
        state = self.state
        if token is None:
            return position
        if state.quirks is None and not state.open:
            state.quirks = True
        if is_end:
            end_tag(state, token)
            return position
        start_tag(state, token)
        if state.plaintext:
            text(state, self._page, position, len(self._page), has_references=False)
            return len(self._page)
        if state.raw:
            raw, state.raw = state.raw, b""
            name = self._script_end(position) if raw == b"script" else self._raw_end(raw, position)
            return self._token(name, True)[1] if name else len(self._page)
        return position

    def _token(self, position: int, is_end: bool) -> tuple[Token | None, int]:
        page = self._page
        match_name = _NAME.match(page, position)
        assert match_name is not None
        name = match_name[0].lower()
        attributes = self._foreign_attributes if is_foreign(self.state) else self._attributes
        wanted = () if is_end else attributes.get(name, ())
        position = begin = match_name.end()
        found: dict[bytes, bytes] = {}
        count = 0
        while match := _ATTRIBUTE.match(page, position):
            position = match.end()
            kind = match.lastgroup
            if kind in ("end", "self_closing") or match["slash"] == b"/>":
                if count > limits.MOST_ATTRIBUTES:
                    self.state.deep = True
                return Token(name, found, page[begin : position - 1], match["slash"] is not None), position
            if match["cut"] is not None:
                break
            if match["name"] is not None:
                count += 1
                if wanted and (key := match["name"].lower()) in wanted and key not in found:
                    found[key] = match["double"] or match["single"] or match["bare"] or b""
        return None, len(page)

    def _raw_end(self, name: bytes, position: int) -> int:
        """Return the place of the name in the end tag of raw text; 0 if there is none."""
        end = _RAW_END[name].search(self._page, position)
        return end.end() if end else 0

    def _script_end(self, position: int) -> int:
        """Do the same for scripts, in which a comment can hide "</script>" (13.2.5.15 to 31)."""
        state = _SCRIPT_PLAIN
        while match := state.search(self._page, position):
            position = match.end()
            if state is not _SCRIPT_DOUBLE and match["end"]:
                return position
            if state is _SCRIPT_PLAIN:
                state = _SCRIPT_ESCAPED
            elif match["plain"]:
                state = _SCRIPT_PLAIN
            else:
                state = _SCRIPT_DOUBLE if state is _SCRIPT_ESCAPED else _SCRIPT_ESCAPED
        return 0


def _asks_for_quirks(doctype: bytes) -> bool:
    lower = doctype.lower()
    return b"public" in lower and b"xhtml 1." not in lower and b"html 4.01" not in lower
