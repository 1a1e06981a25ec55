"""The settings that a crawl had when it was last run, as far as its database may say them (`settings/stored.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from scrawler.settings import Settings, from_database, with_live
from scrawler.store.reading.traces import Traces


def crawl_settings(traces: Traces, ordered: Mapping[str, Any], settings: Settings) -> Settings:
    """Return the settings of the last run, whose flags nobody may know any more, with what was ordered since."""
    stored = traces.last_settings()
    if stored is not None:
        with suppress(ValidationError):  # where another version stored what does not fit, those of today hold
            settings = from_database(stored, settings)
    return with_live(settings, ordered)
