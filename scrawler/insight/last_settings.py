"""The settings that a crawl had when it was last run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from scrawler.settings import Settings, with_live
from scrawler.store.traces import Traces


def crawl_settings(traces: Traces, ordered: Mapping[str, Any], settings: Settings) -> Settings:
    """Return the settings of the last run, whose flags nobody may know any more, with what was ordered since."""
    stored = traces.last_settings()
    if stored is not None:
        own: dict[str, Any] = {"db": settings.db}
        if settings.dedup_from is not None:  # it was moved since, or held a password, which is not stored
            own["dedup_from"] = settings.dedup_from
        with suppress(ValidationError):  # where another version stored what does not fit, those of today hold
            settings = Settings.model_validate(stored | own)
    return with_live(settings, ordered)
