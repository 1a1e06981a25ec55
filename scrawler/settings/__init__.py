"""All settings of SCrawler: one frozen object, checked once, each with its help text.

Values come from the defaults, scrawler.toml, SCRAWLER_* variables and flags, in rising precedence. `crawl`, `parts`
and features declare them, of the types in `kinds`; `loading` reads them; `words` says in words what they may hold.

Names are loaded when they are used: features declare settings with the types in `kinds`, and `parts` loads features.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrawler.settings.names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Return what has this name, from now on without asking."""
    found = globals()[name] = getattr(import_module("scrawler.settings.names"), name)
    return found
