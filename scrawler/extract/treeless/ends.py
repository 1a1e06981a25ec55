"""End tags in the body (13.2.6.4.7)."""

from __future__ import annotations

from scrawler.extract.treeless.formatting import adopt, clear_to_marker, reconstruct
from scrawler.extract.treeless.open_elements import (
    BUTTON_SCOPE,
    LIST_SCOPE,
    end_other,
    find_open,
    imply_ends,
    in_scope,
    pop_through,
    pop_to,
    remove_open,
    walked,
)
from scrawler.extract.treeless.state import HTML, Mode, State, Token
from scrawler.extract.treeless.tags import BLOCKS, FORMATTING, HEADINGS, NOTHING, names
from scrawler.extract.treeless.templates import end_template

_SCOPED = BLOCKS | names("applet button dd dt li marquee object p select")
_MARKED = names("applet marquee object")
_OTHER_SCOPES = {b"p": BUTTON_SCOPE, b"li": LIST_SCOPE}


def end_in_body(state: State, token: Token) -> bool:
    """Take an end tag by the rules for the body; tells whether to take it again, by those of the mode now set."""
    name = token.name
    if name in FORMATTING:
        adopt(state, name)
    elif name == b"template":
        end_template(state)
    elif name in (b"body", b"html"):
        if in_scope(state, b"body"):
            state.mode = Mode.AFTER_BODY
            return name == b"html"
    elif name == b"form":
        _end_form(state)
    elif name == b"br":
        reconstruct(state)
        state.frameset_ok = False
    elif name in HEADINGS:
        _end_heading(state)
    elif name in _SCOPED:
        if in_scope(state, name, _OTHER_SCOPES.get(name, NOTHING)):
            pop_through(state, name)
            if name in _MARKED:
                clear_to_marker(state)
    else:
        end_other(state, name)
    return False


def _end_form(state: State) -> None:
    if state.templates:
        if in_scope(state, b"form"):
            pop_through(state, b"form")
        return
    form, state.form = state.form, None
    place = find_open(state, form) if form is not None else -1
    if place < 0 or any(element.scope for element in state.open[place + 1 :]):
        return
    imply_ends(state)
    remove_open(state, place)


def _end_heading(state: State) -> None:
    for place in range(len(state.open) - 1, -1, -1):
        element = state.open[place]
        is_heading = element.namespace == HTML and element.name in HEADINGS
        if is_heading or element.scope:
            walked(state, len(state.open) - place)
            if is_heading:
                pop_to(state, place)
            return
