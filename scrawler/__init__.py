"""SCrawler: a seed-by-seed web crawler with a database behind it.

From Python::

    import scrawler
    for page in scrawler.crawl(["https://example.org/"], max_pages=100):
        print(page.url, page.status, page.title, len(page.body))

`crawl` crawls while its caller reads; `Crawl` opens a crawl and does all that the command line does. To import this
package has no effect; what it names is loaded when it is first used.

A URL's way through the tree: seeds.importer -> store -> core.distribution -> core.collecting -> fetch -> archive ->
extract -> urls.analyzer -> core.party (internal) or store (external, as a candidate seed) -> seeds.exporter.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrawler.compiled import require_compiled_texts

if TYPE_CHECKING:
    from scrawler.api.crawl import Crawl as Crawl
    from scrawler.api.page import Page as Page
    from scrawler.api.rows import Seed as Seed
    from scrawler.api.stream import crawl as crawl
    from scrawler.core.progress import RunSummary as RunSummary
    from scrawler.errors import ArchiveError as ArchiveError
    from scrawler.errors import InputError as InputError
    from scrawler.errors import NotCrawledError as NotCrawledError
    from scrawler.errors import PluginError as PluginError
    from scrawler.errors import RecordsLostError as RecordsLostError
    from scrawler.errors import ScrawlerError as ScrawlerError
    from scrawler.errors import SettingsError as SettingsError
    from scrawler.errors import StoreAwayError as StoreAwayError
    from scrawler.errors import StoreBusyError as StoreBusyError
    from scrawler.errors import StoreError as StoreError
    from scrawler.model import events as events
    from scrawler.model.events import Event as Event
    from scrawler.settings import Settings as Settings
    from scrawler.settings import load_settings as load_settings

__version__ = "0.2.0"

require_compiled_texts()

_ERRORS = (
    *("ArchiveError", "InputError", "NotCrawledError", "PluginError", "RecordsLostError", "ScrawlerError"),
    *("SettingsError", "StoreAwayError", "StoreBusyError", "StoreError"),
)
_HOMES = {
    "Crawl": "scrawler.api.crawl",
    "Event": "scrawler.model.events",
    "Page": "scrawler.api.page",
    "RunSummary": "scrawler.core.progress",
    "Seed": "scrawler.api.rows",
    "Settings": "scrawler.settings",
    "crawl": "scrawler.api.stream",
    "load_settings": "scrawler.settings",
    **dict.fromkeys(_ERRORS, "scrawler.errors"),
}
__all__ = ["__version__", "events", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load what is asked for, once."""
    if name == "events":
        return import_module("scrawler.model.events")
    value = getattr(import_module(_HOMES[name]), name) if name in _HOMES else _of_features(name)
    globals()[name] = value
    return value


def _of_features(name: str) -> Any:
    """Return what a feature brings by this name, as a class that users name in their code. Raises AttributeError."""
    if not name.startswith("_"):
        reference = import_module("scrawler.feature").feature_names().get(name)
        if reference is not None:
            return import_module("scrawler.references").load_object(reference)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
