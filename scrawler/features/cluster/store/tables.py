"""The table of the slots of a partition, and who has them."""

from __future__ import annotations

from sqlalchemy import Table

from scrawler.store.schema.columns import CLUSTERED, LONG_TEXT, metadata, number, text_column, word

slot_table = Table(
    "slot_table",
    metadata,
    word("kind", 16, "of partition: dynamic, modulo, subsite", key=True),
    number("version", "counts its changes; one that was made from an earlier version is refused"),
    text_column("machines", "JSON: id -> weight of those among whom the slots are divided", kind=LONG_TEXT),
    text_column(
        "slots", "JSON: the machine.id of each slot, 0: nobody's; a site's slot follows from its key", kind=LONG_TEXT
    ),
    **CLUSTERED,
)
