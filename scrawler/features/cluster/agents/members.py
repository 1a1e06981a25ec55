"""Who the agents of a crawl are, and where they listen: a file that all of them are given."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrawler.errors import SettingsError
from scrawler.regular import open_regular

MOST = 1_000  # agents of a crawl
_LARGEST = 1 << 20  # bytes of the file
_HEAVIEST = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ADDRESS = re.compile(r"tcp://(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_SHAPE = "NAME tcp://HOST:PORT [CAPACITY] [DATABASE]"
_OF_TABLE = frozenset({"address", "capacity", "database"})


@dataclass(frozen=True, slots=True)
class Member:
    """An agent: its name places it on the ring, and the others reach it at its address."""

    name: str
    address: str  # tcp://host:port
    capacity: int = 1  # how much of the crawl it takes, compared with the others
    database: str | None = None  # the URL by which whoever exports reads its database


def read_members(path: Path) -> tuple[Member, ...]:
    """Read the file: `NAME tcp://HOST:PORT [CAPACITY] [DATABASE]` a line, or TOML where its name says so.

    In TOML an agent is a table: `[agents.NAME]` with `address` and, if it is not 1, `capacity`; where it is to be
    exported as well, `database`. Raises SettingsError.
    """
    try:
        with open_regular(path) as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise SettingsError(f"{path}: longer than {_LARGEST:,} bytes, which is no list of agents")
        text = data.decode("utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot read the list of agents: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not text in UTF-8") from error
    members = list(_of_toml(path, text) if path.suffix == ".toml" else _of_lines(path, text))
    _check(path, members)
    return tuple(sorted(members, key=lambda one: one.name))


def _of_lines(path: Path, text: str) -> Iterable[Member]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        database = words.pop() if len(words) > 2 and "://" in words[-1] else None
        if len(words) not in (2, 3):
            raise SettingsError(f"{path}, line {number}: an agent is {_SHAPE}")
        capacity = words[2] if len(words) == 3 else "1"
        yield _member(f"{path}, line {number}", words[0], words[1], capacity, database)


def _of_toml(path: Path, text: str) -> Iterable[Member]:
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number may have endless digits
        raise SettingsError(f"{path}: no TOML: {error}") from error
    agents = found.pop("agents", None)
    if found or not isinstance(agents, Mapping):
        raise SettingsError(f"{path}: wants one table [agents.NAME] for each agent, and nothing else")
    for name, table in agents.items():
        yield _of_table(f"{path}, [agents.{name}]", name, table)


def _of_table(where: str, name: str, table: Any) -> Member:
    if not isinstance(table, Mapping) or not {"address"} <= set(table) <= _OF_TABLE:
        raise SettingsError(f"{where}: wants address, and may have capacity and database")
    database = table.get("database")
    if database is not None and not isinstance(database, str):
        raise SettingsError(f"{where}: a database is a URL, as sqlite:///one.db")
    return _member(where, name, str(table["address"]), str(table.get("capacity", 1)), database)


def _member(where: str, name: str, address: str, capacity: str, database: str | None) -> Member:
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{where}: a name has 1 to 64 letters, digits, '.', '_' or '-': {name[:80]!r}")
    place = _ADDRESS.fullmatch(address)
    if place is None or not 0 < int(place[1]) <= 65_535:
        raise SettingsError(f"{where}: an address is tcp://HOST:PORT: {address[:80]!r}")
    if not (capacity.isascii() and capacity.isdigit() and 1 <= int(capacity[:9]) <= _HEAVIEST):
        raise SettingsError(f"{where}: a capacity is a whole number from 1 to {_HEAVIEST}: {capacity[:20]!r}")
    return Member(name, address, int(capacity), database)


def _check(path: Path, members: list[Member]) -> None:
    if not 0 < len(members) <= MOST:
        raise SettingsError(f"{path}: has {len(members):,} agents; a crawl has 1 to {MOST:,}")
    for what in ("name", "address"):
        seen: set[str] = set()
        for one in members:
            if (value := getattr(one, what)) in seen:
                raise SettingsError(f"{path}: two agents have the {what} {value}")
            seen.add(value)


class MembersFile:
    """The list as it is now: it is read again when the file has changed; one that cannot be read changes nothing."""

    def __init__(self, path: Path) -> None:
        """Read it. Raises SettingsError."""
        self.path = path
        self._mark = self._changed_at()
        self.members = {one.name: one for one in read_members(path)}

    def look(self) -> str | None:
        """Read it again if it has changed; return what is wrong with it, in words, None if nothing is."""
        mark = self._changed_at()
        if mark == self._mark:
            return None
        self._mark = mark
        try:
            self.members = {one.name: one for one in read_members(self.path)}
        except SettingsError as error:
            return f"{error}; the list that was read before still holds"
        return None

    def address_of(self, name: str) -> str | None:
        """Return where a member listens; None: there is none of this name."""
        found = self.members.get(name)
        return None if found is None else found.address

    def _changed_at(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self.path)
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_size, found.st_ino
