"""What a scan knows while it goes: open elements, active formatting elements, the insertion mode, what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from scrawler.extract.treeless import limits
from scrawler.extract.treeless.tags import SCOPES, SPECIAL

HTML, MATH, SVG = range(3)  # name spaces

Wanted = Mapping[bytes, tuple[frozenset[bytes], ...]]


class Mode:
    """The insertion modes (13.2.4.1)."""

    (
        BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD, IN_BODY, IN_TABLE, IN_CAPTION, IN_COLGROUP,
        IN_TABLE_BODY, IN_ROW, IN_CELL, IN_TEMPLATE, AFTER_BODY, IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_BODY,
        AFTER_AFTER_FRAMESET,
    ) = range(18)  # fmt: skip


class Token(NamedTuple):
    """A start or end tag: lower-case name, attributes that say something (the first of each), their source."""

    name: bytes
    attributes: dict[bytes, bytes]
    source: bytes = b""
    self_closing: bool = False


class Found(NamedTuple):
    """An element that says something."""

    name: bytes
    attributes: dict[bytes, bytes]
    in_template: bool
    in_head: bool


class Element:
    """An open element; two are the same only if they are one object."""

    __slots__ = ("in_html", "listed", "mode", "name", "namespace", "scope", "special", "text_point")

    def __init__(self, name: bytes, namespace: int = HTML) -> None:
        self.name, self.namespace = name, namespace
        self.special, self.scope = (name in SPECIAL, name in SCOPES) if namespace == HTML else (False, False)
        self.text_point = self.in_html = False  # MathML text integration point, HTML integration point
        self.mode = Mode.BEFORE_HTML  # of a template
        self.listed = False  # it came with an entry in the list of active formatting elements

    def is_html(self, name: bytes) -> bool:
        """Tell whether this is the HTML element of a name."""
        return self.namespace == HTML and self.name == name


class Formatting:
    """An active formatting element."""

    __slots__ = ("element", "is_open", "link", "name", "source")

    def __init__(self, name: bytes, source: bytes, element: Element, link: dict[bytes, bytes] | None) -> None:
        self.name, self.source, self.element, self.link = name, source, element, link
        self.is_open = True


class State:
    """The state of the scan of one page, `page_length` bytes long.

    `wanted`: by the names of the elements that can say something, the sets of attributes of each of which they must
    have one.
    """

    __slots__ = (
        "base_seen", "counts", "deep", "flat", "form", "found", "found_in_head", "frameset_ok", "head_seen", "listed",
        "mode", "most_steps", "open", "others", "plaintext", "quirks", "raw", "reopen", "steps", "templates", "wanted",
    )  # fmt: skip

    def __init__(self, page_length: int, wanted: Wanted) -> None:
        self.wanted = wanted
        self.open: list[Element] = []
        self.counts: Counter[bytes] = Counter()  # of the names of open HTML elements
        self.listed: list[Formatting | None] = []  # None: a marker
        self.form: Element | None = None
        self.mode, self.templates = Mode.BEFORE_HTML, 0
        self.frameset_ok, self.head_seen = True, False
        self.reopen = False  # some formatting element is listed, but not open
        self.quirks: bool | None = None  # not known yet
        self.deep = self.flat = self.plaintext = False
        self.raw = b""  # the element whose text comes next
        self.steps, self.most_steps = 0, limits.STEPS_AT_LEAST + limits.STEPS_A_BYTE * page_length
        self.found: list[Found] = []
        self.found_in_head = self.others = 0
        self.base_seen = False
