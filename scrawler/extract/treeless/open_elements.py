"""The stack of open elements (HTML Standard, 13.2.4.2): what opens and closes them, and what is in scope.

Whoever looks through the stack counts its steps: that bounds what a page can cost.
"""

from __future__ import annotations

from scrawler.extract.treeless import limits
from scrawler.extract.treeless.found import emit
from scrawler.extract.treeless.state import HTML, Element, State, Token
from scrawler.extract.treeless.tags import IMPLIED, NOTHING, names

BUTTON_SCOPE, LIST_SCOPE, TABLE_SCOPE = names("button"), names("ol ul"), names("html table template")


def go_flat(state: State) -> None:
    """Give the stack up; the rule at work goes on to its end on what is there."""
    state.flat = state.deep = True


def walked(state: State, steps: int) -> None:
    """Count steps; past their number the page is read without looking at what is open."""
    state.steps += steps
    if state.steps > state.most_steps:
        go_flat(state)


def _note_listed(state: State, element: Element) -> None:
    if state.flat:
        return
    for steps, entry in enumerate(reversed(state.listed), 1):
        if entry is not None and entry.element is element:
            entry.is_open = False
            state.reopen = True
            walked(state, steps)
            return
    walked(state, len(state.listed))


def pop(state: State) -> None:
    """Close the innermost element."""
    element = state.open.pop()
    if element.namespace == HTML:
        state.counts[element.name] -= 1
        if element.name == b"template":
            state.templates -= 1
        if element.listed:
            _note_listed(state, element)


def pop_to(state: State, depth: int) -> None:
    """Close elements until so many are open."""
    while len(state.open) > depth:
        pop(state)


def push(state: State, name: bytes, namespace: int = HTML) -> Element:
    """Open an element."""
    element = Element(name, namespace)
    state.open.append(element)
    if namespace == HTML:
        state.counts[name] += 1
    if len(state.open) > limits.DEEPEST:
        go_flat(state)
    return element


def remove_open(state: State, place: int) -> None:
    """Take an element out of the stack, from below others."""
    element = state.open.pop(place)
    if element.namespace == HTML:
        state.counts[element.name] -= 1
        if element.name == b"template":
            state.templates -= 1
    walked(state, len(state.open) - place)


def insert(state: State, token: Token) -> Element:
    """Note and open the element of a start tag."""
    emit(state, token.name, token.attributes)
    return push(state, token.name)


def insert_void(state: State, token: Token) -> None:
    """Do the same with one that holds nothing."""
    emit(state, token.name, token.attributes)


def insert_raw(state: State, token: Token) -> None:
    """Do the same with one that holds nothing but text."""
    emit(state, token.name, token.attributes)
    state.raw = token.name


def in_scope(state: State, name: bytes, more: frozenset[bytes] = NOTHING) -> bool:
    """Tell whether an HTML element is open in scope, which `more` elements end, or, of tables, no others."""
    if not state.counts[name]:
        return False
    for steps, element in enumerate(reversed(state.open), 1):
        is_html = element.namespace == HTML
        found = is_html and element.name == name
        if more is TABLE_SCOPE:
            ends = is_html and element.name in TABLE_SCOPE
        else:
            ends = element.scope or (is_html and element.name in more)
        if found or ends:
            walked(state, steps)
            return found
    return False


def pop_through(state: State, name: bytes) -> None:
    """Close elements up to the innermost of a name, and that."""
    while state.open:
        last = state.open[-1]
        pop(state)
        if last.is_html(name):
            return


def imply_ends(state: State, but: bytes = b"") -> None:
    """Close the innermost elements as long as their end tags may be left out, but none of one name."""
    while (top := state.open[-1]).namespace == HTML and top.name in IMPLIED and top.name != but:
        pop(state)


def close_p(state: State) -> None:
    """Close the paragraph that is in scope, if there is one."""
    if in_scope(state, b"p", BUTTON_SCOPE):
        pop_through(state, b"p")


def find_open(state: State, wanted: Element) -> int:
    """Return the place of an element in the stack; -1 if it is not open."""
    for steps, element in enumerate(reversed(state.open), 1):
        if element is wanted:
            walked(state, steps)
            return len(state.open) - steps
    walked(state, len(state.open))
    return -1


def end_other(state: State, name: bytes) -> None:
    """Take the end tag of an element without rules of its own."""
    for place in range(len(state.open) - 1, -1, -1):
        element = state.open[place]
        if element.is_html(name):
            walked(state, len(state.open) - place)
            pop_to(state, place)
            return
        if element.special:
            walked(state, len(state.open) - place)
            return
