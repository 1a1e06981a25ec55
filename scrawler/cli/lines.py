"""What of a message reaches a terminal or a log: one printable line, of bounded length, without passwords."""

from __future__ import annotations

import re

from scrawler.errors import escaped

_FIRST_WIDE = 0x100
_LONGEST_WORD, _LONGEST_LINE = 400, 4000  # characters
# The password of a database may hold "/" and "@", where other URLs have ended; the word itself is what help texts show.
_DATABASE_PASSWORD = re.compile(
    r"((?:mysql|mariadb|postgres)[a-z0-9+]*://[^/\s:@]*:)(?!password@)[^\s'\"]*@", re.IGNORECASE
)
_PASSWORD = re.compile(r"(//[^/\s:@]*:)(?!password@)[^/\s@]*@")
_PASSWORD_PARAMETER = re.compile(r"([?&]pass(?:word|wd)?=)[^&\s'\"]*", re.IGNORECASE)
_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


# What a terminal obeys, or shows in another order than it has; tabs and line feeds are part of a text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def for_terminal(text: str) -> str:
    """Return a text of several lines with escapes for all that would control a terminal."""
    return _CONTROLS.sub(_escaped_control, text)


def _escaped_control(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < _FIRST_WIDE else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """Return a message as one line for a person, whatever a user, a file or a server has put into it."""
    for secret, shown in ((_DATABASE_PASSWORD, r"\1***@"), (_PASSWORD, r"\1***@"), (_PASSWORD_PARAMETER, r"\1***")):
        text = secret.sub(shown, text)
    text = _WORD.sub(lambda word: _shortened(word[0], _LONGEST_WORD), text)
    return _shortened(escaped(text), _LONGEST_LINE)


def _shortened(text: str, longest: int) -> str:
    """Keep both ends: with the beginning alone nobody would see what a name ends in."""
    if len(text) <= longest:
        return text
    kept = (longest - 5) // 2
    return f"{text[:kept]} ... {text[-kept:]}"
