"""Test pages and URLs that others wrote, in a folder beside the tests that git does not know.

`make test` gets those that come with html5lib's source package. The others nobody packages; how to get them stands in
the line that says what was skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[1] / ".vectors"
_HTML5LIB = _FOLDER / "html5lib-tests"
_URLS = _FOLDER / "wpt/urltestdata.json"


def html5lib_tests(kind: str) -> list[Path]:
    """Return the files of html5lib-tests of a kind: "encoding" or "tree-construction"."""
    files = sorted((_HTML5LIB / kind).glob("*.dat"))
    if not files:
        pytest.skip(
            "no html5lib-tests: `make .vectors/html5lib-tests` gets them from the package index, or put a clone of "
            "https://github.com/html5lib/html5lib-tests there"
        )
    return files


def url_cases() -> Path:
    """Return the file with the test cases of the URL Standard."""
    if not _URLS.is_file():
        pytest.skip(
            "no test cases of the URL Standard: put url/resources/urltestdata.json of "
            "https://github.com/web-platform-tests/wpt into .vectors/wpt"
        )
    return _URLS
