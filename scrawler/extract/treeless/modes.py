"""The insertion modes (13.2.6.4): what a tag does in each of them.

A rule tells whether the tag is to be taken again, by those of the mode now set.
"""

from __future__ import annotations

from collections.abc import Callable

from scrawler.extract.treeless.ends import end_in_body
from scrawler.extract.treeless.formatting import clear_to_marker, insert_marker
from scrawler.extract.treeless.open_elements import (
    TABLE_SCOPE,
    find_open,
    in_scope,
    insert_raw,
    insert_void,
    pop,
    pop_through,
    push,
    remove_open,
)
from scrawler.extract.treeless.starts import start_headed, start_in_body
from scrawler.extract.treeless.state import Mode, State, Token
from scrawler.extract.treeless.tables import (
    CELLS,
    ROW,
    clear_to,
    close_cell,
    end_caption,
    end_colgroup,
    end_in_table,
    end_row,
    end_section,
    start_in_table,
)
from scrawler.extract.treeless.tags import HEADED, SECTIONS, TABLE_PARTS, names
from scrawler.extract.treeless.templates import end_template, template_mode

Rule = Callable[[State, Token], bool | None]

_ENDS_HEAD = names("body br html")
_IN_NOSCRIPT = names("basefont bgsound link meta noframes style")
_IN_TEMPLATE = {
    **dict.fromkeys(SECTIONS | {b"caption", b"colgroup"}, Mode.IN_TABLE),
    **dict.fromkeys(CELLS, Mode.IN_ROW),
    b"col": Mode.IN_COLGROUP,
    b"tr": Mode.IN_TABLE_BODY,
}


def start_html(state: State, token: Token) -> None:
    """Take a start tag by the rules of HTML."""
    while _STARTS[state.mode](state, token):
        pass


def end_html(state: State, token: Token) -> None:
    """Take an end tag by the rules of HTML."""
    while _ENDS[state.mode](state, token):
        pass


def begin(state: State) -> None:
    """Take the step from one of the modes before the body to the next."""
    if state.mode == Mode.BEFORE_HTML:
        push(state, b"html")
        state.mode = Mode.BEFORE_HEAD
    elif state.mode == Mode.BEFORE_HEAD:
        push(state, b"head")
        state.head_seen, state.mode = True, Mode.IN_HEAD
    elif state.mode == Mode.AFTER_HEAD:
        state.found_in_head = len(state.found)
        push(state, b"body")
        state.mode = Mode.IN_BODY
    else:
        pop(state)
        state.mode = Mode.IN_HEAD if state.mode == Mode.IN_HEAD_NOSCRIPT else Mode.AFTER_HEAD


def _start_before_html(state: State, token: Token) -> bool:
    begin(state)
    return token.name != b"html"


def _start_before_head(state: State, token: Token) -> bool:
    if token.name == b"html":
        return False
    begin(state)
    return token.name != b"head"


def _start_in_head(state: State, token: Token) -> bool:
    name = token.name
    if name in HEADED:
        start_headed(state, token)
    elif name == b"noscript":
        push(state, name)
        state.mode = Mode.IN_HEAD_NOSCRIPT
    elif name not in (b"html", b"head"):
        begin(state)
        return True
    return False


def _start_in_noscript(state: State, token: Token) -> bool:
    if token.name in _IN_NOSCRIPT:
        start_headed(state, token)
    elif token.name not in (b"html", b"head", b"noscript"):
        begin(state)
        return True
    return False


def _start_after_head(state: State, token: Token) -> bool:
    name = token.name
    if name in (b"html", b"head"):
        return False
    if name == b"body":
        begin(state)
        state.frameset_ok = False
    elif name == b"frameset":
        push(state, name)
        state.mode = Mode.IN_FRAMESET
    elif name in HEADED:
        head = push(state, b"head")
        start_headed(state, token)
        remove_open(state, find_open(state, head))
    else:
        begin(state)
        return True
    return False


def _start_in_caption(state: State, token: Token) -> bool:
    if token.name in TABLE_PARTS:
        return end_caption(state)
    start_in_body(state, token)
    return False


def _start_in_colgroup(state: State, token: Token) -> bool:
    if token.name in (b"html", b"col"):
        return False
    if token.name == b"template":
        start_headed(state, token)
        return False
    return end_colgroup(state)


def _start_in_table_body(state: State, token: Token) -> bool:
    if token.name in ROW or token.name in CELLS:
        clear_to(state, SECTIONS)
        push(state, b"tr")
        state.mode = Mode.IN_ROW
        return token.name in CELLS
    return end_section(state) if token.name in TABLE_PARTS else start_in_table(state, token)


def _start_in_row(state: State, token: Token) -> bool:
    if token.name in CELLS:
        clear_to(state, ROW)
        push(state, token.name)
        state.mode = Mode.IN_CELL
        insert_marker(state)
        return False
    return end_row(state) if token.name in TABLE_PARTS else start_in_table(state, token)


def _start_in_cell(state: State, token: Token) -> bool:
    if token.name not in TABLE_PARTS:
        start_in_body(state, token)
    elif in_scope(state, b"td", TABLE_SCOPE) or in_scope(state, b"th", TABLE_SCOPE):
        close_cell(state)
        return True
    return False


def _start_in_template(state: State, token: Token) -> bool:
    if token.name in HEADED:
        start_headed(state, token)
        return False
    template_mode(state, _IN_TEMPLATE.get(token.name, Mode.IN_BODY))
    return True


def _start_after_body(state: State, token: Token) -> bool:
    if token.name == b"html":
        return False
    state.mode = Mode.IN_BODY
    return True


