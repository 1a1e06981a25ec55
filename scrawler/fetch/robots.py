"""What a robots.txt allows (RFC 9309): `robots_text` finds the rules for one crawler, protego decides by them.

protego has ideas of its own about escapes ("%3F" is "?", all octets that are no UTF-8 are one), counts "?" as three
octets, and takes /index.html for its folder. So what is equal, and how long it is, is settled here: protego gets each
octet as two hexadecimal digits and a dash ("/a" is "2f-61-"), and matches stars and finds the longest pattern.
Which line it was, it does not say: for what is refused, the evidence is found by a matcher of our own, which also
decides where more rules have stars than protego is fast with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from protego import Protego

from scrawler.fetch.robots_text import Line, RobotsText, read_robots
from scrawler.fetch.wire import split_url

_MOST_STARRED = 1000  # rules with stars for which protego is asked; with 27,000 it can take 0.9 s for a URL of 2 KB
_SHOWN = 300  # characters of a rule that evidence quotes
_Rule = tuple[bool, str, list[str], Line]  # whether it has stars, what stands before the first, and behind each
_STARS = re.compile(r"\*+")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_NOT_ASCII = re.compile(r"[^ -~]+")


def _unescaped(kept: str) -> dict[str, str]:
    """Return how the escape of each octet is compared: printable ASCII as itself, unless it is `kept` apart."""
    plain = {code: chr(code) for code in range(0x20, 0x7F) if chr(code) not in kept}
    return {f"%{code:02X}": plain.get(code, f"%{code:02X}") for code in range(256)}


# A delimiter and its escape are two things where it delimits (RFC 3986, 2.2), and one elsewhere. What a star stands
# for may end in the path or in the query, so with stars they are two everywhere.
_IN_PATH, _IN_QUERY, _WITH_STARS = _unescaped("%/?#"), _unescaped("%&=#"), _unescaped("%/?&=#")

# protego is asked for a URL that stands there twice, as patterns without stars see it and as those with stars do:
# "/----", octets, end, octets, end. "/*00-" leads to the second one, and is as long as "/----".
_END, _STAR = "\0", "\1"  # neither stands in what is compared
_FIRST, _SECOND = "/----", "/*00-"


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt that holds for a normalised http or https URL."""
    target = split_url(url)
    if target is None:
        raise ValueError(f"no robots.txt for {url!r}")
    return f"{target.scheme}://{target.authority}/robots.txt"


class RobotsRules:
    """The rules of one origin (scheme, host and port) for one crawler.

    `sitemaps` are the absolute URLs of its Sitemap lines, as written.
    """

    __slots__ = ("_group", "_lines", "_protego", "_rules", "crawl_delay", "sitemaps", "unavailable")

    def __init__(self, text: RobotsText, *, unavailable: bool = False) -> None:
        self.unavailable = unavailable  # nothing is allowed, because the site could not say (RFC 9309, 2.3.1.4)
        self.crawl_delay = text.crawl_delay  # seconds
        self.sitemaps = text.sitemaps
        self._group = text.group
        self._lines = _by_pattern(text.rules)
        self._rules: list[_Rule] | None = None
        self._protego: Protego | None = None
        if sum(pattern.startswith(_SECOND) for pattern in self._lines) <= _MOST_STARRED:
            rules = (f"{'Allow' if line.allows else 'Disallow'}: {pattern}" for pattern, line in self._lines.items())
            self._protego = Protego.parse("\n".join(("User-agent: *", *rules)))

    @classmethod
    def parse(cls, status: int, body: bytes, product_token: str) -> RobotsRules:
        """Read an answer to the request for robots.txt; malformed text never raises.

        `status` is 0 where no whole answer came; `body` has its content encoding undone. 2xx: its rules hold, at
        most 500 KiB of them. 3xx (redirects nobody followed to an end) and 4xx: all is allowed. 5xx and no answer:
        nothing is.
        """
        if 200 <= status < 300:
            return cls(read_robots(body, product_token))
        return cls(RobotsText(), unavailable=not 300 <= status < 500)

    def allows(self, url: str) -> bool:
        """Tell whether `url`, of this origin, may be fetched."""
        if self.unavailable:
            return False
        if not self._lines:
            return True
        path = _path(url)
        if self._protego is None:
            line = self._deciding(path)
            return line is None or line.allows or _is_robots(path)
        return self._protego.can_fetch(_asked(path), "*") or _is_robots(path)

    def rule(self, url: str) -> str:
        """Return the line that decides for `url`, as evidence, such as "Disallow: /x/ (line 12, group *)", or ""."""
        line = self._deciding(path := _path(url))
        if line is None:
            return ""
        if not line.allows and _is_robots(path):
            return ""
        value = line.value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return f"{'Allow' if line.allows else 'Disallow'}: {shown} (line {line.number}, group {self._group})"

    def _deciding(self, path: str) -> Line | None:
        """Return the rule that decides, found by a way of our own: one after the other, the longest first."""
        seen = _comparable(path) + _END, _compared(path, _WITH_STARS) + _END
        for starred, first, rest, line in self._ranked():
            if _matches(first, rest, seen[starred]):
                return line
        return None

    def _ranked(self) -> list[_Rule]:
        """Return the rules, those first that go before others; made when they are first asked for."""
        if self._rules is None:
            ranked = sorted(self._lines.items(), key=lambda rule: (-len(rule[0]), not rule[1].allows, rule[1].number))
            split = ((line, *_parts(line.value)) for _, line in ranked)
            self._rules = [(starred, parts[0], parts[1:], line) for line, starred, parts in split]
        return self._rules


