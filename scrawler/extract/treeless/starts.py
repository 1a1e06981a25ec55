"""Start tags in the head and in the body (13.2.6.4.4 and 13.2.6.4.7)."""

from __future__ import annotations

from scrawler.extract.treeless.foreign import insert_foreign
from scrawler.extract.treeless.formatting import (
    adopt,
    find_listed,
    insert_formatting,
    insert_marker,
    last_listed,
    reconstruct,
)
from scrawler.extract.treeless.found import emit
from scrawler.extract.treeless.open_elements import (
    close_p,
    find_open,
    imply_ends,
    in_scope,
    insert,
    insert_raw,
    insert_void,
    pop,
    pop_through,
    pop_to,
    push,
    remove_open,
    walked,
)
from scrawler.extract.treeless.state import HTML, MATH, SVG, Mode, State, Token
from scrawler.extract.treeless.tags import BLOCKS, FORMATTING, HEADED, HEADINGS, RAW, TABLE_PARTS, names
from scrawler.extract.treeless.templates import start_template


def start_headed(state: State, token: Token) -> None:
    """Take a start tag that is processed as in the head, by the rules that do not leave it."""
    if token.name in RAW:
        insert_raw(state, token)
    elif token.name == b"template":
        start_template(state)
    else:
        insert_void(state, token)


def is_hidden_input(token: Token) -> bool:
    """Tell whether an <input> is one that nobody sees."""
    return token.attributes.get(b"type", b"").lower() == b"hidden"


def start_in_body(state: State, token: Token) -> None:
    """Take a start tag by the rules for the body, which are those for most places."""
    name = token.name
    if name in HEADED:
        start_headed(state, token)
    elif name in FORMATTING:
        _start_formatting(state, token)
    elif name in BLOCKS:
        close_p(state)
        insert(state, token)
        state.frameset_ok &= name not in (b"pre", b"listing")
    elif name in HEADINGS:
        close_p(state)
        if state.open[-1].namespace == HTML and state.open[-1].name in HEADINGS:
            pop(state)
        insert(state, token)
    elif rule := _RULES.get(name):
        rule(state, token)
    elif name not in TABLE_PARTS:
        reconstruct(state)
        insert(state, token)


def _start_formatting(state: State, token: Token) -> None:
    if token.name == b"a":
        _close_a(state)
    reconstruct(state)
    if token.name == b"nobr" and in_scope(state, b"nobr"):
        adopt(state, b"nobr")
        reconstruct(state)
    insert_formatting(state, token)


def _close_a(state: State) -> None:
    if last := last_listed(state, b"a"):
        element = last[1].element
        adopt(state, b"a")
        listed, place = find_listed(state, element), find_open(state, element)
        if listed >= 0:
            del state.listed[listed]
        if place >= 0:
            remove_open(state, place)
    walked(state, len(state.listed) // 8)


def _start_nothing(state: State, token: Token) -> None:
    pass


def _start_body(state: State, token: Token) -> None:
    if len(state.open) > 1 and state.open[1].is_html(b"body") and not state.templates:
        state.frameset_ok = False


def _start_frameset(state: State, token: Token) -> None:
    if len(state.open) < 2 or not state.open[1].is_html(b"body") or not state.frameset_ok:
        return
    pop_to(state, 1)
    del state.found[state.found_in_head :]  # the body goes, with all that is in it
    push(state, b"frameset")
    state.mode = Mode.IN_FRAMESET


def _start_form(state: State, token: Token) -> None:
    if state.form is not None and not state.templates:
        return
    close_p(state)
    form = insert(state, token)
    if not state.templates:
        state.form = form


def _start_list_item(state: State, token: Token) -> None:
    state.frameset_ok = False
    items = (b"li",) if token.name == b"li" else (b"dd", b"dt")
    for place in range(len(state.open) - 1, -1, -1):
        element = state.open[place]
        is_html = element.namespace == HTML
        if is_html and element.name in items:
            walked(state, len(state.open) - place)
            pop_to(state, place)
            break
        if element.special and not (is_html and element.name in (b"address", b"div", b"p")):
            walked(state, len(state.open) - place)
            break
    close_p(state)
    insert(state, token)


def _start_plaintext(state: State, token: Token) -> None:
    close_p(state)
    insert(state, token)
    state.plaintext = True


def _start_button(state: State, token: Token) -> None:
    if in_scope(state, b"button"):
        pop_through(state, b"button")
    reconstruct(state)
    insert(state, token)
    state.frameset_ok = False


def _start_object(state: State, token: Token) -> None:
    reconstruct(state)
    insert(state, token)
    insert_marker(state)
    state.frameset_ok = False


def _start_table(state: State, token: Token) -> None:
    if state.quirks is False:
        close_p(state)
    insert(state, token)
    state.frameset_ok = False
    state.mode = Mode.IN_TABLE


def _start_void(state: State, token: Token) -> None:
    reconstruct(state)
    emit(state, b"img" if token.name == b"image" else token.name, token.attributes)
    state.frameset_ok = False


def _start_input(state: State, token: Token) -> None:
    if in_scope(state, b"select"):
        pop_through(state, b"select")
    reconstruct(state)
    insert_void(state, token)
    state.frameset_ok &= is_hidden_input(token)


def _start_hr(state: State, token: Token) -> None:
    close_p(state)
    if in_scope(state, b"select"):
        imply_ends(state)
    state.frameset_ok = False


def _start_raw(state: State, token: Token) -> None:
    if token.name == b"xmp":
        close_p(state)
        reconstruct(state)
    state.frameset_ok &= token.name == b"noembed"
    insert_raw(state, token)


def _start_select(state: State, token: Token) -> None:
    if in_scope(state, b"select"):
        pop_through(state, b"select")
        return
    reconstruct(state)
    insert(state, token)
    state.frameset_ok = False


def _start_option(state: State, token: Token) -> None:
    if in_scope(state, b"select"):
        imply_ends(state, b"optgroup" if token.name == b"option" else b"")
    elif state.open[-1].is_html(b"option"):
        pop(state)
    reconstruct(state)
    insert(state, token)


def _start_ruby(state: State, token: Token) -> None:
    if in_scope(state, b"ruby"):
        imply_ends(state, b"rtc" if token.name in (b"rp", b"rt") else b"")
    insert(state, token)


def _start_foreign(state: State, token: Token) -> None:
    reconstruct(state)
    insert_foreign(state, token, MATH if token.name == b"math" else SVG)


_RULES = {
    **dict.fromkeys(names("html head frame"), _start_nothing),
    **dict.fromkeys(names("dd dt li"), _start_list_item),
    **dict.fromkeys(names("applet marquee object"), _start_object),
    **dict.fromkeys(names("area br embed image img keygen wbr"), _start_void),
    **dict.fromkeys(names("param source track"), insert_void),
    **dict.fromkeys(names("textarea iframe noembed xmp"), _start_raw),
    **dict.fromkeys(names("option optgroup"), _start_option),
    **dict.fromkeys(names("rb rtc rp rt"), _start_ruby),
    **dict.fromkeys(names("math svg"), _start_foreign),
    b"body": _start_body,
    b"frameset": _start_frameset,
    b"form": _start_form,
    b"plaintext": _start_plaintext,
    b"button": _start_button,
    b"table": _start_table,
    b"input": _start_input,
    b"hr": _start_hr,
    b"select": _start_select,
}
