"""A crawl's topic, as its settings say."""

from __future__ import annotations

from pathlib import Path

from scrawler.assembly.building import Building
from scrawler.errors import SettingsError
from scrawler.features.topic.focus import Focus
from scrawler.features.topic.settings import TopicSettings
from scrawler.features.topic.terms import TopicError, read_topic
from scrawler.regular import open_regular
from scrawler.settings import Settings

_LARGEST = 1 << 20  # bytes of a file of terms


def build(building: Building) -> None:
    """Let a machine score what it reads. Raises SettingsError."""
    focus = make_focus(building.settings)
    if focus is None:
        return
    building.steps.append(focus)
    if focus.orders:
        building.order = focus


def make_focus(crawl: Settings) -> Focus | None:
    """Return what is done with the topic; None if there is none. Raises SettingsError with one line."""
    settings = TopicSettings.of(crawl)
    orders, drops = settings.order == "focused", settings.store == "relevant"
    if settings.topic is None:
        if orders or drops:
            what = "order = focused" if orders else "store = relevant"
            raise SettingsError(f"{what} needs a topic: --topic FILE, with a weighted term a line")
        return None
    file = Path(settings.topic).expanduser()
    try:
        with open_regular(file) as opened:
            data = opened.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise SettingsError(f"topic {file}: larger than {_LARGEST:,} bytes")
        topic = read_topic(data.decode("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"topic {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"topic {file}: not in UTF-8") from error
    except TopicError as error:
        raise SettingsError(f"topic {file}: {error}") from error
    return Focus(topic, orders, drops, settings.relevance)
