"""The parts in C: each is there where a compiler was, and is used where it fits the code that calls it.

What was built before an update of the source may take or return something else than its callers expect since then. So
each part has a number, `INTERFACE` in C, that is counted up there and here with every change of what goes in or comes
out. A part with another number counts as not compiled.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

INTERFACES = {
    "scrawler.extract._linkscan": 1,
    "scrawler.extract._simhash": 1,
    "scrawler.urls._lookup": 2,
}


def compiled_part(name: str) -> ModuleType | None:
    """Return a part if it is compiled, and fits."""
    part = _imported(name)
    return part if part is not None and _fits(name, part) else None


def outdated_parts() -> list[str]:
    """Return the names of the parts that are compiled, but do not fit."""
    found = ((name, _imported(name)) for name in INTERFACES)
    return [name for name, part in found if part is not None and not _fits(name, part)]


def _imported(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _fits(name: str, part: ModuleType) -> bool:
    return getattr(part, "INTERFACE", 0) == INTERFACES[name]  # the first parts that were compiled had no number
