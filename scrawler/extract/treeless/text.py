"""Text: what of it opens or closes elements, which is little. The letters themselves are not kept."""

from __future__ import annotations

import re

from scrawler.extract.treeless.formatting import reconstruct
from scrawler.extract.treeless.modes import begin
from scrawler.extract.treeless.state import HTML, Mode, State
from scrawler.extract.treeless.tables import end_colgroup
from scrawler.extract.treeless.tags import SECTIONS

_PART = re.compile(
    rb"(?P<spaces>[ \t\n\f\r]+)|(?P<nul>\0)"
    rb"|(?P<reference>&(?:Tab;|NewLine;|#(?:0*(?:9|1[023]|32)(?![0-9])|[xX]0*(?:9|[aAcCdD]|20)(?![0-9a-fA-F]));?))"
)
_HOLDS_ROWS = SECTIONS | {b"table", b"tr"}
_IN_TABLE = frozenset((Mode.IN_TABLE, Mode.IN_TABLE_BODY, Mode.IN_ROW))
_IN_BODY = _IN_TABLE | {Mode.IN_BODY, Mode.IN_CELL, Mode.IN_CAPTION}
_MINDS_SPACES = _IN_BODY | {Mode.IN_TEMPLATE, Mode.AFTER_BODY, Mode.AFTER_AFTER_BODY, Mode.AFTER_AFTER_FRAMESET}
_BEGINS = frozenset((Mode.BEFORE_HTML, Mode.BEFORE_HEAD, Mode.IN_HEAD, Mode.IN_HEAD_NOSCRIPT, Mode.AFTER_HEAD))
_FRAMESETS = frozenset((Mode.IN_FRAMESET, Mode.AFTER_FRAMESET, Mode.AFTER_AFTER_FRAMESET))


def text(state: State, page: bytes, position: int, end: int, has_references: bool = True) -> None:
    """Take a run of text; `has_references`: it may hold character references."""
    if not state.frameset_ok and not state.reopen and state.mode in _IN_BODY:
        return
    while position < end:
        part = _PART.match(page, position, end)
        if part is None or (part["reference"] and not has_references):
            _letters(state)
            if state.mode != Mode.IN_COLGROUP:
                return
            position += 1  # each is dropped by itself
        else:
            if part["nul"]:
                _letters(state, is_nul=True)
            else:
                _spaces(state)
            position = part.end()


def _letters(state: State, is_nul: bool = False) -> None:
    """Take text that is not only white space; `is_nul`: nothing but NUL, which is dropped in HTML."""
    if state.flat:
        return
    if state.open and (top := state.open[-1]).namespace != HTML and not (top.text_point or top.in_html):
        state.frameset_ok &= is_nul
        return
    while True:
        if state.mode in _BEGINS:
            begin(state)
        elif state.mode in (Mode.AFTER_BODY, Mode.AFTER_AFTER_BODY):
            state.mode = Mode.IN_BODY
        elif state.mode == Mode.IN_COLGROUP:
            if not end_colgroup(state):
                return
        else:
            break
    if not is_nul and state.mode not in _FRAMESETS:
        reconstruct(state)
        state.frameset_ok = False


def _spaces(state: State) -> None:
    if state.flat or not state.reopen or state.mode not in _MINDS_SPACES:
        return
    top = state.open[-1]
    if state.mode in _IN_TABLE and top.namespace == HTML and top.name in _HOLDS_ROWS:
        return
    if top.namespace == HTML or top.text_point or top.in_html:
        reconstruct(state)
