"""What a run of the command line does with items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scrawler.api.crawl import Crawl
from scrawler.features.items.library import processed
from scrawler.features.items.processing import check_place
from scrawler.features.items.settings import ItemSettings
from scrawler.settings import Settings
from scrawler.units import counted


def output_of(settings: Settings, output: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the options of a run with whose items `-o` is written; None where it makes none, or they go elsewhere.

    Raises SettingsError where no items can go there.
    """
    if not ItemSettings.of(settings).page_processors or "items" in given:
        return None
    check_place(output)
    return {**given, "items": Path(output)}


def told_of(crawl: Crawl) -> Iterator[str]:
    """Yield a line about what processors have made."""
    name = ",".join(ItemSettings.of(crawl.settings).page_processors)
    for done in processed(crawl):
        if done.name == name:
            counts = f"{counted(done.items, 'item')}, {counted(done.errors, 'error')}"
            yield f"page processors {name}: {counted(done.pages, 'page')}, {counts}"
