"""What makes containers fits the sources: files that are named are there, and so are extras and settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from scrawler.settings import SETTING_NAMES

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "contrib/compose"


def _services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yml").read_text())["services"]
    return services


def test_files_that_containers_are_given_are_there() -> None:
    given = [volume.split(":")[0] for service in _services().values() for volume in service.get("volumes", ())]
    files = {name for name in given if name.startswith(".")} - {"./seeds.txt"}  # that one is the user's
    assert len(files) == 5
    assert all((COMPOSE / name).is_file() for name in files)


def test_machines_have_names_and_folders_of_their_own_and_one_tells_of_all() -> None:
    machines = {name: service for name, service in _services().items() if name.startswith("machine")}
    assert len(machines) == 3
    assert {service["hostname"] for service in machines.values()} == set(machines)
    assert len({tuple(service["volumes"]) for service in machines.values()}) == 3
    (asked,) = [name for name, service in machines.items() if "--metrics" in service["command"]]
    prometheus = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())
    port = machines[asked]["command"][-1].rpartition(":")[2]
    assert prometheus["scrape_configs"][0]["static_configs"] == [{"targets": [f"{asked}:{port}"]}]
    names = {name.removeprefix("SCRAWLER_").lower() for one in machines.values() for name in one["environment"]}
    assert names <= set(SETTING_NAMES)


def test_the_image_is_made_of_what_the_build_needs() -> None:
    recipe = (ROOT / "Containerfile").read_text()
    (extras,) = re.findall(r"install '\.\[([\w,]+)\]'", recipe)
    setup = (ROOT / "setup.py").read_text()
    assert all(f'"{extra}": ' in setup for extra in extras.split(","))
    sent = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert {"scrawler", "sql", "input_urls", "setup.py", "pyproject.toml", "README.md", "LICENSE"} <= set(sent)
