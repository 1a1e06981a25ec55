"""Settings of single hosts: which of the tables [sites."HOST"] hold for a URL, and what they make of the settings.

A table's name is a host, `example.org`, perhaps with a port, or `*.example.org` for all hosts below a domain, but not
that domain itself. Where several tables say something of one setting, the most specific one counts: a host before a
domain, a longer domain before a shorter one, one with a port before one without. What no table says holds as for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ada_url
from publicsuffixlist import PublicSuffixList

_ANY_DOMAIN = "*."
_CLEAR = "http://"

Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class HostPattern:
    """The name of a table, read: the hosts for which it stands."""

    host: str  # as in a URL: lower case, punycode, an IPv6 address without brackets, no dot at its end
    below: bool = False  # whether it stands for the hosts below this one
    port: int = 0  # 0: any
    in_clear: bool = False  # whether it stands for http:// alone

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        name = (_ANY_DOMAIN if self.below else "") + host + (f":{self.port}" if self.port else "")
        return _CLEAR + name if self.in_clear else name

    @property
    def rank(self) -> tuple[bool, int, int, bool]:
        """How specific it is: of two that stand for one host, the greater one counts."""
        return not self.below, self.host.count("."), self.port, self.in_clear


class SiteTableError(ValueError):
    """What is wrong with a table, in words; `key` where it is a value that is not allowed."""

    def __init__(self, name: str, text: str, key: str = "", value: object = None) -> None:
        super().__init__(f'[sites."{name}"]: {text}')
        self.where = f'[sites."{name}"]'
        self.key = key
        self.value = value


def read_pattern(text: str) -> HostPattern:
    """Read the name of a table. Raises ValueError, which says in words what is wrong."""
    in_clear = text.startswith(_CLEAR)
    text = text.removeprefix(_CLEAR)
    if "/" in text or "@" in text:
        raise ValueError("only a host is wanted, such as example.org, *.example.org or example.org:8080")
    below = text.startswith(_ANY_DOMAIN)
    name = text.removeprefix(_ANY_DOMAIN)
    if not name or "*" in name:
        raise ValueError("a * stands for all hosts below a domain only, as in *.example.org")
    host, port = _split(name)
    if not host:
        raise ValueError("not a host, such as example.org, *.example.org or example.org:8080")
    if below and (":" in host or host.rpartition(".")[2].isdigit()):
        raise ValueError("no host is below an IP address")
    return HostPattern(host, below, port, in_clear)


def _split(name: str) -> tuple[str, int]:
    """Return host and port as a URL has them, the port 0 where none is named; no host where there is none."""
    try:
        parsed = ada_url.URL(f"ws://{name}/")  # its own port is that of http
        plain = ada_url.URL(f"wss://{name}/")
    except ValueError:
        return "", 0
    if parsed.username or parsed.pathname != "/" or parsed.search:
        return "", 0
    host = parsed.hostname.strip("[]")
    host = host.removesuffix(".") or host
    return host, int(parsed.port or plain.port or 0)


def named_tables(tables: Tables) -> dict[str, dict[str, Any]]:
    """Return the tables under their names as they are understood. Raises SiteTableError."""
    found: dict[str, dict[str, Any]] = {}
    for text, values in tables.items():
        try:
            name = str(read_pattern(text))
        except ValueError as error:
            raise SiteTableError(text, str(error)) from error
        if name in found:
            raise SiteTableError(text, f"{name} is given twice")
        found[name] = dict(values)
    return found


class SiteTables:
    """Finds the tables that hold for a host; it takes a look-up for each domain above that host."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_host: dict[tuple[str, bool], list[HostPattern]] = {}
        for name in names:
            pattern = read_pattern(name)
            self._by_host.setdefault((pattern.host, pattern.below), []).append(pattern)

    def __bool__(self) -> bool:
        return bool(self._by_host)

    def matching(self, host: str, ports: Iterable[int], in_clear: bool) -> tuple[str, ...]:
        """Return the names of all that hold for a host at one of the ports, the most specific one last."""
        host = host.removesuffix(".") or host
        found = list(self._by_host.get((host, False), ()))
        above = host.partition(".")[2]
        while above:
            found += self._by_host.get((above, True), ())
            above = above.partition(".")[2]
        held = [pattern for pattern in found if not pattern.port or pattern.port in ports]
        held = [pattern for pattern in held if in_clear or not pattern.in_clear]
        return tuple(map(str, sorted(held, key=lambda pattern: pattern.rank)))


_MOST_READ = 64  # settings whose tables are kept
_read_tables: dict[int, tuple[Tables, SiteTables]] = {}  # by identity, which is asked for with each origin


def _tables_of(tables: Tables) -> SiteTables:
    """Return the tables of settings, which nobody changes in place, as they were read once."""
    known = _read_tables.get(id(tables))
    if known is None or known[0] is not tables:
        if len(_read_tables) >= _MOST_READ:
            _read_tables.clear()
        known = _read_tables[id(tables)] = tables, SiteTables(tables)
    return known[1]


def tables_for(tables: Tables, host: str, ports: Iterable[int], in_clear: bool = False) -> tuple[str, ...]:
    """Return the names of the tables that hold for a host at one of the ports, the most specific one last.

    Those for http:// alone are among them if a request is sent `in_clear`.
    """
    return _tables_of(tables).matching(host, ports, in_clear) if tables else ()


def is_of_many(name: str) -> bool:
    """Tell whether a table stands for the hosts below a public suffix, which belong to many people."""
    pattern = read_pattern(name)
    return pattern.below and _suffixes().privatesuffix(pattern.host) is None


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # this reads a file of 10,000 rules, and waits until somebody needs it
