"""Declares visits to pages after the first."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="revisit",
    about="Visits pages again, when that is ordered or when they are due, and tells what has changed.",
    version=1,
    needed_by_rows=True,
    settings="scrawler.features.revisit.settings:RevisitSettings",
    groups={
        "crawl": ("resourcesync",),
        "revisits": (
            *("resourcesync_interval", "keep", "keep_visits"),
            *("revisit", "revisit_interval", "revisit_min", "revisit_max", "revisit_pause"),
            *("revisit_budget", "revisit_site_budget", "revisit_weight", "rank", "revisit_change", "revisit_near"),
        ),
    },
    commands={
        "changes": Command("scrawler.features.revisit.cli:changes", lists=True),
        "diff": Command("scrawler.features.revisit.cli:diff_command", lists=True),
    },
    library={
        name: f"scrawler.features.revisit.library:{name}"
        for name in ("changes", "feed", "rounds", "diff", "diff_bytes")
    },
    tables="scrawler.features.revisit.store.tables",
    hooks={
        "again": "scrawler.features.revisit.orders:begin_again",
        "build": "scrawler.features.revisit.building:build",
        "columns": "scrawler.features.revisit.policies.due:wrong_column",
        "prepare": "scrawler.features.revisit.checks:check_keep",
        "validate": "scrawler.features.revisit.checks:check_budget",
        "report": "scrawler.features.revisit.telling:sections",
        "why": "scrawler.features.revisit.telling:facts",
    },
)
