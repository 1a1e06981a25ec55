"""A pattern of URLs, as `include` and `exclude` hold it: what it means, or why no URL could ever fit it.

`*` stands for any characters, and nothing else is special: a pattern that begins with a scheme, or with `*`, is for
whole URLs, one that begins with `/` for path and query at any host, any other for what comes behind the scheme. Scheme
and host are understood as in a URL, in whatever case and script they are written; text behind the host is
percent-encoded. What follows `re:` is a regular expression of Python's, which is searched for; one that could take
exponential time is refused, and others are tried in time that is bounded (`scrawler.model.linear`).
"""

from __future__ import annotations

import re
from urllib.parse import quote

import ada_url

from scrawler.model.ambiguous import is_ambiguous
from scrawler.model.linear import Regex

REGEX = "re:"
_AMBIGUOUS = (
    "of a repetition within a repetition, or a choice in one, each round must begin or end as no other part does"
)
_REFERS = "a reference to a group, as \\1, is with fewer repetitions only"
_ASCII = "".join(map(chr, range(33, 127)))  # all but the rest is as it is in a normalised URL
_SCHEME = re.compile(r"([^/?*]*\*?)://")
_BELOW = re.compile(r"\*\.([^/?*:]+\.[^/?*:]+)(?=/)")  # the hosts below a domain, with what comes behind the host
_PORT = re.compile(r"(.*):([0-9]{1,5})")
_STARS = re.compile(r"\*+")
_ANY_SCHEME, _ANY_HOST = "[a-z]+://", "[^/]*"
_LAST_PORT = 65_535
_MOST_STARS = 90  # each is a group, and above 99 a reference to a group would be a character by its octal number
_LONGEST = 16_000  # characters, as many as the longest URL may have
_SHOWN = 60  # characters of a pattern that a message shows
_SCHEMES = {80: "http", 443: "https"}  # by the ports that are their own


class UrlPatternError(ValueError):
    """Why a pattern can be none, in words."""


def url_pattern(text: str) -> re.Pattern[str] | Regex:
    """Return what is to be searched for in a normalised URL. Raises UrlPatternError."""
    if len(text) > _LONGEST:
        raise UrlPatternError(f"{text[:_SHOWN]!r}... has {len(text):,} characters, and no URL more than {_LONGEST:,}")
    if not text.startswith(REGEX):
        return re.compile(_of_stars(text))
    try:
        return _regex(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UrlPatternError(f"{text!r} is no regular expression: {error}") from error


def _regex(text: str) -> Regex:
    pattern = text.removeprefix(REGEX)
    if not pattern:
        raise UrlPatternError(f"{text!r} fits every URL, for nothing is to be found")
    if is_ambiguous(pattern):
        raise UrlPatternError(f"{text!r} may take for ever on some URLs: {_AMBIGUOUS}")
    found = Regex(pattern)
    if not found.is_bounded:
        raise UrlPatternError(f"{text!r} may take for ever on some URLs: {_REFERS}")
    return found


def _of_stars(text: str) -> str:
    """Return as a regular expression what is written with stars."""
    if not text:
        raise UrlPatternError("an empty pattern fits no URL")
    if (stars := len(_STARS.findall(text))) > _MOST_STARS:
        raise UrlPatternError(f"{text[:_SHOWN]!r}... has {stars:,} stars, and no pattern more than {_MOST_STARS}")
    if "#" in text:
        raise UrlPatternError(f"{text!r} fits no URL: the part behind a # is no part of what is fetched")
    if text.startswith("//"):
        raise UrlPatternError(f"{text!r} may be a host or a path: write {text[2:]} for a host, */{text[1:]} for a path")
    if text.startswith("/"):
        return rf"\A{_ANY_SCHEME}{_ANY_HOST}{_glob(text)}\Z"
    if text.startswith("*") and not text.startswith("*://"):
        below = _BELOW.match(text)
        host = "" if below is None else f"*.{_host(below[1], text)}"
        return rf"\A{_glob(host + text[0 if below is None else below.end() :])}\Z"
    return _from_host(text)


def _from_host(text: str) -> str:
    """Read a pattern that begins with a scheme or a host."""
    named = _SCHEME.match(text)
    scheme = "" if named is None else named[1].lower()
    if scheme not in ("", "http", "https", "http*", "*"):
        raise UrlPatternError(f"{text!r} fits no URL: only http:// and https:// are crawled")
    behind = text if named is None else text[named.end() :]
    authority = behind[: re.search(r"[/?]|$", behind).start()]  # type: ignore[union-attr]
    rest = behind[len(authority) :]
    if not authority:
        raise UrlPatternError(f"{text!r} fits no URL, for it names no host: a * stands for any")
    if named is None and not rest and not re.search("[.:]", authority.partition("*")[0]):
        raise UrlPatternError(f"{text!r} may be a host or a path: write {authority}/* for a host, /{text} for a path")
    if "*" in authority:
        host = _host_with_stars(authority, text, bool(rest))
    else:
        scheme, host = _host_and_port(authority, scheme, text)
        rest = rest if rest.startswith("/") else f"/{rest}"
    if not scheme:
        return rf"\A{_ANY_SCHEME}{_glob(host + rest)}\Z"
    return rf"\A{_glob(f'{scheme}://{host}{rest}')}\Z"


def _host_and_port(authority: str, scheme: str, text: str) -> tuple[str, str]:
    """Return scheme, and host with port, as a normalised URL has them: a scheme's own port says which it is."""
    ported = _PORT.fullmatch(authority)
    if ported is None:
        return scheme, _host(authority, text)
    host, port = _host(ported[1], text), int(ported[2])
    if port > _LAST_PORT:
        raise UrlPatternError(f"{text!r} fits no URL: there is no port {port}")
    if scheme in ("", _SCHEMES.get(port)):
        scheme = _SCHEMES.get(port, scheme)
        return scheme, host if port in _SCHEMES else f"{host}:{port}"
    return scheme, f"{host}:{port}"


def _host_with_stars(authority: str, text: str, ends: bool) -> str:
    """Return a host, as far as it is one: a star may stand for the rest of it, and for some of the path."""
    if ends and authority.startswith("*.") and "*" not in authority[2:]:
        return "*." + _host_and_port(authority[2:], "*", text)[1]
    first, _, rest = authority.partition("*")
    *labels, last = first.split(".")
    if not last.isascii():
        raise UrlPatternError(f"{text!r} fits no URL: a * cannot stand within a label with such letters")
    known = [label.lower() if label.isascii() else _host(label, text) for label in labels]
    return f"{'.'.join([*known, last.lower()])}*{rest}"


def _host(name: str, text: str) -> str:
    """Return a host as a normalised URL has it: lower case, punycode."""
    try:
        parsed = ada_url.URL(f"http://{name}/")
    except ValueError:
        parsed = None
    if parsed is None or parsed.username or parsed.password or parsed.port or parsed.pathname != "/":
        raise UrlPatternError(f"{text!r} fits no URL: {name!r} is no host")
    return str(parsed.hostname)


def _glob(text: str) -> str:
    """Return a pattern in which each text between two stars is taken where it stands first, and never looked for again.

    So a long URL, which anybody may write, is read once for each star. A group in a look-ahead is not entered again.
    """
    first, *rest = (re.escape(part) for part in _STARS.split(quote(text, safe=_ASCII)))
    if not rest:
        return first
    *between, last = rest
    firsts = (rf"(?=(.*?{part}))\{number}" for number, part in enumerate(between, 1))
    return f"{first}{''.join(firsts)}.*{last}"