def _path(url: str) -> str:
    return url[at:] if (at := url.find("/", 8)) > 0 else "/"


def _is_robots(path: str) -> bool:
    """Tell whether it is robots.txt itself, which is allowed in any case (2.2.2)."""
    return path.partition("?")[0] == "/robots.txt"


def _by_pattern(rules: Iterable[Line]) -> dict[str, Line]:
    """Return rules by their patterns, spelled for protego; of equal ones the first that allows, else the first."""
    lines: dict[str, Line] = {}
    for line in rules:
        pattern = _pattern(line.value)
        if pattern not in lines or (line.allows and not lines[pattern].allows):
            lines[pattern] = line
    return lines


def _pattern(value: str) -> str:
    """Spell the pattern of a rule for protego."""
    starred, parts = _parts(value)
    if not starred:
        return _FIRST + _octets(parts[0])
    return _SECOND + _octets(_STAR.join(parts)).replace("01-", "***")  # a star is one octet long


def _parts(value: str) -> tuple[bool, list[str]]:
    """Return whether a rule has stars, and what has to stand before, between and behind them."""
    text = value.removesuffix("$")
    end = _END if text != value else ""
    if "*" not in text:
        return False, [_comparable(text) + end]
    parts = [_compared(part, _WITH_STARS) for part in _STARS.sub("*", text).split("*")]
    parts[-1] += end
    return True, parts


def _asked(path: str) -> str:
    """Spell a path, with its query, for protego."""
    first = _octets(_comparable(path) + _END)
    second = _octets(_compared(path, _WITH_STARS) + _END) if "%" in path else first
    return _FIRST + first + second


def _octets(text: str) -> str:
    return text.encode("ascii").hex("-") + "-"


def _matches(first: str, rest: list[str], path: str) -> bool:
    """Tell whether what stands before the first star of a rule, and behind each one, does so in a path."""
    if not path.startswith(first):
        return False
    at = len(first)
    for part in rest:
        if (at := path.find(part, at)) < 0:
            return False
        at += len(part)
    return True


def _comparable(text: str) -> str:
    """Spell a path, with its query, so that equal ones are spelled the same (RFC 9309, 2.2.2)."""
    path, mark, query = text.partition("?")
    return _compared(path, _IN_PATH) + mark + _compared(query, _IN_QUERY)


def _compared(text: str, table: dict[str, str]) -> str:
    if not text.isascii() or not text.isprintable():
        text = _NOT_ASCII.sub(_escaped, text)
    return _ESCAPE.sub(lambda match: table[match[0].upper()], text) if "%" in text else text


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match[0].encode("utf-8", "surrogateescape"))
