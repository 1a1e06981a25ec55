"""Search forms of a page: those that can be asked by GET, with one field for words.

A form counts if it is sent by GET to the site's own host and has exactly one field for free text. Those with a
password, a file or a text area, and those whose field asks for an address or a name, are for something else than
searching. What else such a form sends stays as the page has it.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrawler.extract.hazards import is_hazardous
from scrawler.urls.normalise import normalise

_MOST_FORMS = 20  # of a page that are looked at
_MOST_FIELDS = 50  # of a form; one with more is no search
_LONGEST_VALUE = 500  # characters that a field sends without being asked
_FREE_TEXT = frozenset(("", "text", "search"))
_NOT_SENT = frozenset(("submit", "button", "reset", "image"))
_CHOSEN = frozenset(("checkbox", "radio"))
_OTHER_PURPOSE = frozenset(("password", "file", "email", "tel", "number", "date", "url"))
_ASKS_FOR_A_PERSON = re.compile(r"mail|user|login|phone|address|coupon|captcha|zip|postal|birth", re.IGNORECASE)
_SEARCHES = re.compile(r"search|find|query|suche|recherche|buscar|cerca|\bq\b|keyword|term", re.IGNORECASE)


class SearchForm(NamedTuple):
    """How a site's search is asked."""

    action: str  # normalised URL, without query
    field: str  # that takes the term
    fixed: tuple[tuple[str, str], ...] = ()  # what the form sends besides
    sure: bool = False  # whether it says itself that it searches

    def url(self, term: str) -> str:
        """Return the URL that asks for a term."""
        return f"{self.action}?{urlencode([*self.fixed, (self.field, term)])}"


def search_forms(page: bytes, url: str) -> list[SearchForm]:
    """Return the search forms of a page, bytes in UTF-8, at a normalised URL; those that are sure come first."""
    if b"<form" not in page.lower() or is_hazardous(page):
        return []
    forms = [_search_form(node, url) for node in LexborHTMLParser(page).css("form")[:_MOST_FORMS]]
    found = dict.fromkeys(form for form in forms if form is not None)
    return sorted(found, key=lambda form: not form.sure)


def _search_form(form: LexborNode, url: str) -> SearchForm | None:
    if (_said(form, "method") or "get").lower() != "get":
        return None
    action = _action(form, url)
    fields = form.css("input, select, textarea")
    if action is None or len(fields) > _MOST_FIELDS:
        return None
    texts, fixed = list[LexborNode](), list[tuple[str, str]]()
    for field in fields:
        kind, name = _said(field, "type").lower(), _said(field, "name")
        if field.tag == "textarea" or kind in _OTHER_PURPOSE:
            return None
        if field.tag == "input" and kind in _FREE_TEXT:
            texts.append(field)
        elif name and kind not in _NOT_SENT and (value := _sent(field, kind)) is not None:
            fixed.append((name, value))
    if len(texts) != 1:
        return None
    name = _said(texts[0], "name")
    says = " ".join(_said(one, what) for one in (form, texts[0]) for what in ("name", "id", "class", "role", "action"))
    says = f"{says} {_said(texts[0], 'placeholder')} {_said(texts[0], 'aria-label')} {_said(texts[0], 'type')}"
    if not name or _ASKS_FOR_A_PERSON.search(f"{name} {_said(texts[0], 'placeholder')}"):
        return None
    return SearchForm(action, name, tuple(fixed), sure=_SEARCHES.search(says) is not None)


def _action(form: LexborNode, url: str) -> str | None:
    """Return where a form is sent, without query, as browsers leave that out; None: to another host, or nowhere."""
    action = normalise(_said(form, "action") or url, url).url
    if action is None or urlsplit(action).netloc != urlsplit(url).netloc:
        return None
    return action.partition("?")[0]


def _sent(field: LexborNode, kind: str) -> str | None:
    """Return what a field that nobody touched sends; None: nothing."""
    if field.tag == "select":
        options = field.css("option")
        chosen = next((one for one in options if "selected" in one.attributes), options[0] if options else None)
        return None if chosen is None else _short(chosen.attributes.get("value") or chosen.text(strip=True))
    if kind in _CHOSEN and "checked" not in field.attributes:
        return None
    return _short(_said(field, "value") or ("on" if kind in _CHOSEN else ""))


def _short(value: str) -> str | None:
    return value if len(value) <= _LONGEST_VALUE else None


def _said(node: LexborNode, attribute: str) -> str:
    return (node.attributes.get(attribute) or "").strip()
