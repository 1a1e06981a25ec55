"""What a robots.txt allows (RFC 9309): the rules for one crawler, and which of them decides for a URL."""

from __future__ import annotations

import re
from typing import NamedTuple

from scrawler.fetch.robots_text import Line, RobotsText, read_robots
from scrawler.fetch.wire import split_url

_SHOWN = 300  # characters of a rule that evidence quotes
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


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt that holds for a normalised http or https URL."""
    target = split_url(url)
    if target is None:
        raise ValueError(f"no robots.txt for {url!r}")
    return f"{target.scheme}://{target.authority}/robots.txt"


class _Rule(NamedTuple):
    """A rule whose pattern has stars: the texts between them; `rank` is its length, odd if it allows."""

    rank: int
    line: Line
    parts: tuple[str, ...]
    anchored: bool

    def matches(self, path: str) -> bool:
        first, *middle = self.parts[:-1]
        if not path.startswith(first):
            return False
        at = len(first)
        for part in middle:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        last = self.parts[-1]
        if self.anchored:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


class RobotsRules:
    """The rules of one origin (scheme, host and port) for one crawler.

    `sitemaps` are the absolute URLs of its Sitemap lines, as written.
    """

    __slots__ = ("_group", "_lengths", "_prefixes", "_starred", "_whole", "crawl_delay", "sitemaps", "unavailable")

    def __init__(self, text: RobotsText, *, unavailable: bool = False) -> None:
        self.unavailable = unavailable  # nothing is allowed, because the site could not say (RFC 9309, 2.3.1.4)
        self.crawl_delay = text.crawl_delay  # seconds
        self.sitemaps = text.sitemaps
        self._group = text.group
        self._prefixes: dict[str, Line] = {}
        self._whole: dict[str, Line] = {}  # patterns that end in "$"
        starred: dict[str, _Rule] = {}
        for line in text.rules:
            self._add(line, starred)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        self._starred = sorted(starred.values(), key=lambda rule: rule.rank, reverse=True)

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

    def _add(self, line: Line, starred: dict[str, _Rule]) -> None:
        pattern = _STARS.sub("*", line.value)
        anchored = pattern.endswith("$")
        if "*" not in pattern:
            _keep(self._whole if anchored else self._prefixes, _comparable(pattern.removesuffix("$")), line)
            return
        known = starred.get(pattern)
        if known is None or (line.allows and not known.line.allows):
            parts = tuple(_compared(part, _WITH_STARS) for part in pattern.removesuffix("$").split("*"))
            length = sum(map(len, parts)) + len(parts) - 1 + anchored
            starred[pattern] = _Rule(2 * length + line.allows, line, parts, anchored)

    def allows(self, url: str) -> bool:
        """Tell whether `url`, of this origin, may be fetched."""
        if self.unavailable:
            return False
        line = self._deciding(url)
        return line is None or line.allows

    def rule(self, url: str) -> str:
        """Return the line that decides for `url`, as evidence, such as "Disallow: /x/ (line 12, group *)", or ""."""
        line = self._deciding(url)
        if line is None:
            return ""
        value = line.value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return f"{'Allow' if line.allows else 'Disallow'}: {shown} (line {line.number}, group {self._group})"

    def _deciding(self, url: str) -> Line | None:
        """Return the rule with the longest pattern that matches; of equal ones, the one that allows (2.2.2)."""
        path = url[at:] if (at := url.find("/", 8)) > 0 else "/"
        plain = _comparable(path) if "%" in path else path
        best, rank = None, -1
        for length in self._lengths:
            if (line := self._prefixes.get(plain[:length])) is not None:
                best, rank = line, 2 * min(length, len(plain)) + line.allows
                break
        if self._whole and (line := self._whole.get(plain)) is not None and 2 * len(plain) + 2 + line.allows > rank:
            best, rank = line, 2 * len(plain) + 2 + line.allows
        if self._starred:
            best = self._starred_beyond(rank, path) or best
        if best is not None and not best.allows and path.partition("?")[0] == "/robots.txt":
            return None  # it is allowed in any case (2.2.2)
        return best

    def _starred_beyond(self, rank: int, path: str) -> Line | None:
        """Return the first among the rules with stars that matches and ranks higher than others do."""
        path = _compared(path, _WITH_STARS)
        for rule in self._starred:
            if rule.rank <= rank:
                break
            if rule.matches(path):
                return rule.line
        return None


def _keep(rules: dict[str, Line], pattern: str, line: Line) -> None:
    """Of rules with one pattern, keep the first one that allows, else the first."""
    known = rules.get(pattern)
    if known is None or (line.allows and not known.allows):
        rules[pattern] = line


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
