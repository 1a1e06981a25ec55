"""The list of active formatting elements (13.2.4.3), and the adoption agency, which takes misnested ones apart."""

from __future__ import annotations

from scrawler.extract.treeless import limits
from scrawler.extract.treeless.found import emit, emit_copy
from scrawler.extract.treeless.open_elements import end_other, find_open, pop, pop_to, push, remove_open, walked
from scrawler.extract.treeless.state import Element, Formatting, State, Token


def insert_marker(state: State) -> None:
    """Part what comes from what is listed."""
    state.listed.append(None)


def clear_to_marker(state: State) -> None:
    """Forget what is listed since the last marker, and that."""
    while state.listed:
        if state.listed.pop() is None:
            return


def insert_formatting(state: State, token: Token) -> None:
    """Note, open and list the formatting element of a start tag; of those alike no more than three stay listed."""
    says = emit(state, token.name, token.attributes)
    same = first = seen = 0
    for place in range(len(state.listed) - 1, -1, -1):
        entry = state.listed[place]
        if entry is None:
            break
        seen += 1
        if entry.name == token.name and len(entry.source) == len(token.source):
            state.steps += len(token.source) // limits.COMPARED_A_STEP
            if entry.source == token.source:
                same, first = same + 1, place
    walked(state, seen)
    if same >= 3:
        del state.listed[first]
    element = push(state, token.name)
    element.listed = True
    state.listed.append(Formatting(token.name, token.source, element, token.attributes if says else None))


def reconstruct(state: State) -> None:
    """Open the formatting elements again that are listed since the last marker or open one."""
    if not state.reopen or state.flat:
        return
    place = len(state.listed)
    while place and (entry := state.listed[place - 1]) is not None and not entry.is_open:
        place -= 1
    if place == len(state.listed):
        return
    for entry in state.listed[place:]:
        assert entry is not None
        entry.element = push(state, entry.name)
        entry.element.listed = entry.is_open = True
        emit_copy(state, entry)
        walked(state, 1)
        if state.flat:
            return
    # Those before a marker may wait on.
    state.reopen = any(entry is not None and not entry.is_open for entry in state.listed)
    walked(state, len(state.listed))


def find_listed(state: State, element: Element) -> int:
    """Return the place of an element in the list; -1 if it is not there."""
    for place in range(len(state.listed) - 1, -1, -1):
        entry = state.listed[place]
        if entry is not None and entry.element is element:
            return place
    return -1


def last_listed(state: State, name: bytes) -> tuple[int, Formatting] | None:
    """Return the last formatting element of a name since the last marker, and its place; None if there is none."""
    for place in range(len(state.listed) - 1, -1, -1):
        entry = state.listed[place]
        if entry is None:
            return None
        if entry.name == name:
            return place, entry
    return None


def adopt(state: State, name: bytes) -> None:
    """Close a formatting element: the adoption agency algorithm (13.2.6.4.7)."""
    top = state.open[-1]
    if top.is_html(name):
        if state.listed and (entry := state.listed[-1]) is not None and entry.element is top:  # as in nearly all pages
            state.listed.pop()
            top.listed = False
            pop(state)
            return
        if not top.listed or find_listed(state, top) < 0:
            pop(state)
            return
    for _ in range(8):
        last = last_listed(state, name)
        walked(state, len(state.listed))
        if last is None:
            end_other(state, name)
            return
        at, formatting = last
        place = find_open(state, formatting.element) if formatting.is_open else -1
        if place < 0:
            del state.listed[at]
            return
        above = state.open[place + 1 :]
        if any(element.scope for element in above):
            return
        block = next((i for i, element in enumerate(above, place + 1) if element.special), 0)
        if not block:
            formatting.element.listed = False
            del state.listed[at]
            pop_to(state, place)
            return
        _adopt_above(state, formatting, place, block)
        if state.flat:
            return


def _adopt_above(state: State, formatting: Formatting, place: int, block: int) -> None:
    """Take apart what is open from a formatting element at `place` to a special one at `block`."""
    bookmark: Formatting | None = None  # behind which the formatting element comes
    for count, between in enumerate(range(block - 1, place, -1), 1):
        node = state.open[between]
        at = find_listed(state, node) if node.listed else -1
        walked(state, len(state.listed))
        if state.flat:
            return
        if count > 3 and at >= 0:
            del state.listed[at]
            at = -1
        if at < 0:
            remove_open(state, between)
            block -= 1
            continue
        entry = state.listed[at]
        assert entry is not None
        state.open[between] = _renewed(state, entry)
        bookmark = bookmark or entry
    again = _renewed(state, formatting)
    if bookmark is not None:
        state.listed.remove(formatting)
        state.listed.insert(state.listed.index(bookmark) + 1, formatting)
    del state.open[place]
    state.open.insert(block, again)


def _renewed(state: State, entry: Formatting) -> Element:
    entry.element = Element(entry.name)
    entry.element.listed = True
    emit_copy(state, entry)
    return entry.element