def _start_in_frameset(state: State, token: Token) -> None:
    if token.name == b"frameset":
        push(state, token.name)
    elif token.name == b"frame":
        insert_void(state, token)
    elif token.name == b"noframes":
        insert_raw(state, token)


def _start_after_frameset(state: State, token: Token) -> None:
    if token.name == b"noframes":
        insert_raw(state, token)


def _end_before_head(state: State, token: Token) -> bool:
    if token.name not in _ENDS_HEAD and token.name != b"head":
        return False
    begin(state)
    return True


def _end_in_head(state: State, token: Token) -> bool:
    if token.name == b"template":
        end_template(state)
    elif token.name in _ENDS_HEAD or token.name == b"head":
        begin(state)
        return token.name != b"head"
    return False


def _end_in_noscript(state: State, token: Token) -> bool:
    if token.name in (b"noscript", b"br"):
        begin(state)
    return token.name == b"br"


def _end_after_head(state: State, token: Token) -> bool:
    if token.name == b"template":
        end_template(state)
    elif token.name in _ENDS_HEAD:
        begin(state)
        return True
    return False


def _end_in_caption(state: State, token: Token) -> bool:
    if token.name == b"table":
        return end_caption(state)
    if token.name == b"caption":
        end_caption(state)
    elif token.name not in (b"body", b"html") and token.name not in TABLE_PARTS:
        end_in_body(state, token)
    return False


def _end_in_colgroup(state: State, token: Token) -> bool:
    if token.name == b"template":
        end_template(state)
        return False
    return token.name != b"col" and end_colgroup(state) and token.name != b"colgroup"


def _end_in_table_body(state: State, token: Token) -> bool:
    if token.name in SECTIONS:
        if in_scope(state, token.name, TABLE_SCOPE):
            end_section(state)
        return False
    return end_section(state) if token.name == b"table" else end_in_table(state, token)


def _end_in_row(state: State, token: Token) -> bool:
    if token.name == b"tr":
        end_row(state)
        return False
    if token.name == b"table" or token.name in SECTIONS:
        return (token.name == b"table" or in_scope(state, token.name, TABLE_SCOPE)) and end_row(state)
    return end_in_table(state, token)


def _end_in_cell(state: State, token: Token) -> bool:
    name = token.name
    if name in CELLS:
        if in_scope(state, name):
            pop_through(state, name)
            clear_to_marker(state)
            state.mode = Mode.IN_ROW
    elif name in (b"table", b"tr") or name in SECTIONS:
        if in_scope(state, name, TABLE_SCOPE):
            close_cell(state)
            return True
    elif name not in (b"body", b"html") and name not in TABLE_PARTS:
        end_in_body(state, token)
    return False


def _end_in_template(state: State, token: Token) -> None:
    if token.name == b"template":
        end_template(state)


def _end_after_body(state: State, token: Token) -> bool:
    if token.name == b"html" and state.mode == Mode.AFTER_BODY:
        state.mode = Mode.AFTER_AFTER_BODY
        return False
    state.mode = Mode.IN_BODY
    return True


def _end_in_frameset(state: State, token: Token) -> None:
    if token.name == b"frameset" and len(state.open) > 1:
        pop(state)
        if not state.open[-1].is_html(b"frameset"):
            state.mode = Mode.AFTER_FRAMESET


def _end_after_frameset(state: State, token: Token) -> None:
    if token.name == b"html":
        state.mode = Mode.AFTER_AFTER_FRAMESET


_STARTS: dict[int, Rule] = {
    Mode.BEFORE_HTML: _start_before_html,
    Mode.BEFORE_HEAD: _start_before_head,
    Mode.IN_HEAD: _start_in_head,
    Mode.IN_HEAD_NOSCRIPT: _start_in_noscript,
    Mode.AFTER_HEAD: _start_after_head,
    Mode.IN_BODY: start_in_body,
    Mode.IN_TABLE: start_in_table,
    Mode.IN_CAPTION: _start_in_caption,
    Mode.IN_COLGROUP: _start_in_colgroup,
    Mode.IN_TABLE_BODY: _start_in_table_body,
    Mode.IN_ROW: _start_in_row,
    Mode.IN_CELL: _start_in_cell,
    Mode.IN_TEMPLATE: _start_in_template,
    Mode.AFTER_BODY: _start_after_body,
    Mode.IN_FRAMESET: _start_in_frameset,
    Mode.AFTER_FRAMESET: _start_after_frameset,
    Mode.AFTER_AFTER_BODY: _start_after_body,
    Mode.AFTER_AFTER_FRAMESET: _start_after_frameset,
}
_ENDS: dict[int, Rule] = {
    Mode.BEFORE_HTML: _end_before_head,
    Mode.BEFORE_HEAD: _end_before_head,
    Mode.IN_HEAD: _end_in_head,
    Mode.IN_HEAD_NOSCRIPT: _end_in_noscript,
    Mode.AFTER_HEAD: _end_after_head,
    Mode.IN_BODY: end_in_body,
    Mode.IN_TABLE: end_in_table,
    Mode.IN_CAPTION: _end_in_caption,
    Mode.IN_COLGROUP: _end_in_colgroup,
    Mode.IN_TABLE_BODY: _end_in_table_body,
    Mode.IN_ROW: _end_in_row,
    Mode.IN_CELL: _end_in_cell,
    Mode.IN_TEMPLATE: _end_in_template,
    Mode.AFTER_BODY: _end_after_body,
    Mode.IN_FRAMESET: _end_in_frameset,
    Mode.AFTER_FRAMESET: _end_after_frameset,
    Mode.AFTER_AFTER_BODY: _end_after_body,
    Mode.AFTER_AFTER_FRAMESET: lambda state, token: None,
}
