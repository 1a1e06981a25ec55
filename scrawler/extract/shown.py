"""A page without what no reader sees, and with what texts would lose: the same for all texts that are made of pages.

Hidden is what its own element says: the attribute `hidden`, `display: none` or `visibility: hidden` in its style, a
dialog or popover that is not open. `aria-hidden` hides nothing from who reads with eyes. What style sheets hide is not
known here. Formulas become their letters, and code beside line numbers, which highlighters put into tables, code alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrawler.extract.trees import tree_of

_TELLING = re.compile(
    rb"\bhidden\b|display\s*:|visibility\s*:|<math\b|<dialog\b|\bpopover\b|script:|data:text/html"
    rb"|lineno|line-num|gutter|blob-num|hljs-ln|\blnt\b|data-line-number",
    re.IGNORECASE,
)
_MAY_HIDE = "[hidden],[style],[popover],dialog"
_ROOTS = ("html", "body", "head")
_HIDING = {"display": ("none",), "visibility": ("hidden", "collapse")}
_TWICE = ".katex-html,annotation,annotation-xml"  # what a formula says once more, for the eye or for programs
_GUTTER = re.compile(r"lineno|line-?num|gutter|blob-num|hljs-ln-numbers", re.IGNORECASE)
_NUMBERED = ("data-line-number", "data-linenumber")
_NO_TARGET = ("javascript:", "vbscript:", "data:text/html")
_CONTROLS = re.compile(r"[\x00-\x20]+")


def shown(page: bytes, signs: Mapping[int, str] | None = None) -> bytes:
    """Return a page of UTF-8 as it is shown; as it is, where nothing in it wants a change.

    `signs` are written for others in formulas, by the code of these.
    """
    if _TELLING.search(page) is None:
        return page
    tree = tree_of(page)
    body = tree.body
    if body is None:
        return page
    _write_formulas(tree, signs or {})
    _drop_hidden(tree)
    if not (body.text() or "").strip():  # a script shows it all
        tree = tree_of(page)
        _write_formulas(tree, signs or {})
    _drop_line_numbers(tree)
    for link in tree.css("a[href]"):
        if _CONTROLS.sub("", link.attributes.get("href") or "").lower().startswith(_NO_TARGET):
            del link.attrs["href"]
    return (tree.html or "").encode("utf-8", "replace")


def _drop_hidden(tree: LexborHTMLParser) -> None:
    for node in reversed(tree.css(_MAY_HIDE)):  # what is inside first: nothing is looked at that is gone
        if node.tag in _ROOTS or not _is_hidden(node):
            continue
        if not _is_formula(node):
            node.decompose()
            continue
        for name in ("style", "hidden"):
            if name in node.attributes:
                del node.attrs[name]


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if "hidden" in attributes or "popover" in attributes or (node.tag == "dialog" and "open" not in attributes):
        return True
    said: dict[str, str] = {}
    for declaration in (attributes.get("style") or "").lower().split(";"):
        name, _, value = declaration.partition(":")
        said[name.strip()] = value.partition("!")[0].strip()
    return any(said.get(name) in values for name, values in _HIDING.items())


def _is_formula(node: LexborNode) -> bool:
    """Tell whether an element is there to give a formula to those who cannot see the picture of it beside."""
    beside = node.next
    return beside is not None and beside.tag == "img" and node.css_first("[data-formula]") is not None


def _write_formulas(tree: LexborHTMLParser, signs: Mapping[int, str]) -> None:
    for node in reversed(tree.css(_TWICE)):
        node.decompose()
    for formula in reversed(tree.css("math")):
        letters = " ".join((formula.text() or "").split()) or formula.attributes.get("alttext") or ""
        formula.replace_with(_element("span", letters.translate(signs), "data-formula"))


def _drop_line_numbers(tree: LexborHTMLParser) -> None:
    for table in reversed(tree.css("table")):
        if table.css_first("table table table") is not None:
            continue  # code stands in no such table, and each would be read for all that it is in
        cells = table.css("td,th")
        numbers = [cell for cell in cells if _has_line_numbers(cell)]
        if not numbers:
            continue
        known = {cell.mem_id for cell in numbers}
        code = [cell.text() or "" for cell in cells if cell.mem_id not in known]
        if code and table.parent is not None:
            table.replace_with(_element("pre", "\n".join(text.strip("\r\n") for text in code)))


def _has_line_numbers(cell: LexborNode) -> bool:
    text = (cell.text() or "").split()
    if not all(word.isdigit() for word in text):
        return False
    if any(name in cell.attributes for name in _NUMBERED):
        return True
    if text and cell.css_first("pre") is not None:
        return [int(word) for word in text] == list(range(int(text[0]), int(text[0]) + len(text)))
    return bool(text) and _GUTTER.search(cell.attributes.get("class") or "") is not None


def _element(tag: str, text: str, mark: str = "") -> LexborNode:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    first = "\n" if tag == "pre" else ""  # a parser drops one behind the tag
    found = tree_of(f"<{tag} {mark}>{first}{escaped}</{tag}>").css_first(tag)
    assert found is not None
    return found
