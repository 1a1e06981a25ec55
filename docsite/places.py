"""Where generated text stands in a page: between marks, which are comments of HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from docsite.commands import commands
from docsite.database import tables
from docsite.settings import by_host, live, parts, settings, without_flag

DOCS = Path(__file__).parents[1] / "docs"
GENERATED: Mapping[str, Callable[[], str]] = {
    "settings": settings,
    "live settings": live,
    "without flag": without_flag,
    "by host": by_host,
    "parts": parts,
    "commands": commands,
    "tables": tables,
}

_PLACE = re.compile(r"(<!-- (?P<name>[a-z ]+)(?:: [^>]*)? -->)(?P<text>.*?)(<!-- /(?P=name) -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return the text of a page with each place filled anew; a place whose name is not generated stays as it is."""

    def fill(place: re.Match[str]) -> str:
        make = GENERATED.get(place["name"])
        if make is None:
            return place[0]
        # A list in the midst of a sentence stands without lines of its own.
        made = f"\n{make()}\n" if place["text"].startswith("\n") else make()
        return f"{place[1]}{made}{place[4]}"

    return _PLACE.sub(fill, page)


def places(page: str) -> dict[str, str]:
    """Return the texts between the marks of a page, by name."""
    return {place["name"]: place["text"] for place in _PLACE.finditer(page)}


def pages() -> list[Path]:
    """Return all pages of the documentation."""
    return sorted(DOCS.rglob("*.md"))
