"""Declares what is made of the pages of a crawl."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="texts",
    about="Makes of pages a corpus of texts, a WACZ package, ranks of URLs, or Markdown.",
    commands={
        "corpus": Command("scrawler.features.texts.cli_corpus:corpus", lists=True),
        "rank": Command("scrawler.features.texts.cli_rank:rank", lists=True),
        "wacz": Command("scrawler.features.texts.cli_wacz:wacz"),
    },
    library={
        "pack": "scrawler.features.texts.library:pack",
        "rank": "scrawler.features.texts.library:rank",
    },
    needs=("revisit",),
    hooks={"markdown": "scrawler.features.texts.markdown:markdown_text"},
)
