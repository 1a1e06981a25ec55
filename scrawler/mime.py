"""The media type of an answer, as its Content-Type headers say it (Fetch Standard, "extract a MIME type").

Servers send the header twice, or what is no media type: of several the last valid one counts, and one that says nothing
of the charset leaves that of the same type before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_LONGEST_KNOWN: Final = 256  # longer headers are not remembered
_LONGEST: Final = 8_192  # characters of all headers together; of longer ones the rest is not read
_MOST_PARAMETERS = 100  # parameters of one media type that are read
_SPACE = " \t\r\n"
_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_QUOTABLE = re.compile(r"[\t -~\x80-\xff]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class MediaType(NamedTuple):
    """A media type, as far as it matters to a crawler."""

    essence: str  # type and subtype in lower case, such as "text/html"; empty: no valid one was given
    charset: str  # as written; empty: none was given


NO_TYPE = MediaType("", "")


def media_type(content_type: str) -> MediaType:
    """Return what counts of the Content-Type headers of an answer, their values joined with ", "."""
    return _known(content_type) if len(content_type) <= _LONGEST_KNOWN else _extract(content_type[:_LONGEST])


@lru_cache(maxsize=1_024)  # sites send the same few headers with every page
def _known(content_type: str) -> MediaType:
    return _extract(content_type)


def _extract(content_type: str) -> MediaType:
    counts, charset = "", ""
    for value in _split(content_type):
        essence, said = _parse(value)
        if essence in ("", "*/*"):
            continue
        if essence != counts or said is not None:
            charset = said or ""
        counts = essence
    return MediaType(counts, charset) if counts else NO_TYPE


def _split(text: str) -> Iterator[str]:
    """Yield what stands between commas; a comma in a quoted string separates nothing."""
    start = at = 0
    while at < len(text):
        quoted = _QUOTED.match(text, at) if text[at] == '"' else None
        if quoted is not None:
            at = quoted.end() + 1  # behind the closing quote
            continue
        if text[at] == ",":
            yield text[start:at]
            start = at + 1
        at += 1
    yield text[start:]


def _parse(text: str) -> tuple[str, str | None]:
    """Read one media type (MIME Sniffing Standard, 4.4): its essence, empty for what is none, and its charset."""
    main, _, rest = text.strip(_SPACE).partition("/")
    sub, _, parameters = rest.partition(";")
    sub = sub.rstrip(_SPACE)
    if not (_TOKEN.fullmatch(main) and _TOKEN.fullmatch(sub)):
        return "", None
    return f"{main}/{sub}".lower(), _charset(parameters) if parameters else None


def _charset(parameters: str) -> str | None:
    """Return the value of the first charset among parameters that is valid, which may be empty in quotes."""
    at = 0
    for _ in range(_MOST_PARAMETERS):
        if at >= len(parameters):
            break
        name, value, at = _parameter(parameters, at)
        if name == "charset" and value is not None:
            return value
    return None


def _parameter(text: str, at: int) -> tuple[str, str | None, int]:
    """Return the name of the parameter at a place, its value (None: not valid), and where the next one begins."""
    end = text.find(";", at)
    end = len(text) if end < 0 else end
    equals = text.find("=", at, end)
    if equals < 0:
        return "", None, end + 1
    name = text[at:equals].lstrip(_SPACE).lower()
    if text[equals + 1 : equals + 2] == '"':
        quoted = _QUOTED.match(text, equals + 1)
        assert quoted is not None
        value = _ESCAPED.sub(r"\1", quoted[0][1:])
        end = text.find(";", quoted.end())
        end = len(text) if end < 0 else end
    else:
        value = text[equals + 1 : end].rstrip(_SPACE)
        if not value:
            return name, None, end + 1
    return name, value if _QUOTABLE.fullmatch(value) else None, end + 1
