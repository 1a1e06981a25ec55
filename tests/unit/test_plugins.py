from __future__ import annotations

import subprocess
import sys

import pytest

from scrawler.assembly import DOWNLOADERS, EXTRACTORS, SEEN_FILTERS
from scrawler.plugins import load_part
from scrawler.settings import setting_choices


@pytest.mark.parametrize(
    ("setting", "places"), [("downloader", DOWNLOADERS), ("extractor", EXTRACTORS), ("seen", SEEN_FILTERS)]
)
def test_every_part_that_can_be_chosen_is_there(setting: str, places: dict[str, str]) -> None:
    assert set(setting_choices(setting)) == set(places)
    assert all(callable(load_part(place)) for place in places.values())


@pytest.mark.parametrize(
    ("module", "unused"),
    [
        ("scrawler.cli.main", ("sqlalchemy", "pydantic", "requests", "tqdm")),
        ("scrawler.cli.run", ("requests", "html5lib", "tqdm")),
    ],
)
def test_nothing_is_imported_that_is_not_used(module: str, unused: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()).isdisjoint(unused)
