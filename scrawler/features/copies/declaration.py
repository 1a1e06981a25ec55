"""Declares copies of an archive."""

from typing import Any

from scrawler.feature import Command, Feature


def _is_on(settings: Any) -> bool:
    return settings.archive_to is not None


FEATURE = Feature(
    name="copies",
    about="Copies WARC files elsewhere once they are finished.",
    is_on=_is_on,
    commands={"archive-copy": Command("scrawler.features.copies.cli:archive_copy")},
    library={"copies": "scrawler.features.copies.library:copies"},
    hooks={
        "beside": "scrawler.features.copies.copying:Copying",
        "status": "scrawler.features.copies.library:standing",
    },
)
