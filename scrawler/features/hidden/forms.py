"""Search forms of a page: those that can be asked by GET, with one field for words.

A form counts if it is sent by GET to the site's own host and has exactly one field for free text. Those with a
password, a file or a text area, and those whose field asks for an address or a name, are for something else than
searching; so are those that log in or out, subscribe, buy, vote, delete or the like by what they say of themselves.
What else such a form sends stays as the page has it, but for tokens against forgery: these hold for one visitor and a
while, and are for forms that change something.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from selectolax.lexbor import LexborNode

from scrawler.extract.hazards import is_hazardous
from scrawler.extract.trees import tree_of
from scrawler.urls.normalise import normalise

_MOST_FORMS = 20  # of a page that are looked at
_MOST_FIELDS = 50  # of a form; one with more is no search
_LONGEST_VALUE = 500  # characters that a field sends without being asked
_AS_UTF_8 = frozenset(("", "utf-8", "utf-16le", "utf-16be", "replacement"))  # of which forms are sent as that
_FREE_TEXT = frozenset(("", "text", "search"))
_NOT_SENT = frozenset(("submit", "button", "reset", "image"))
_CHOSEN = frozenset(("checkbox", "radio"))
_OTHER_PURPOSE = frozenset(("password", "file", "email", "tel", "number", "date", "url"))
_ASKS_FOR_A_PERSON = re.compile(r"mail|user|login|phone|address|coupon|captcha|zip|postal|birth", re.IGNORECASE)
_ACTS = re.compile(  # what must never be asked for, whoever offers it by GET
    r"(?<![a-z])(?:(?:un)?subscri|newsletter|log-?_?(?:in|out|off)|sign-?_?(?:in|up|out|off)|regist|delet|remov|cancel|buy"
    r"|checkout|purchase|order-?_?(?:now|form)|place-?_?order|add-?_?to|cart|basket|pay(?:ment)?(?![a-z])|donat|vote|poll"
    r"|comment|feedback|contact|reset|edit|save|upload|install|confirm|activate|opt-?_?(?:in|out)|unlock|transfer|book-?_?now"
    r"|abmeld|anmeld|bestell|kauf|warenkorb|l\u00f6sch)",
    re.IGNORECASE,
)
_TOKEN_NAME = re.compile(
    r"csrf|xsrf|nonce|authenticity|token|(?:^|_)(?:sid|sessid|sessionid|phpsessid)$", re.IGNORECASE
)
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9+/_=.-]{24,}")  # a value that no person has chosen
_SEARCHES = re.compile(r"search|find|query|suche|recherche|buscar|cerca|\bq\b|keyword|term", re.IGNORECASE)


class SearchForm(NamedTuple):
    """How a site's search is asked."""

    action: str  # normalised URL, without query
    field: str  # that takes the term
    fixed: tuple[tuple[str, str], ...] = ()  # what the form sends besides
    sure: bool = False  # whether it says itself that it searches
    charset: str = ""  # in which a term is sent; empty: UTF-8

    def url(self, term: str) -> str:
        """Return the URL that asks for a term."""
        values = [*self.fixed, (self.field, term)]
        try:
            return f"{self.action}?{urlencode(values, encoding=self.charset or 'utf-8', errors='xmlcharrefreplace')}"
        except LookupError:  # an encoding of browsers that Python does not have
            return f"{self.action}?{urlencode(values)}"


def search_forms(page: bytes, url: str, base: str = "", charset: str = "") -> list[SearchForm]:
    """Return the search forms of a page, bytes in UTF-8, at a normalised URL; those that are sure come first.

    `base` is what its links are resolved against, if that is not its URL, `charset` the encoding in which it came.
    """
    if b"<form" not in page.lower() or is_hazardous(page):
        return []
    sent_in = "" if charset.lower() in _AS_UTF_8 else charset
    nodes = tree_of(page).css("form")[:_MOST_FORMS]
    forms = [_search_form(node, url, base or url, sent_in) for node in nodes]
    found = dict.fromkeys(form for form in forms if form is not None)
    return sorted(found, key=lambda form: not form.sure)


def _search_form(form: LexborNode, url: str, base: str, charset: str) -> SearchForm | None:
    if (_said(form, "method") or "get").lower() != "get" or "nofollow" in _said(form, "rel").lower().split():
        return None
    action = _action(form, url, base)
    fields = form.css("input, select, textarea")
    if action is None or len(fields) > _MOST_FIELDS or _does_something(form, action):
        return None
    texts, fixed = list[LexborNode](), list[tuple[str, str]]()
    for field in fields:
        kind, name = _said(field, "type").lower(), _said(field, "name")
        if field.tag == "textarea" or kind in _OTHER_PURPOSE:
            return None
        if field.tag == "input" and kind in _FREE_TEXT:
            texts.append(field)
        elif name and kind not in _NOT_SENT and (value := _sent(field, kind)) is not None:
            if field.tag != "select" and _ACTS.search(value):
                return None
            if not (kind == "hidden" and _is_token(name, value)):
                fixed.append((name, value))
    if len(texts) != 1:
        return None
    name = _said(texts[0], "name")
    says = " ".join(_said(one, what) for one in (form, texts[0]) for what in ("name", "id", "class", "role", "action"))
    says = f"{says} {_said(texts[0], 'placeholder')} {_said(texts[0], 'aria-label')} {_said(texts[0], 'type')}"
    if not name or _ASKS_FOR_A_PERSON.search(f"{name} {_said(texts[0], 'placeholder')}"):
        return None
    return SearchForm(action, name, tuple(fixed), _SEARCHES.search(says) is not None, charset)


def _does_something(form: LexborNode, action: str) -> bool:
    """Tell whether a form says that it changes something, or has a button that sends it otherwise."""
    says = [urlsplit(action).path, *(_said(form, what) for what in ("name", "id", "class", "aria-label"))]
    for button in form.css("button, input[type=submit], input[type=image]"):
        if "formaction" in button.attributes or (_said(button, "formmethod") or "get").lower() != "get":
            return True
        says += [_said(button, what) for what in ("name", "value", "aria-label")]
        says.append(button.text(strip=True)[:_LONGEST_VALUE])
    says += [_said(field, what) for field in form.css("input") for what in ("name", "placeholder")]
    return any(map(_ACTS.search, says))


def _is_token(name: str, value: str) -> bool:
    """Tell whether a hidden field holds what only this visitor was given."""
    return _TOKEN_NAME.search(name) is not None or _RANDOM.fullmatch(value) is not None


def _action(form: LexborNode, url: str, base: str) -> str | None:
    """Return where a form is sent, without query, as browsers leave that out; None: to another host, or nowhere."""
    action = normalise(_said(form, "action") or url, base).url
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
