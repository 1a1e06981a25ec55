"""The databases of all agents, which together are one crawl's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from scrawler.errors import SettingsError
from scrawler.features.cluster.agents.members import read_members
from scrawler.features.cluster.store.agents import agent_of
from scrawler.store.engines.engine import Database


def open_agents(
    file: Path, own: Database, others: Sequence[Database], opened: Callable[[str, str], Database]
) -> list[Database]:
    """Open the databases of all agents in a file but those that are open already. Raises SettingsError."""
    members = read_members(file)
    name = agent_of(own)
    if name not in {one.name for one in members}:
        whose = f"agent {name}'s, which is not in {file}" if name else "no agent's"
        raise SettingsError(f"the database of --db is {whose}: to export all agents, name that of one of them")
    known = {name, *map(agent_of, others)}
    found: list[Database] = []
    for one in members:
        if one.name in known:
            continue
        if one.database is None:
            raise SettingsError(
                f"{file} names no database of {one.name}: write it at the end of its line, or --merge it"
            )
        found.append(opened(one.database, f"{file}, {one.name}"))
        if (whose := agent_of(found[-1])) not in ("", one.name):
            raise SettingsError(f"{file}: the database that it names for {one.name} is that of {whose}")
    return found
