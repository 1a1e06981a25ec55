"""The tree construction of HTML (HTML Standard, 13.2.6) without a tree: which elements come to be, and where.

Kept is what later tags depend on: the stack of open elements, the list of active formatting elements, and the insertion
mode. That decides which tags are dropped, which text is markup, and what stands in the head, in a template, in SVG.
Elements are noted as they are opened; no node is made, moved or kept. `linkscan_c` is the same, rule by rule under the
same names, and compiled; the tests hold the two together.

No rule costs more than the depth of the stack, and all of them together no more than a number of steps that grows with
the page; a page that nests deeper, or costs more, is read flat from there on: as if each element stood in the body.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

DEEPEST = 5_000  # open elements that are followed; hazards.MAX_DEPTH
STEPS_A_BYTE, STEPS_AT_LEAST = 64, 1_000_000  # over the stack and the list of active formatting elements
COMPARED_A_STEP = 16  # bytes of the attributes of two formatting elements

HTML, MATH, SVG = range(3)  # name spaces
(
    BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD, IN_BODY, IN_TABLE, IN_CAPTION, IN_COLGROUP,
    IN_TABLE_BODY, IN_ROW, IN_CELL, IN_TEMPLATE, AFTER_BODY, IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_BODY,
    AFTER_AFTER_FRAMESET,
) = range(18)  # insertion modes  # fmt: skip


def _names(text: str) -> frozenset[bytes]:
    return frozenset(text.encode().split())


_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
_HEADED = _names("base basefont bgsound link meta noframes script style template title")
_SECTIONS = _names("tbody tfoot thead")
_TABLE_PARTS = _SECTIONS | _names("caption col colgroup td th tr")
_IMPLIED = _names("dd dt li optgroup option p rb rp rt rtc")
_SCOPES = _names("applet caption html marquee object select table td template th")
_BLOCKS = _names(
    """address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup
    listing main menu nav ol p pre search section summary ul"""
)
_SPECIAL = (
    (_BLOCKS - {b"dialog"}) | _HEADINGS | _HEADED | _TABLE_PARTS | _SCOPES
    | _names("""area body br button dd dt embed form frame frameset head hr iframe img input keygen li noembed noscript
    param plaintext source textarea track wbr xmp""")
)  # fmt: skip
_BREAKOUT = _HEADINGS | _names(
    """b big blockquote body br center code dd div dl dt em embed head hr i img li listing menu meta nobr ol p pre ruby
    s small span strong strike sub sup table tt u ul var"""
)
_MATH_TEXT = _names("mi mn mo ms mtext")
_SVG_POINTS = _names("desc foreignobject title")
_HTML_ENCODINGS = (b"text/html", b"application/xhtml+xml")
_RAW = _names("iframe noembed noframes script style textarea title xmp")
_TABLE_ROOTS = _SECTIONS | {b"table", b"tr"}
_ENDS_HEAD = _names("body br html")
_IN_NOSCRIPT = _names("basefont bgsound link meta noframes style")
_BUTTON_SCOPE, _LIST_SCOPE = _names("button"), _names("ol ul")
_TABLE_SCOPE = _names("html table template")
_NOTHING: frozenset[bytes] = frozenset()


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


class _Element:
    __slots__ = ("entry", "in_html", "mode", "name", "namespace", "scope", "special", "text_point")

    def __init__(self, name: bytes, namespace: int = HTML) -> None:
        self.name, self.namespace = name, namespace
        self.special, self.scope = (name in _SPECIAL, name in _SCOPES) if namespace == HTML else (False, False)
        self.text_point = self.in_html = False  # MathML text integration point, HTML integration point
        self.mode = IN_TEMPLATE  # of a template
        self.entry: _Listed | None = None  # in the list of active formatting elements

    def is_html(self, name: bytes) -> bool:
        return self.namespace == HTML and self.name == name


class _Listed:
    """An active formatting element."""

    __slots__ = ("element", "is_open", "link", "name", "source")

    def __init__(self, name: bytes, source: bytes, element: _Element, link: dict[bytes, bytes] | None) -> None:
        self.name, self.source, self.element, self.link = name, source, element, link
        self.is_open = True


class Builder:
    """Takes the tags and texts of one page in order; `found` holds what says something, `raw` whose text comes next."""

    def __init__(self, page_length: int, wanted: dict[bytes, tuple[frozenset[bytes], ...]]) -> None:
        self._wanted = wanted  # attributes that an element must have, each one of a set, to say something
        self.found: list[Found] = []
        self.raw = b""
        self.deep = self.flat = False
        self.plaintext = False
        self.quirks: bool | None = None
        self._open: list[_Element] = []
        self._counts: Counter[bytes] = Counter()  # of the names of open HTML elements
        self._listed: list[_Listed | None] = []  # None: a marker
        self._form: object = None
        self._mode, self._templates = BEFORE_HTML, 0
        self._frameset_ok, self._head_seen, self._reopen = True, False, False
        self._found_in_head = 0
        self._steps = STEPS_AT_LEAST + STEPS_A_BYTE * page_length

    # ---- what the tokenizer asks and says

    @property
    def takes_cdata(self) -> bool:
        """Whether <![CDATA[ begins text here."""
        return bool(self._open) and self._open[-1].namespace != HTML and not self.flat

    @property
    def has_begun(self) -> bool:
        """Whether a document type would come too late."""
        return bool(self._open)

    @property
    def hears_text(self) -> bool:
        """Whether text makes a difference."""
        return self._frameset_ok or self._reopen or self._mode not in (
            IN_BODY, IN_CELL, IN_TABLE, IN_ROW, IN_TABLE_BODY, IN_CAPTION
        )  # fmt: skip

    @property
    def drops_letters(self) -> bool:
        """Whether text is dropped letter by letter here, but white space is not."""
        return self._mode == IN_COLGROUP

    def start(self, token: Token) -> None:
        """Take a start tag."""
        if self.flat:
            self._start_flat(token)
            return
        if self._open and (top := self._open[-1]).namespace != HTML and not self._takes_html(top, token.name):
            if token.name not in _BREAKOUT and not (token.name == b"font" and token.attributes):
                self._insert_foreign(token, top.namespace)
                return
            self._leave_foreign()
        self._start_html(token, self._mode)

    def end(self, token: Token) -> None:
        """Take an end tag."""
        if self.flat:
            if token.name == b"template" and self._templates:
                self._templates -= 1
            return
        if self._open and self._open[-1].namespace != HTML:
            if token.name in (b"br", b"p"):
                self._leave_foreign()
            else:
                place = len(self._open) - 1
                while self._open[place].namespace != HTML and self._open[place].name != token.name:
                    place -= 1
                self._walked(len(self._open) - place)
                if self._open[place].namespace != HTML:
                    self._pop_to(place)
                    return
        self._end_html(token, self._mode)

    def letters(self, is_nul: bool = False) -> None:
        """Take text that is not only white space; `is_nul`: nothing but NUL."""
        if self.flat:
            return
        if self._open and (top := self._open[-1]).namespace != HTML and not (top.text_point or top.in_html):
            self._frameset_ok &= is_nul
            return
        while self._mode in _BEFORE_TEXT:
            if self._mode == IN_COLGROUP:
                if not self._end_colgroup():
                    return
            elif self._mode in (IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_FRAMESET):
                return
            elif self._mode in (AFTER_BODY, AFTER_AFTER_BODY):
                self._mode = IN_BODY
            else:
                self._begin()
        if not is_nul:
            self._reconstruct()
            self._frameset_ok = False

    def spaces(self) -> None:
        """Take white space."""
        if self.flat or not self._reopen:
            return
        top, mode = self._open[-1], self._mode
        if mode in (IN_TABLE, IN_TABLE_BODY, IN_ROW):
            if top.namespace == HTML and top.name in _TABLE_ROOTS:
                return
        elif mode not in (
            IN_BODY, IN_CAPTION, IN_CELL, IN_TEMPLATE, AFTER_BODY, AFTER_AFTER_BODY, AFTER_AFTER_FRAMESET
        ):  # fmt: skip
            return
        if top.namespace == HTML or top.text_point or top.in_html:
            self._reconstruct()

    # ---- open elements

    def _walked(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            self.flat = self.deep = True  # the rule at work goes on to its end on what is there

    def _pop(self) -> None:
        element = self._open.pop()
        if element.namespace == HTML:
            self._counts[element.name] -= 1
            if element.name == b"template":
                self._templates -= 1
            if element.entry is not None:
                element.entry.is_open = False
                self._reopen = True
                self._walked(1)

    def _pop_to(self, depth: int) -> None:
        while len(self._open) > depth:
            self._pop()

    def _push(self, name: bytes, namespace: int = HTML) -> _Element:
        element = _Element(name, namespace)
        self._open.append(element)
        if namespace == HTML:
            self._counts[name] += 1
        if len(self._open) > DEEPEST:
            self.flat = self.deep = True
        return element

    def _remove_open(self, place: int) -> None:
        element = self._open.pop(place)
        if element.namespace == HTML:
            self._counts[element.name] -= 1
            if element.name == b"template":
                self._templates -= 1
        self._walked(len(self._open) - place)

    def _emit(self, name: bytes, attributes: dict[bytes, bytes]) -> bool:
        """Note an element if it says something."""
        conditions = self._wanted.get(name)
        if conditions is None or any(one.isdisjoint(attributes) for one in conditions):
            return False
        in_head = False
        if name == b"link" and self._open and not self.flat:
            parent = self._open[-1]
            if parent.is_html(b"noscript") and len(self._open) > 1:
                parent = self._open[-2]
            in_head = parent.is_html(b"head")
        self.found.append(Found(name, attributes, self._templates > 0, in_head))
        return True

    def _insert(self, token: Token) -> _Element:
        self._emit(token.name, token.attributes)
        return self._push(token.name)

    def _insert_void(self, token: Token) -> None:
        self._emit(token.name, token.attributes)

    def _insert_raw(self, token: Token) -> None:
        self._emit(token.name, token.attributes)
        self.raw = token.name

    def _in_scope(self, names: frozenset[bytes] | bytes, more: frozenset[bytes] = _NOTHING) -> bool:
        if isinstance(names, bytes):
            if not self._counts[names]:
                return False
            wanted = frozenset((names,))
        else:
            wanted = names
        for steps, element in enumerate(reversed(self._open), 1):
            is_html = element.namespace == HTML
            found = is_html and element.name in wanted
            if more is _TABLE_SCOPE:
                ends = is_html and element.name in _TABLE_SCOPE
            else:
                ends = element.scope or (is_html and element.name in more)
            if found or ends:
                self._walked(steps)
                return found
        return False

    def _pop_through(self, names: frozenset[bytes] | bytes) -> None:
        wanted = frozenset((names,)) if isinstance(names, bytes) else names
        while self._open:
            last = self._open[-1]
            self._pop()
            if last.namespace == HTML and last.name in wanted:
                return

    def _imply_ends(self, but: bytes = b"") -> None:
        while (top := self._open[-1]).namespace == HTML and top.name in _IMPLIED and top.name != but:
            self._pop()

    def _close_p(self) -> None:
        if self._in_scope(b"p", _BUTTON_SCOPE):
            self._pop_through(b"p")

    # ---- active formatting elements

    def _remove_formatting(self, place: int) -> None:
        entry = self._listed.pop(place)
        if entry is not None:
            entry.element.entry = None

    def _clear_to_marker(self) -> None:
        while self._listed:
            entry = self._listed[-1]
            self._remove_formatting(-1)
            if entry is None:
                return

    def _insert_formatting(self, token: Token) -> None:
        says = self._emit(token.name, token.attributes)
        same = first = 0
        for place in range(len(self._listed) - 1, -1, -1):
            entry = self._listed[place]
            if entry is None:
                break
            if entry.name == token.name and len(entry.source) == len(token.source):
                self._walked(len(token.source) // COMPARED_A_STEP)
                if entry.source == token.source:
                    same, first = same + 1, place
        if same >= 3:
            self._remove_formatting(first)
        element = self._push(token.name)
        element.entry = _Listed(token.name, token.source, element, token.attributes if says else None)
        self._walked(len(self._listed))
        self._listed.append(element.entry)

    def _emit_copy(self, entry: _Listed) -> None:
        """Note that a copy of a formatting element comes into the tree; if it is a link, the page has one more."""
        if entry.link is not None:
            self.found.append(Found(entry.name, entry.link, self._templates > 0, False))

    def _renew(self, entry: _Listed) -> _Element:
        element = _Element(entry.name)
        entry.element.entry = None
        entry.element, element.entry, entry.is_open = element, entry, True
        self._emit_copy(entry)
        return element

    def _reconstruct(self) -> None:
        if not self._reopen or self.flat:
            return
        place = len(self._listed)
        while place and (entry := self._listed[place - 1]) is not None and not entry.is_open:
            place -= 1
        if place == len(self._listed):
            return
        for entry in self._listed[place:]:
            assert entry is not None
            self._open.append(self._renew(entry))
            self._counts[entry.name] += 1
            self._walked(1)
            if len(self._open) > DEEPEST:
                self.flat = self.deep = True
            if self.flat:
                return
        self._reopen = any(entry is not None and not entry.is_open for entry in self._listed)
        self._walked(len(self._listed))

    def _last_listed(self, name: bytes) -> int:
        """Return the place of the last formatting element of a name after the last marker; -1 if there is none."""
        for place in range(len(self._listed) - 1, -1, -1):
            entry = self._listed[place]
            if entry is None:
                return -1
            if entry.name == name:
                return place
        return -1

    def _end_other(self, name: bytes) -> None:
        for place in range(len(self._open) - 1, -1, -1):
            element = self._open[place]
            if element.is_html(name):
                self._walked(len(self._open) - place)
                self._pop_to(place)
                return
            if element.special:
                self._walked(len(self._open) - place)
                return

    def _adopt(self, name: bytes) -> None:
        """Close a formatting element: the adoption agency algorithm (13.2.6.4.7)."""
        top = self._open[-1]
        if top.is_html(name):
            if self._listed and self._listed[-1] is top.entry and top.entry is not None:
                self._remove_formatting(-1)
            if top.entry is None:
                self._pop()
                return
        for _ in range(8):
            at = self._last_listed(name)
            self._walked(len(self._listed))
            if at < 0:
                self._end_other(name)
                return
            entry = self._listed[at]
            assert entry is not None
            if not entry.is_open:
                self._remove_formatting(at)
                return
            place = self._open.index(entry.element)
            above = self._open[place + 1 :]
            self._walked(len(above) + 1)
            if any(element.scope for element in above):
                return
            block = next((i for i, element in enumerate(above, place + 1) if element.special), 0)
            if not block:
                self._remove_formatting(at)
                self._pop_to(place)
                return
            self._adopt_above(entry, place, block)
            if self.flat:
                return

    def _adopt_above(self, entry: _Listed, place: int, block: int) -> None:
        """Take apart what is open from a formatting element at `place` to a special one at `block`."""
        bookmark: _Listed | None = None  # the entry before which the formatting element comes
        for count, between in enumerate(range(block - 1, place, -1), 1):
            node = self._open[between].entry
            self._walked(len(self._listed))
            if self.flat:
                return
            if node is not None and count > 3:
                self._remove_formatting(self._listed.index(node))
                node = None
            if node is None:
                self._remove_open(between)
                block -= 1
                continue
            self._open[between] = self._renew(node)
            bookmark = bookmark or node
        at = self._listed.index(entry)
        if bookmark is not None:
            del self._listed[at]
            self._listed.insert(self._listed.index(bookmark) + 1, entry)
        again = self._renew(entry)
        del self._open[place]
        self._open.insert(block, again)

    # ---- the insertion modes

    def _reset_mode(self) -> None:
        for place in range(len(self._open) - 1, -1, -1):
            element = self._open[place]
            if element.namespace != HTML:
                continue
            mode = element.mode if element.name == b"template" else _MODES.get(element.name)
            if element.name == b"html":
                mode = AFTER_HEAD if self._head_seen else BEFORE_HEAD
            if mode is not None:
                self._mode = mode
                self._walked(len(self._open) - place)
                return

    def _begin(self) -> None:
        """Take the step from one of the modes before the body to the next."""
        if self._mode == BEFORE_HTML:
            self._push(b"html")
            self._mode = BEFORE_HEAD
        elif self._mode == BEFORE_HEAD:
            self._push(b"head")
            self._head_seen, self._mode = True, IN_HEAD
        elif self._mode == AFTER_HEAD:
            self._begin_body()
        else:
            self._pop()
            self._mode = IN_HEAD if self._mode == IN_HEAD_NOSCRIPT else AFTER_HEAD

    def _begin_body(self) -> None:
        self._found_in_head = len(self.found)
        self._push(b"body")
        self._mode = IN_BODY

    def _start_flat(self, token: Token) -> None:
        name = token.name
        if name in _RAW:
            self._insert_raw(token)
        elif name == b"template":
            self._templates += 1
        elif name == b"plaintext":
            self.plaintext = True
        else:
            self._emit(b"img" if name == b"image" else name, token.attributes)

    def _start_headed(self, token: Token) -> None:
        if token.name in _RAW:
            self._insert_raw(token)
        elif token.name == b"template":
            self._push(b"template")
            self._templates += 1
            self._listed.append(None)
            self._frameset_ok = False
            self._mode = IN_TEMPLATE
        else:
            self._insert_void(token)

    def _end_template(self) -> None:
        if self._templates:
            self._pop_through(b"template")
            self._clear_to_marker()
            self._reset_mode()

    def _start_html(self, token: Token, mode: int) -> None:
        name = token.name
        if mode == IN_BODY:
            self._start_in_body(token)
        elif mode == IN_TABLE:
            self._start_in_table(token)
        elif mode in (BEFORE_HTML, BEFORE_HEAD):
            if mode == BEFORE_HTML or name != b"html":
                self._begin()
                if name != (b"html" if mode == BEFORE_HTML else b"head"):
                    self._start_html(token, self._mode)
        elif mode in (IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD):
            self._start_around_head(token, mode)
        elif mode in (IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_FRAMESET):
            if name == b"noframes":
                self._insert_raw(token)
            elif mode == IN_FRAMESET and name == b"frameset":
                self._push(name)
            elif mode == IN_FRAMESET and name == b"frame":
                self._insert_void(token)
        elif mode == IN_TEMPLATE:
            self._start_in_template(token)
        elif mode in (AFTER_BODY, AFTER_AFTER_BODY):
            if name != b"html":
                self._mode = IN_BODY
                self._start_in_body(token)
        else:
            self._start_in_table_part(token, mode)

    def _start_around_head(self, token: Token, mode: int) -> None:
        name = token.name
        if name in (b"html", b"head"):
            return
        if mode == IN_HEAD_NOSCRIPT and name == b"noscript":
            return
        if name in (_IN_NOSCRIPT if mode == IN_HEAD_NOSCRIPT else _HEADED):
            if mode == AFTER_HEAD:
                head = self._push(b"head")
                self._start_headed(token)
                self._remove_open(self._open.index(head))
            else:
                self._start_headed(token)
        elif mode == IN_HEAD and name == b"noscript":
            self._push(name)
            self._mode = IN_HEAD_NOSCRIPT
        elif mode == AFTER_HEAD and name == b"frameset":
            self._push(name)
            self._mode = IN_FRAMESET
        else:
            self._begin()
            if mode == AFTER_HEAD and name == b"body":
                self._frameset_ok = False
            else:
                self._start_html(token, self._mode)

    def _start_in_template(self, token: Token) -> None:
        name = token.name
        if name in _HEADED:
            self._start_headed(token)
            return
        mode = IN_BODY
        if name in _SECTIONS or name in (b"caption", b"colgroup"):
            mode = IN_TABLE
        elif name in (b"col", b"tr"):
            mode = IN_COLGROUP if name == b"col" else IN_TABLE_BODY
        elif name in (b"td", b"th"):
            mode = IN_ROW
        for steps, element in enumerate(reversed(self._open), 1):
            if element.is_html(b"template"):
                element.mode = mode
                self._walked(steps)
                break
        self._mode = mode
        self._start_html(token, mode)

    def _start_in_body(self, token: Token) -> None:
        name = token.name
        if name in _HEADED:
            self._start_headed(token)
        elif name in _FORMATTING:
            self._start_formatting(token)
        elif name in _BLOCKS:
            self._close_p()
            self._insert(token)
            self._frameset_ok &= name not in (b"pre", b"listing")
        elif name in _HEADINGS:
            self._close_p()
            if self._open[-1].namespace == HTML and self._open[-1].name in _HEADINGS:
                self._pop()
            self._insert(token)
        elif rule := _BODY_STARTS.get(name):
            rule(self, token)
        elif name not in _TABLE_PARTS:
            self._reconstruct()
            self._insert(token)

    def _start_formatting(self, token: Token) -> None:
        name = token.name
        if name == b"a":
            if (place := self._last_listed(name)) >= 0:
                entry = self._listed[place]
                assert entry is not None
                element = entry.element
                self._adopt(name)
                if entry.element is element and entry in self._listed:
                    self._remove_formatting(self._listed.index(entry))
                if element in self._open:
                    self._remove_open(self._open.index(element))
                self._walked(len(self._open))
            self._walked(len(self._listed) // 8)
        self._reconstruct()
        if name == b"nobr" and self._in_scope(name):
            self._adopt(name)
            self._reconstruct()
        self._insert_formatting(token)

    def _start_nothing(self, token: Token) -> None:
        pass

    def _start_body(self, token: Token) -> None:
        if len(self._open) > 1 and self._open[1].is_html(b"body") and not self._templates:
            self._frameset_ok = False

    def _start_frameset(self, token: Token) -> None:
        if len(self._open) > 1 and self._open[1].is_html(b"body") and self._frameset_ok:
            self._pop_to(1)
            del self.found[self._found_in_head :]  # the body goes, with all that is in it
            self._push(b"frameset")
            self._mode = IN_FRAMESET

    def _start_form(self, token: Token) -> None:
        if self._form is not None and not self._templates:
            return
        self._close_p()
        form = self._insert(token)
        if not self._templates:
            self._form = form

    def _start_item(self, token: Token) -> None:
        self._frameset_ok = False
        names = (b"li",) if token.name == b"li" else (b"dd", b"dt")
        for place in range(len(self._open) - 1, -1, -1):
            element = self._open[place]
            is_html = element.namespace == HTML
            if is_html and element.name in names:
                self._walked(len(self._open) - place)
                self._pop_to(place)
                break
            if element.special and not (is_html and element.name in (b"address", b"div", b"p")):
                self._walked(len(self._open) - place)
                break
        self._close_p()
        self._insert(token)

    def _start_plaintext(self, token: Token) -> None:
        self._close_p()
        self._insert(token)
        self.plaintext = True

    def _start_button(self, token: Token) -> None:
        if self._in_scope(b"button"):
            self._pop_through(b"button")
        self._reconstruct()
        self._insert(token)
        self._frameset_ok = False

    def _start_object(self, token: Token) -> None:
        self._reconstruct()
        self._insert(token)
        self._listed.append(None)
        self._frameset_ok = False

    def _start_table(self, token: Token) -> None:
        if self.quirks is False:
            self._close_p()
        self._insert(token)
        self._frameset_ok = False
        self._mode = IN_TABLE

    def _start_void(self, token: Token) -> None:
        self._reconstruct()
        self._emit(b"img" if token.name == b"image" else token.name, token.attributes)
        self._frameset_ok = False

    def _start_input(self, token: Token) -> None:
        if self._in_scope(b"select"):
            self._pop_through(b"select")
        self._reconstruct()
        self._insert_void(token)
        self._frameset_ok &= _is_hidden(token)

    def _start_source(self, token: Token) -> None:
        self._insert_void(token)

    def _start_hr(self, token: Token) -> None:
        self._close_p()
        if self._in_scope(b"select"):
            self._imply_ends()
        self._frameset_ok = False

    def _start_raw(self, token: Token) -> None:
        if token.name == b"xmp":
            self._close_p()
            self._reconstruct()
        self._frameset_ok &= token.name == b"noembed"
        self._insert_raw(token)

    def _start_select(self, token: Token) -> None:
        if self._in_scope(b"select"):
            self._pop_through(b"select")
            return
        self._reconstruct()
        self._insert(token)
        self._frameset_ok = False

    def _start_option(self, token: Token) -> None:
        if self._in_scope(b"select"):
            self._imply_ends(b"optgroup" if token.name == b"option" else b"")
        elif self._open[-1].is_html(b"option"):
            self._pop()
        self._reconstruct()
        self._insert(token)

    def _start_ruby(self, token: Token) -> None:
        if self._in_scope(b"ruby"):
            self._imply_ends(b"rtc" if token.name in (b"rp", b"rt") else b"")
        self._insert(token)

    def _start_foreign(self, token: Token) -> None:
        self._reconstruct()
        self._insert_foreign(token, MATH if token.name == b"math" else SVG)

    def _start_in_table(self, token: Token) -> None:
        name = token.name
        if name == b"caption":
            self._clear_to(_TABLE)
            self._listed.append(None)
            self._push(name)
            self._mode = IN_CAPTION
        elif name in (b"colgroup", b"col"):
            self._clear_to(_TABLE)
            self._push(b"colgroup")
            self._mode = IN_COLGROUP
        elif name in _TABLE_PARTS:
            self._clear_to(_TABLE)
            self._push(name if name in _SECTIONS else b"tbody")
            self._mode = IN_TABLE_BODY
            if name not in _SECTIONS:
                self._start_html(token, self._mode)
        elif name == b"table":
            if self._in_scope(name, _TABLE_SCOPE):
                self._pop_through(name)
                self._reset_mode()
                self._start_html(token, self._mode)
        elif name == b"input" and _is_hidden(token):
            self._insert_void(token)
        elif name == b"form":
            if not self._templates and self._form is None:
                self._form = token
        else:
            self._start_in_body(token)

    def _start_in_table_part(self, token: Token, mode: int) -> None:
        name = token.name
        if mode == IN_COLGROUP:
            if name == b"template":
                self._start_headed(token)
            elif name not in (b"html", b"col") and self._end_colgroup():
                self._start_html(token, self._mode)
        elif mode == IN_TABLE_BODY and name in (b"tr", b"td", b"th"):
            self._clear_to(_SECTIONS)
            self._push(b"tr")
            self._mode = IN_ROW
            if name != b"tr":
                self._start_html(token, self._mode)
        elif mode == IN_ROW and name in (b"td", b"th"):
            self._clear_to(_ROW)
            self._push(name)
            self._mode = IN_CELL
            self._listed.append(None)
        elif name in _TABLE_PARTS:
            if self._end_table_part(mode):
                self._start_html(token, self._mode)
        elif mode in (IN_CAPTION, IN_CELL):
            self._start_in_body(token)
        else:
            self._start_in_table(token)

    def _end_table_part(self, mode: int) -> bool:
        """Close the caption, section, row or cell of a mode; tells whether there was one."""
        if mode == IN_CAPTION:
            return self._end_caption()
        if mode == IN_TABLE_BODY:
            return self._end_section()
        if mode == IN_ROW:
            return self._end_row()
        if self._in_scope(_CELLS, _TABLE_SCOPE):
            self._close_cell()
            return True
        return False

    def _clear_to(self, names: frozenset[bytes]) -> None:
        while self._open:
            top = self._open[-1]
            if top.namespace == HTML and (top.name in names or top.name in (b"template", b"html")):
                return
            self._pop()

    def _end_caption(self) -> bool:
        if not self._in_scope(b"caption", _TABLE_SCOPE):
            return False
        self._pop_through(b"caption")
        self._clear_to_marker()
        self._mode = IN_TABLE
        return True

    def _end_colgroup(self) -> bool:
        if not self._open[-1].is_html(b"colgroup"):
            return False
        self._pop()
        self._mode = IN_TABLE
        return True

    def _end_section(self) -> bool:
        if not self._in_scope(_SECTIONS, _TABLE_SCOPE):
            return False
        self._clear_to(_SECTIONS)
        self._pop()
        self._mode = IN_TABLE
        return True

    def _end_row(self) -> bool:
        if not self._in_scope(b"tr", _TABLE_SCOPE):
            return False
        self._clear_to(_ROW)
        self._pop()
        self._mode = IN_TABLE_BODY
        return True

    def _close_cell(self) -> None:
        self._pop_through(_CELLS)
        self._clear_to_marker()
        self._mode = IN_ROW

    # ---- end tags

    def _end_html(self, token: Token, mode: int) -> None:
        name = token.name
        if mode == IN_BODY:
            self._end_in_body(token)
        elif mode in (BEFORE_HTML, BEFORE_HEAD):
            if name in _ENDS_HEAD or name == b"head":
                self._begin()
                self._end_html(token, self._mode)
        elif mode in (IN_HEAD, AFTER_HEAD):
            if name == b"template":
                self._end_template()
            elif name in _ENDS_HEAD or (name == b"head" and mode == IN_HEAD):
                self._begin()
                if name != b"head":
                    self._end_html(token, self._mode)
        elif mode == IN_HEAD_NOSCRIPT:
            if name in (b"noscript", b"br"):
                self._begin()
                if name == b"br":
                    self._end_html(token, self._mode)
        elif mode == IN_TEMPLATE:
            if name == b"template":
                self._end_template()
        elif mode in (AFTER_BODY, AFTER_AFTER_BODY, IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_FRAMESET):
            self._end_after(token, mode)
        else:
            self._end_in_table_part(token, mode)

    def _end_after(self, token: Token, mode: int) -> None:
        if mode == IN_FRAMESET:
            if token.name == b"frameset" and len(self._open) > 1:
                self._pop()
                if not self._open[-1].is_html(b"frameset"):
                    self._mode = AFTER_FRAMESET
        elif mode in (AFTER_BODY, AFTER_FRAMESET) and token.name == b"html":
            self._mode = AFTER_AFTER_BODY if mode == AFTER_BODY else AFTER_AFTER_FRAMESET
        elif mode in (AFTER_BODY, AFTER_AFTER_BODY):
            self._mode = IN_BODY
            self._end_in_body(token)

    def _end_in_body(self, token: Token) -> None:
        name = token.name
        if name in _FORMATTING:
            self._adopt(name)
        elif name == b"template":
            self._end_template()
        elif name in (b"body", b"html"):
            if self._in_scope(b"body"):
                self._mode = AFTER_BODY
                if name == b"html":
                    self._end_html(token, self._mode)
        elif name == b"form":
            self._end_form()
        elif name == b"br":
            self._reconstruct()
            self._frameset_ok = False
        elif name in (b"p", b"li"):
            if self._in_scope(name, _BUTTON_SCOPE if name == b"p" else _LIST_SCOPE):
                self._pop_through(name)
        elif name in _HEADINGS:
            if self._in_scope(_HEADINGS):
                self._pop_through(_HEADINGS)
        elif name in _BLOCKS or name in _SCOPED_ENDS:
            if self._in_scope(name):
                self._pop_through(name)
                if name in _MARKED:
                    self._clear_to_marker()
        else:
            self._end_other(name)

    def _end_form(self) -> None:
        if self._templates:
            if self._in_scope(b"form"):
                self._pop_through(b"form")
            return
        form, self._form = self._form, None
        if form is None:
            return
        self._walked(len(self._open))
        if isinstance(form, _Element) and form in self._open:
            place = self._open.index(form)
            if not any(element.scope for element in self._open[place + 1 :]):
                self._imply_ends()
                self._remove_open(self._open.index(form))

    def _end_in_table(self, token: Token) -> None:
        name = token.name
        if name == b"table":
            if self._in_scope(name, _TABLE_SCOPE):
                self._pop_through(name)
                self._reset_mode()
        elif name not in (b"body", b"html") and name not in _TABLE_PARTS:
            self._end_in_body(token)

    def _end_in_table_part(self, token: Token, mode: int) -> None:
        name = token.name
        if mode == IN_COLGROUP:
            if name == b"template":
                self._end_template()
            elif name != b"col" and self._end_colgroup() and name != b"colgroup":
                self._end_html(token, self._mode)
        elif name == _OWN_END.get(mode):
            self._end_table_part(mode)
        elif mode == IN_TABLE_BODY and name in _SECTIONS:
            if self._in_scope(name, _TABLE_SCOPE):
                self._end_section()
        elif mode == IN_CELL and name in _CELLS:
            if self._in_scope(name):
                self._pop_through(name)
                self._clear_to_marker()
                self._mode = IN_ROW
        elif mode != IN_TABLE and name in _CLOSED_BY[mode]:
            is_there = name == b"table" and mode != IN_CELL
            if (is_there or self._in_scope(name, _TABLE_SCOPE)) and self._close_table_part(mode):
                self._end_html(token, self._mode)
        elif mode not in (IN_CAPTION, IN_CELL):
            self._end_in_table(token)
        elif name not in (b"body", b"html") and name not in _TABLE_PARTS:
            self._end_in_body(token)

    def _close_table_part(self, mode: int) -> bool:
        if mode == IN_CELL:
            self._close_cell()
            return True
        return self._end_table_part(mode)

    # ---- foreign content (13.2.6.5)

    def _takes_html(self, top: _Element, name: bytes) -> bool:
        return (
            top.in_html
            or (top.text_point and name not in (b"mglyph", b"malignmark"))
            or (top.namespace == MATH and top.name == b"annotation-xml" and name == b"svg")
        )

    def _leave_foreign(self) -> None:
        while (top := self._open[-1]).namespace != HTML and not (top.text_point or top.in_html):
            self._pop()

    def _insert_foreign(self, token: Token, namespace: int) -> None:
        self._emit(token.name, token.attributes)
        if token.self_closing:
            return
        element = self._push(token.name, namespace)
        if namespace == MATH and token.name in _MATH_TEXT:
            element.special = element.scope = element.text_point = True
        elif namespace == MATH and token.name == b"annotation-xml":
            element.special = element.scope = True
            element.in_html = token.attributes.get(b"encoding", b"").lower() in _HTML_ENCODINGS
        elif namespace == SVG and token.name in _SVG_POINTS:
            element.special = element.scope = element.in_html = True


def _is_hidden(token: Token) -> bool:
    return token.attributes.get(b"type", b"").lower() == b"hidden"


_TABLE, _ROW, _CELLS = _names("table"), _names("tr"), _names("td th")
_SCOPED_ENDS = _names("applet button dd dt marquee object select")
_MARKED = _names("applet marquee object")
_BEFORE_TEXT = frozenset((
    BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD, AFTER_BODY, AFTER_AFTER_BODY, IN_COLGROUP,
    IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_FRAMESET,
))  # fmt: skip
_MODES = {
    b"td": IN_CELL, b"th": IN_CELL, b"tr": IN_ROW, b"tbody": IN_TABLE_BODY, b"thead": IN_TABLE_BODY,
    b"tfoot": IN_TABLE_BODY, b"caption": IN_CAPTION, b"colgroup": IN_COLGROUP, b"table": IN_TABLE, b"head": IN_HEAD,
    b"body": IN_BODY, b"frameset": IN_FRAMESET,
}  # fmt: skip
_OWN_END = {IN_CAPTION: b"caption", IN_ROW: b"tr"}
_CLOSED_BY = {
    IN_CAPTION: _TABLE, IN_TABLE_BODY: _TABLE, IN_ROW: _TABLE | _SECTIONS, IN_CELL: _TABLE | _SECTIONS | _ROW,
}  # fmt: skip
_BODY_STARTS = {
    **dict.fromkeys(_names("html head frame"), Builder._start_nothing),
    **dict.fromkeys(_names("dd dt li"), Builder._start_item),
    **dict.fromkeys(_names("applet marquee object"), Builder._start_object),
    **dict.fromkeys(_names("area br embed image img keygen wbr"), Builder._start_void),
    **dict.fromkeys(_names("param source track"), Builder._start_source),
    **dict.fromkeys(_names("textarea iframe noembed xmp"), Builder._start_raw),
    **dict.fromkeys(_names("option optgroup"), Builder._start_option),
    **dict.fromkeys(_names("rb rtc rp rt"), Builder._start_ruby),
    **dict.fromkeys(_names("math svg"), Builder._start_foreign),
    b"body": Builder._start_body,
    b"frameset": Builder._start_frameset,
    b"form": Builder._start_form,
    b"plaintext": Builder._start_plaintext,
    b"button": Builder._start_button,
    b"table": Builder._start_table,
    b"input": Builder._start_input,
    b"hr": Builder._start_hr,
    b"select": Builder._start_select,
}
