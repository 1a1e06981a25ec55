"""Links to places that pages do not have, as `scrawler broken --fragments` finds them."""

from __future__ import annotations

from contextlib import closing

from scrawler.features.broken.links import BrokenLink, Unread, Wanted, broken_fragments, note_references
from scrawler.features.broken.references import PageReferences, References
from scrawler.insight.contents import PageReader
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database


def lost_places(database: Database, reader: PageReader, settings: Settings) -> list[BrokenLink]:
    """Return the links to places that pages do not have, of a crawl of scope host."""
    with closing(References()) as found, closing(Wanted()) as wanted:
        read = PageReferences(settings, Scope.HOST, found)
        note_references(database, reader, read, Unread(), None, wanted)
        return list(broken_fragments(database, reader, wanted))
