"""The name spaces of Lexbor's elements, which selectolax does not tell: by what stands around them (13.2.6)."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

_HTML, _MATH, _SVG = "html", "math", "svg"
_SVG_POINTS = frozenset(("foreignobject", "desc", "title"))
_MATH_TEXT = frozenset(("mi", "mn", "mo", "ms", "mtext"))
_HTML_ENCODINGS = frozenset(("text/html", "application/xhtml+xml"))


class Names:
    """Tells name spaces in one document; each element above those that are asked for is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def is_foreign(self, node: LexborNode) -> bool:
        """Tell whether an element is one of SVG or MathML."""
        chain, known = [], self._known
        above: LexborNode | None = node
        while above is not None and above.mem_id not in known:
            chain.append(above)
            above = above.parent
        for one in reversed(chain):
            known[one.mem_id] = _HTML if above is None else _space(one, above, known[above.mem_id])
            above = one
        return known[node.mem_id] != _HTML


def _space(node: LexborNode, parent: LexborNode, around: str) -> str:
    tag = node.tag or ""
    if around == _HTML or _takes_html(parent, around, tag):
        return tag if tag in (_MATH, _SVG) else _HTML
    return around


def _takes_html(parent: LexborNode, around: str, tag: str) -> bool:
    """Tell whether an element of SVG or MathML may hold one of HTML, or the root of the other."""
    name = (parent.tag or "").lower()
    if around == _SVG:
        return name in _SVG_POINTS
    if name in _MATH_TEXT:
        return tag not in ("mglyph", "malignmark")
    if name != "annotation-xml":
        return False
    return tag == _SVG or (parent.attributes.get("encoding") or "").lower() in _HTML_ENCODINGS
