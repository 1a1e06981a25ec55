"""What is told of proxies that have cost seeds."""

from __future__ import annotations

from collections.abc import Mapping

from scrawler.cli.tables import printable
from scrawler.model.seeds import EndReason
from scrawler.units import counted


def proxies_text(seeds: int, detail: str) -> dict[str, str]:
    """Say, under a label, what proxies have cost; nothing where they cost no seed."""
    if not seeds:
        return {}
    return {"dead at a proxy": f"{counted(seeds, 'seed')}, as: {printable(detail)}; then `--retry {EndReason.DEAD}`"}


def deaths_text(deaths: Mapping[str, int]) -> dict[str, str]:
    """Say, under a label, of what seeds have died; nothing where none has."""
    if not deaths:
        return {}
    return {"died of": ", ".join(f"{death} {seeds:,}" for death, seeds in deaths.items())}
