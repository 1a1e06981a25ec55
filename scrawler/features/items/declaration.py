"""Declares items of pages."""

from typing import Any

from scrawler.feature import Feature, Option


def _is_on(settings: Any) -> bool:
    return bool(settings.page_processors)


FEATURE = Feature(
    name="items",
    about="Calls code of users for each page, and writes the items that it makes.",
    is_on=_is_on,
    settings="scrawler.features.items.settings:ItemSettings",
    groups={"parts": ("page_processors",)},
    options={
        "items": Option(
            "Append what --page-processors make of pages to this file, .jsonl, .csv or .parquet, or to a table of the"
            " database: table:NAME.",
            metavar="FILE|table:NAME",
            is_file=True,
        ),
        "anew": Option("Let --page-processors begin anew at the first page, with an emptied file."),
    },
    names={
        "PageProcessor": "scrawler.features.items.processing:PageProcessor",
        "Processed": "scrawler.features.items.processors:Processed",
    },
    library={
        "process": "scrawler.features.items.library:process",
        "processed": "scrawler.features.items.library:processed",
    },
    tables="scrawler.features.items.tables",
    hooks={
        "each_page": "scrawler.features.items.library:processing",
        "output": "scrawler.features.items.run:output_of",
        "told": "scrawler.features.items.run:told_of",
    },
)
