"""Puts the results of experiments into their README, between marks."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

_PLACE = re.compile(r"<!-- results: (?P<name>[a-z_]+) -->\n(?:(?!<!-- results: ).)*?<!-- end -->", re.DOTALL)
_TITLE = re.compile(r"\A# .*\n+")
_PICTURE = re.compile(r"(!\[[^]]*\]\()")


def with_results(readme: str, results: Path) -> str:
    """Return the README with each place `<!-- results: NAME --> ... <!-- end -->` filled from NAME.md of a folder.

    A place whose results are not there stays as it is.
    """

    def filled(place: re.Match[str]) -> str:
        file = results / f"{place['name']}.md"
        if not file.exists():
            return place[0]
        text = _PICTURE.sub(rf"\g<1>{results.name}/", _TITLE.sub("", file.read_text()))
        return f"<!-- results: {place['name']} -->\n\n{text}\n<!-- end -->"

    return _PLACE.sub(filled, readme)
