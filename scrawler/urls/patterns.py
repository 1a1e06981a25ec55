"""Patterns: URLs that differ only in numbers, ids and values of parameters, folded into one.

`http://h/t3/p12.html` becomes `http://h/t*/p*.html`, `http://h/show?sort=a&id=7` becomes `http://h/show?id=&sort=`.
Folding is conservative, words stay words: whatever a person could have named differently stays apart.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scrawler.urls.scope import origin

_FOLDS: Final = re.compile(r"[0-9;?]")  # a URL without any of these behind its origin is its own pattern
_UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_TOKEN: Final = re.compile(rf"%[0-9A-Fa-f]{{2}}|(?<![0-9A-Za-z]){_UUID}(?![0-9A-Za-z])|[0-9A-Za-z]+")
_DIGITS = re.compile(r"[0-9]+")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_SHORTEST_ID = 8  # characters of a token; of shorter ones only the digits are folded
_ID_RUNS = 3  # nobody writes a token of letters with so many runs of digits by hand; in mixed case, with 2


class Patterns(NamedTuple):
    """The patterns of one URL: its own, and that of all queries of its path (`http://h/shop?**`).

    Either is empty where nothing in the URL was folded, or it has no query.
    """

    own: str
    queries: str


_NONE: Final = Patterns("", "")
_ZEROS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_ROOT_FROM: Final = 8  # where the host of an https URL begins
_MOST_KNOWN: Final = 1_024
_known: dict[tuple[str, bytes], Patterns] = {}  # those of URLs that were asked lately, with zeros for digits


def patterns_of(url: str) -> Patterns:
    """Return the patterns of a normalised URL."""
    path = url.find("/", _ROOT_FROM)
    if path < 0 or _FOLDS.search(url, path) is None:  # a host may be an address
        return _NONE
    shape = _shape(url, path)
    found = _known.get(shape)
    if found is None:
        found = _read(url)
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[shape] = found
    return found


def _shape(url: str, path: int) -> tuple[str, bytes]:
    """Return a URL with zeros for the digits of its path and query, as of these only their places matter."""
    behind = url[path:].encode("utf-8", "surrogatepass")
    if b"%" not in behind:  # the digits of an escape are no number
        behind = behind.translate(_ZEROS)
    return url[:path], behind


def _read(url: str) -> Patterns:
    root = origin(url)
    path, mark, query = url[len(root) :].partition("?")
    folded = fold(path) if _FOLDS.search(path) else path
    if mark:
        return Patterns(f"{root}{folded}?{_keys(query, '&')}", f"{root}{folded}?**")
    return Patterns("" if folded == path else root + folded, "")


def fold(text: str) -> str:
    """Fold digits and ids of a path into stars, and drop the values of its parameters (`;v=1`)."""
    if ";" in text:
        text = "/".join(map(_without_values, text.split("/")))
    return _TOKEN.sub(_fold_token, text)


def _without_values(segment: str) -> str:
    name, mark, parameters = segment.partition(";")
    return f"{name};{_keys(parameters, ';')}" if mark else name


def _keys(query: str, separator: str) -> str:
    """Return the sorted keys of a query, each followed by `=`, and what has no value as it is, folded."""
    found = {key + sign for part in query.split(separator) for key, sign, _ in (part.partition("="),)}
    return separator.join(sorted({_TOKEN.sub(_fold_token, key) for key in found if key}))


def _fold_token(match: re.Match[str]) -> str:
    token = match[0]
    if token[0] == "%" or token.isalpha():
        return token
    if token.isdigit() or "-" in token:  # of what gets here only a UUID holds a hyphen
        return "*"
    if len(token) >= _SHORTEST_ID:
        mixed = not (token.islower() or token.isupper())
        if _HEX.fullmatch(token) or len(_DIGITS.findall(token)) + mixed >= _ID_RUNS:
            return "*"
    return _DIGITS.sub("*", token)
