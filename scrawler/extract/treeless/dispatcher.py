"""Where a tag goes (13.2.6): to the rules of foreign content, of the insertion mode, or, on a flat page, to few."""

from __future__ import annotations

from scrawler.extract.treeless.foreign import insert_foreign, leave_foreign
from scrawler.extract.treeless.found import emit
from scrawler.extract.treeless.modes import end_html, start_html
from scrawler.extract.treeless.open_elements import insert_raw, pop_to, walked
from scrawler.extract.treeless.state import HTML, MATH, Element, State, Token
from scrawler.extract.treeless.tags import BREAKOUT, RAW


def start_tag(state: State, token: Token) -> None:
    """Take a start tag."""
    if state.flat:
        _start_flat(state, token)
        return
    if state.open and (top := state.open[-1]).namespace != HTML and not _takes_html(top, token.name):
        if token.name not in BREAKOUT and not (token.name == b"font" and token.attributes):
            insert_foreign(state, token, top.namespace)
            return
        leave_foreign(state)
    start_html(state, token)


def end_tag(state: State, token: Token) -> None:
    """Take an end tag."""
    if state.flat:
        if token.name == b"template" and state.templates:
            state.templates -= 1
        return
    if state.open and state.open[-1].namespace != HTML:
        if token.name in (b"br", b"p"):
            leave_foreign(state)
        else:
            place = len(state.open) - 1
            while state.open[place].namespace != HTML and state.open[place].name != token.name:
                place -= 1
            walked(state, len(state.open) - place)
            if state.open[place].namespace != HTML:
                pop_to(state, place)
                return
    end_html(state, token)


def _start_flat(state: State, token: Token) -> None:
    """Do what is left of the rules once the stack is given up: raw text, and templates by their number."""
    if token.name in RAW:
        insert_raw(state, token)
    elif token.name == b"template":
        state.templates += 1
    elif token.name == b"plaintext":
        state.plaintext = True
    else:
        emit(state, b"img" if token.name == b"image" else token.name, token.attributes)


def _takes_html(top: Element, name: bytes) -> bool:
    return (
        top.in_html
        or (top.text_point and name not in (b"mglyph", b"malignmark"))
        or (top.namespace == MATH and top.name == b"annotation-xml" and name == b"svg")
    )
