"""Declares the choice of seeds."""

from scrawler.feature import Command, Feature

_METHODS = (
    *("choose", "take_next", "skip", "unskip", "remove", "promote", "promotions", "undo_promotion", "seed_ids"),
)

FEATURE = Feature(
    name="choose",
    about="Chooses, skips, removes and promotes seeds.",
    commands={
        f"seeds {name}": Command(f"scrawler.features.choose.cli:{name}_command", lists=True)
        for name in ("choose", "skip", "unskip", "remove", "promote")
    },
    needs=("revisit",),
    library={name: f"scrawler.features.choose.library:{name}" for name in _METHODS},
    tables="scrawler.features.choose.tables",
)
