"""What a robots.txt allows (RFC 9309): `robots_text` finds the rules for one crawler, the longest that matches decides.

Equal octets are spelled the same before they are compared, and the length of a rule is that of what is compared.
A rule without stars is found in a sorted list, so it hardly matters how many there are. Those with stars are tried
one after the other, the longest first: each passes over the URL once at most, however many stars it has.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from scrawler.fetch.robots_text import Line, RobotsText, read_robots
from scrawler.fetch.wire import split_url

_SHORT = 1_024  # bytes of a text that is looked for among those that were read last
_SHOWN = 300  # characters of a rule that evidence quotes
_STARS = re.compile(r"\*+")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_NOT_ASCII = re.compile(r"[^ -~]+")
_END = "\0"  # the end of each path that is compared, and the "$" of a rule; it stands nowhere else


def _unescaped(kept: str) -> dict[str, str]:
    """Return how the escape of each octet is compared: printable ASCII as itself, unless it is `kept` apart."""
    plain = {code: chr(code) for code in range(0x20, 0x7F) if chr(code) not in kept}
    return {f"%{code:02X}": plain.get(code, f"%{code:02X}") for code in range(256)}


# A delimiter and its escape are two things where it delimits (RFC 3986, 2.2), and one elsewhere. What a star stands
# for may end in the path or in the query, so with stars they are two everywhere.
_IN_PATH, _IN_QUERY, _WITH_STARS = _unescaped("%/?#"), _unescaped("%&=#"), _unescaped("%/?&=#")


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt that holds for a normalised http or https URL."""
    target = split_url(url)
    if target is None:
        raise ValueError(f"no robots.txt for {url!r}")
    return f"{target.scheme}://{target.authority}/robots.txt"


class _Rule(NamedTuple):
    """A line as it is matched. Of those that match, the least decides: the longest, then one that allows (2.2.2)."""

    shortness: int  # minus the number of octets of the rule, where a row of stars is one
    refuses: bool
    number: int
    parts: tuple[str, ...]  # texts that have to stand before the first star, and behind each
    line: Line


class RobotsRules:
    """The rules of one origin (scheme, host and port) for one crawler.

    `sitemaps` are the absolute URLs of its Sitemap lines, as written.
    """

    __slots__ = ("_group", "_plain", "_starred", "crawl_delay", "has_rules", "sitemaps", "unavailable")

    def __init__(self, text: RobotsText, *, unavailable: bool = False) -> None:
        self.unavailable = unavailable  # the site could not say what is allowed: nothing is (RFC 9309, 2.3.1.4)
        self.crawl_delay = text.crawl_delay  # seconds of pause that the site asks for
        self.sitemaps = text.sitemaps
        self._group = text.group
        rules = _by_parts(text.rules)
        self._plain = _Plain({parts[0]: rule for parts, rule in rules.items() if len(parts) == 1})
        self._starred = sorted(rule for parts, rule in rules.items() if len(parts) > 1)
        self.has_rules = bool(rules)

    @classmethod
    def parse(cls, status: int, body: bytes, product_token: str) -> RobotsRules:
        """Read an answer to the request for robots.txt; malformed text never raises.

        `status` is 0 where no whole answer came; `body` has its content encoding undone. 2xx: its rules hold, at
        most 500 KiB of them. 3xx (redirects nobody followed to an end) and 4xx: all is allowed. 5xx and no answer:
        nothing is.
        """
        if not 200 <= status < 300:
            return _without_text(300 <= status < 500)
        return _of_short(body, product_token) if len(body) <= _SHORT else cls(read_robots(body, product_token))

    def allows(self, url: str) -> bool:
        """Tell whether `url`, of this origin, may be fetched."""
        if self.unavailable:
            return False
        rule = self._deciding(url)
        return rule is None or not rule.refuses

    def rule(self, url: str) -> str:
        """Return the line that decides for `url`, as evidence, such as "Disallow: /x/ (line 12, group *)", or ""."""
        rule = self._deciding(url)
        if rule is None:
            return ""
        value = rule.line.value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return f"{'Disallow' if rule.refuses else 'Allow'}: {shown} (line {rule.number}, group {self._group})"

    def _deciding(self, url: str) -> _Rule | None:
        """Return the rule that decides; none refuses robots.txt itself (2.2.2)."""
        if not self.has_rules:
            return None
        slash = url.find("/", 8)
        path = url[slash:] if slash > 0 else "/"
        rule = self._plain.longest(_comparable(path) + _END)
        if self._starred:
            rule = self._longest_starred(_compared(path, _WITH_STARS) + _END, rule)
        if rule is not None and rule.refuses and path.partition("?")[0] == "/robots.txt":
            return None
        return rule

    def _longest_starred(self, path: str, other: _Rule | None) -> _Rule | None:
        """Return the rule with stars that goes before all others with stars and before `other`, or else `other`."""
        rules = self._starred
        if other is not None:
            rules = rules[: bisect_left(rules, other)]
        for rule in rules:
            if _matches(rule.parts, path):
                return rule
        return other


