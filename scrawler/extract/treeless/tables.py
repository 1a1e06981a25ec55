"""Tables (13.2.6.4.9 to 15): what closes their parts, and tags that are in a table but in no part of it.

Rules for tags tell whether the tag is to be taken again, by those of the mode now set.
"""

from __future__ import annotations

from scrawler.extract.treeless.ends import end_in_body
from scrawler.extract.treeless.formatting import clear_to_marker, insert_marker
from scrawler.extract.treeless.open_elements import (
    TABLE_SCOPE,
    imply_ends,
    in_scope,
    insert_void,
    pop,
    pop_through,
    push,
)
from scrawler.extract.treeless.starts import is_hidden_input, start_in_body
from scrawler.extract.treeless.state import HTML, Element, Mode, State, Token
from scrawler.extract.treeless.tags import SECTIONS, TABLE_PARTS, names
from scrawler.extract.treeless.templates import reset_mode

TABLE, ROW, CELLS = names("table"), names("tr"), names("td th")


def clear_to(state: State, wanted: frozenset[bytes]) -> None:
    """Close elements up to one of these names, which stays open."""
    while state.open:
        top = state.open[-1]
        if top.namespace == HTML and (top.name in wanted or top.name in (b"template", b"html")):
            return
        pop(state)


def end_caption(state: State) -> bool:
    """Close the caption; tells whether there was one."""
    if not in_scope(state, b"caption", TABLE_SCOPE):
        return False
    pop_through(state, b"caption")
    clear_to_marker(state)
    state.mode = Mode.IN_TABLE
    return True


def close_cell(state: State) -> None:
    """Close the cell that is known to be open."""
    imply_ends(state)
    while state.open:
        last = state.open[-1]
        pop(state)
        if last.namespace == HTML and last.name in CELLS:
            break
    clear_to_marker(state)
    state.mode = Mode.IN_ROW


def end_row(state: State) -> bool:
    """Close the row; tells whether there was one."""
    if not in_scope(state, b"tr", TABLE_SCOPE):
        return False
    clear_to(state, ROW)
    pop(state)
    state.mode = Mode.IN_TABLE_BODY
    return True


def end_section(state: State) -> bool:
    """Close the section; tells whether there was one."""
    if not any(in_scope(state, name, TABLE_SCOPE) for name in (b"tbody", b"thead", b"tfoot")):
        return False
    clear_to(state, SECTIONS)
    pop(state)
    state.mode = Mode.IN_TABLE
    return True


def end_colgroup(state: State) -> bool:
    """Close the group of columns; tells whether there was one."""
    if not state.open[-1].is_html(b"colgroup"):
        return False
    pop(state)
    state.mode = Mode.IN_TABLE
    return True


def start_in_table(state: State, token: Token) -> bool:
    """Take a start tag in a table but in no part of it."""
    name = token.name
    if name == b"caption":
        clear_to(state, TABLE)
        insert_marker(state)
        push(state, name)
        state.mode = Mode.IN_CAPTION
    elif name in (b"colgroup", b"col"):
        clear_to(state, TABLE)
        push(state, b"colgroup")
        state.mode = Mode.IN_COLGROUP
    elif name in TABLE_PARTS:
        clear_to(state, TABLE)
        push(state, name if name in SECTIONS else b"tbody")
        state.mode = Mode.IN_TABLE_BODY
        return name not in SECTIONS
    elif name == b"table":
        return _end_table(state)
    elif name == b"input" and is_hidden_input(token):
        insert_void(state, token)
    elif name == b"form":
        if not state.templates and state.form is None:
            state.form = Element(name)  # which is closed as soon as it is open
    else:
        start_in_body(state, token)
    return False


def end_in_table(state: State, token: Token) -> bool:
    """Take an end tag in a table but in no part of it."""
    if token.name == b"table":
        _end_table(state)
        return False
    if token.name in (b"body", b"html") or token.name in TABLE_PARTS:
        return False
    return end_in_body(state, token)


def _end_table(state: State) -> bool:
    if not in_scope(state, b"table", TABLE_SCOPE):
        return False
    pop_through(state, b"table")
    reset_mode(state)
    return True
