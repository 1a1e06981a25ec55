"""Noting what says something: links, and whatever changes or judges them."""

from __future__ import annotations

from scrawler.extract.treeless import limits
from scrawler.extract.treeless.state import Formatting, Found, State


def emit(state: State, name: bytes, attributes: dict[bytes, bytes]) -> bool:
    """Note an element if it says something; tells whether it does."""
    conditions = state.wanted.get(name)
    if conditions is None or any(one.isdisjoint(attributes) for one in conditions):
        return False
    if name == b"base" and (state.templates or state.base_seen):
        return False  # the first alone counts
    if name not in (b"a", b"area"):
        state.others += 1
        if state.others > limits.MOST_OTHERS:
            return False
    if name == b"base":
        state.base_seen = True  # one that a <frameset> drops too: none can follow it
    in_head = False
    if name == b"link" and state.open and not state.flat:
        parent = state.open[-1]
        if parent.is_html(b"noscript") and len(state.open) > 1:
            parent = state.open[-2]
        in_head = parent.is_html(b"head")
    state.found.append(Found(name, attributes, state.templates > 0, in_head))
    return True


def emit_copy(state: State, entry: Formatting) -> None:
    """Note that a copy of a formatting element comes into the tree; if it is a link, the page has one more."""
    if entry.link is not None:
        state.found.append(Found(entry.name, entry.link, state.templates > 0, False))