@lru_cache(maxsize=2)
def _without_text(available: bool) -> RobotsRules:
    """Return what holds where there is no robots.txt: one object for all origins."""
    return RobotsRules(RobotsText(), unavailable=not available)


@lru_cache(maxsize=128)
def _of_short(body: bytes, product_token: str) -> RobotsRules:
    """Return what a short text says: many sites have the same one, and share what is made of it."""
    return RobotsRules(read_robots(body, product_token))


class _Plain:
    """Rules without stars, by what a path begins with."""

    __slots__ = ("_beginnings", "_rules", "_shorter")

    def __init__(self, rules: dict[str, _Rule]) -> None:
        self._beginnings = sorted(rules)
        self._rules = [rules[beginning] for beginning in self._beginnings]
        self._shorter: list[int] = []  # rule -> index of the longest other one with which it begins, or -1
        nested = [-1]
        for index, beginning in enumerate(self._beginnings):
            while nested[-1] >= 0 and not beginning.startswith(self._beginnings[nested[-1]]):
                nested.pop()
            self._shorter.append(nested[-1])
            nested.append(index)

    def longest(self, path: str) -> _Rule | None:
        """Return the rule of the longest beginning of a path."""
        # All rules between a beginning of the path and the path itself begin like it: the last one leads to it.
        index = bisect_right(self._beginnings, path) - 1
        while index >= 0 and not path.startswith(self._beginnings[index]):
            index = self._shorter[index]
        return self._rules[index] if index >= 0 else None


def _by_parts(lines: Iterable[Line]) -> dict[tuple[str, ...], _Rule]:
    """Return rules by what is compared; of equal ones the first that allows, else the first."""
    rules: dict[tuple[str, ...], _Rule] = {}
    for line in lines:
        parts = _parts(line.value)
        shortness = 1 - len(parts) - sum(map(len, parts))
        rule = _Rule(shortness, not line.allows, line.number, parts, line)
        rules[parts] = min(rule, rules.get(parts, rule))
    return rules


def _parts(value: str) -> tuple[str, ...]:
    """Return what has to stand before the first star of a rule, and behind each."""
    text = value.removesuffix("$")
    end = _END if text != value else ""
    if "*" not in text:
        return (_comparable(text) + end,)
    parts = [_compared(part, _WITH_STARS) for part in _STARS.sub("*", text).split("*")]
    parts[-1] += end
    return tuple(parts)


def _matches(parts: tuple[str, ...], path: str) -> bool:
    """Tell whether a path begins with the first part, and has the others behind it in their order."""
    if not path.startswith(parts[0]):
        return False
    at = 0
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _comparable(text: str) -> str:
    """Spell a path, with its query, so that equal ones are spelled the same (RFC 9309, 2.2.2)."""
    if "%" not in text and text.isascii() and text.isprintable():
        return text  # as nearly all are
    path, mark, query = text.partition("?")
    return _compared(path, _IN_PATH) + mark + _compared(query, _IN_QUERY)


def _compared(text: str, table: dict[str, str]) -> str:
    if not text.isascii() or not text.isprintable():
        text = _NOT_ASCII.sub(_escaped, text)
    return _ESCAPE.sub(lambda match: table[match[0].upper()], text) if "%" in text else text


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match[0].encode("utf-8", "surrogateescape"))
