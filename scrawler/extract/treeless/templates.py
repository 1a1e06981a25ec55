"""Templates, and the insertion mode that follows from what is open (13.2.4.1)."""

from __future__ import annotations

from scrawler.extract.treeless.formatting import clear_to_marker, insert_marker
from scrawler.extract.treeless.open_elements import pop_through, push, walked
from scrawler.extract.treeless.state import HTML, Mode, State

_MODES = {
    b"td": Mode.IN_CELL,
    b"th": Mode.IN_CELL,
    b"tr": Mode.IN_ROW,
    b"tbody": Mode.IN_TABLE_BODY,
    b"thead": Mode.IN_TABLE_BODY,
    b"tfoot": Mode.IN_TABLE_BODY,
    b"caption": Mode.IN_CAPTION,
    b"colgroup": Mode.IN_COLGROUP,
    b"table": Mode.IN_TABLE,
    b"head": Mode.IN_HEAD,
    b"body": Mode.IN_BODY,
    b"frameset": Mode.IN_FRAMESET,
}


def reset_mode(state: State) -> None:
    """Set the mode that what is open asks for."""
    for steps, element in enumerate(reversed(state.open), 1):
        if element.namespace != HTML:
            continue
        mode = element.mode if element.name == b"template" else _MODES.get(element.name)
        if element.name == b"html":
            mode = Mode.AFTER_HEAD if state.head_seen else Mode.BEFORE_HEAD
        if mode is not None:
            state.mode = mode
            walked(state, steps)
            return


def start_template(state: State) -> None:
    """Open a template."""
    push(state, b"template").mode = Mode.IN_TEMPLATE
    state.templates += 1
    insert_marker(state)
    state.frameset_ok = False
    state.mode = Mode.IN_TEMPLATE


def end_template(state: State) -> None:
    """Close the innermost template, if there is one."""
    if not state.templates:
        return
    pop_through(state, b"template")
    clear_to_marker(state)
    reset_mode(state)


def template_mode(state: State, mode: int) -> None:
    """Set the mode of the innermost template, and with it the present one."""
    for steps, element in enumerate(reversed(state.open), 1):
        if element.is_html(b"template"):
            element.mode = mode
            walked(state, steps)
            break
    state.mode = mode
