"""Elements of SVG and MathML (13.2.6.5): how they open, and how markup leaves them."""

from __future__ import annotations

from scrawler.extract.treeless.found import emit
from scrawler.extract.treeless.open_elements import pop, push
from scrawler.extract.treeless.state import HTML, MATH, SVG, State, Token
from scrawler.extract.treeless.tags import names

_MATH_TEXT = names("mi mn mo ms mtext")
_LINKING = names("a image use")
_SVG_POINTS = names("desc foreignobject title")
_HTML_ENCODINGS = (b"text/html", b"application/xhtml+xml")


def is_foreign(state: State) -> bool:
    """Tell whether a tag that does not end foreign content is an element of it."""
    if state.flat or not state.open:
        return False
    top = state.open[-1]
    return top.namespace != HTML and not (top.text_point or top.in_html)


def insert_foreign(state: State, token: Token, namespace: int) -> None:
    """Note and open the element of a start tag in another name space than HTML."""
    link = token.attributes.pop(b"xlink:href", None)
    if link is not None:
        token.attributes.setdefault(b"href", link)
    if token.name in _LINKING:  # others are no HTML elements, whatever their names
        emit(state, token.name, token.attributes)
    if token.self_closing:
        return
    element = push(state, token.name, namespace)
    if namespace == MATH and token.name in _MATH_TEXT:
        element.special = element.scope = element.text_point = True
    elif namespace == MATH and token.name == b"annotation-xml":
        element.special = element.scope = True
        element.in_html = token.attributes.get(b"encoding", b"").lower() in _HTML_ENCODINGS
    elif namespace == SVG and token.name in _SVG_POINTS:
        element.special = element.scope = element.in_html = True


def leave_foreign(state: State) -> None:
    """Close elements of other name spaces up to one that may hold HTML."""
    while (top := state.open[-1]).namespace != HTML and not (top.text_point or top.in_html):
        pop(state)
