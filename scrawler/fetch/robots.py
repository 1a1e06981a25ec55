"""What a robots.txt allows (RFC 9309), read by protego."""

from __future__ import annotations

import codecs
import re

from protego import Protego

from scrawler.fetch.wire import split_url

MAX_ROBOTS = 500 * 1024  # bytes read of a robots.txt (RFC 9309, 2.5)

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AGENT_LINE = re.compile(r"\s*(?:user-agent|useragent|user\s+agent)(?:\s*:|\s)\s*(\S.*)?", re.IGNORECASE)
_NOBODY = "User-agent: -"  # keeps a group a group; no product token matches it


def robots_url(url: str) -> str:
    """Return the URL of the robots.txt that holds for a normalised http or https URL."""
    target = split_url(url)
    if target is None:
        raise ValueError(f"no robots.txt for {url!r}")
    return f"{target.scheme}://{target.authority}/robots.txt"


class RobotsRules:
    """The rules of one origin (scheme, host and port) for one crawler."""

    __slots__ = ("_rules", "_token", "crawl_delay", "sitemaps", "unavailable")

    def __init__(self, rules: Protego | None, product_token: str, *, unavailable: bool = False) -> None:
        self.unavailable = unavailable  # nothing is allowed, because the site could not say (RFC 9309, 2.3.1.4)
        self.crawl_delay = rules.crawl_delay(product_token) if rules else None  # seconds
        self.sitemaps = tuple(rules.sitemaps) if rules else ()  # as written
        self._rules = rules
        self._token = product_token

    @classmethod
    def parse(cls, status: int, body: bytes, product_token: str) -> RobotsRules:
        """Read an answer to the request for robots.txt; malformed text never raises.

        `status` is 0 where no whole answer came; `body` has its content encoding undone. 2xx: its rules hold, at
        most 500 KiB of them. 3xx (redirects nobody followed to an end) and 4xx: all is allowed. 5xx and no answer:
        nothing is.
        """
        if 200 <= status < 300:
            return cls(Protego.parse(_own_groups(_text(body), product_token)), product_token)
        return cls(None, product_token, unavailable=not 300 <= status < 500)

    def allows(self, url: str) -> bool:
        """Tell whether `url`, of this origin, may be fetched."""
        if self._rules is None:
            return not self.unavailable
        return self._rules.can_fetch(url, self._token)


def _text(body: bytes) -> str:
    if len(body) > MAX_ROBOTS:
        body = body[:MAX_ROBOTS]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]  # half a line could forbid too much
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    return body.decode("utf-8", "replace")


def _own_groups(text: str, product_token: str) -> str:
    """Replace the names of all other crawlers by one, which changes nothing for this one.

    protego keeps a copy of every rule for every name of its group: a robots.txt of 400 KB with 15,000 names and
    15,000 rules would take minutes.
    """
    token = product_token.lower()
    lines: list[str] = []
    seen: set[str] = set()  # names of the group that is being read
    for line in text.splitlines():
        match = _AGENT_LINE.match(line.partition("#")[0])
        if not match:
            lines.append(line)
            if line.strip():
                seen.clear()
            continue
        kept = _agent_line((match[1] or "").strip().lower(), token)
        if kept not in seen:
            seen.add(kept)
            lines.append(kept)
    return "\n".join(lines)


def _agent_line(name: str, token: str) -> str:
    """Return the one spelling for all names that mean the same to this crawler."""
    if name in ("", "*"):
        return f"User-agent: {name}"
    name = name.replace("*", "")  # as protego is generous: "bot*" is "bot"
    return f"User-agent: {name}" if name and name in token else _NOBODY
