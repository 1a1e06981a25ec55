"""What of a message reaches a terminal or a log: one printable line, of bounded length, without passwords."""

from __future__ import annotations

import re

from scrawler.errors import escaped

_LONGEST_WORD, _LONGEST_LINE = 400, 4000  # characters
# The password of a database may hold "/" and "@", where other URLs have ended; the word itself is what help texts show.
_DATABASE_PASSWORD = re.compile(
    r"((?:mysql|mariadb|postgres)[a-z0-9+]*://[^/\s:@]*:)(?!password@)[^\s'\"]*@", re.IGNORECASE
)
_PASSWORD = re.compile(r"(//[^/\s:@]*:)(?!password@)[^/\s@]*@")
_PASSWORD_PARAMETER = re.compile(r"([?&]pass(?:word|wd)?=)[^&\s'\"]*", re.IGNORECASE)
_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


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
